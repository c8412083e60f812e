"""Telemetry sends operations and calls to a real endpoint, and nothing private."""

import asyncio
import logging
import sys
from datetime import UTC, date, datetime
from uuid import UUID

import pytest

from tests.otlp_collector import closed_port, run_collector
from zapomni_core.errors import ConfigurationError
from zapomni_core.settings import Settings, TelemetrySettings
from zapomni_core.telemetry import NO_TELEMETRY, telemetry_for, timed

LIMIT = 60
SECRET = "the vault's number is 4711"


@pytest.fixture
def patient(monkeypatch):
    """Give the final export enough time on a slow machine."""
    monkeypatch.setattr("zapomni_core.telemetry.otlp.CLOSING_SECONDS", LIMIT)


@pytest.fixture
def collector(monkeypatch, patient):
    with run_collector() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield collector


@pytest.fixture
async def opened():
    """Makes telemetry that is switched on; each is closed."""
    made = []

    def opened(**settings):
        made.append(telemetry_for(TelemetrySettings(enabled=True, **settings), "sqlite"))
        return made[-1]

    yield opened
    for one in made:
        await one.close()


async def sent(telemetry, collector):
    """Close telemetry and return the one span that was exported."""
    await telemetry.close()
    [span] = collector.spans
    return span


def warnings(caplog):
    return [record for record in caplog.records if record.name == "zapomni.telemetry"]


async def test_a_span_has_the_attributes_of_every_operation_and_its_own(collector, opened):
    telemetry = opened()
    with telemetry.span("memory.store_message", role="user", content_length=12) as span:
        span.set(result_count=1)
    span = await sent(telemetry, collector)
    assert span.name == "memory.store_message"
    assert span.attributes == {
        "operation.type": "store_message",
        "operation.success": True,
        "db.system": "sqlite",
        "role": "user",
        "content_length": 12,
        "result_count": 1,
    }
    assert not span.failed


@pytest.mark.parametrize(
    ("given", "arrived"),
    [
        (True, True),
        (0, 0),
        (1.5, 1.5),
        ("user", "user"),
        (UUID(int=7), "00000000-0000-0000-0000-000000000007"),
        (datetime(2024, 5, 8, 12, tzinfo=UTC), "2024-05-08T12:00:00+00:00"),
        (date(2024, 5, 8), "2024-05-08"),
        (["tags", "source"], ["tags", "source"]),
        ({"tags": SECRET}, ["tags"]),
        ("x" * 1000, "x" * 256),
        ("half \ud800 a pair", "half ? a pair"),
    ],
    ids=["bool", "int", "float", "text", "uuid", "moment", "day", "names", "object", "long", "surrogate"],
)
async def test_attributes_arrive_as_plain_values(collector, opened, given, arrived):
    telemetry = opened()
    with telemetry.span("memory.anything", given=given):
        pass
    assert (await sent(telemetry, collector)).attributes["given"] == arrived


async def test_long_lists_of_names_are_cut(collector, opened):
    telemetry = opened()
    with telemetry.span("memory.anything", metadata_keys=[f"key{number}" for number in range(1000)]):
        pass
    assert len((await sent(telemetry, collector)).attributes["metadata_keys"]) == 64


async def test_attributes_with_the_value_none_are_left_out(collector, opened):
    telemetry = opened()
    with telemetry.span("memory.anything", session_id=None):
        pass
    assert "session_id" not in (await sent(telemetry, collector)).attributes


@pytest.mark.parametrize("error", [ValueError(SECRET), asyncio.CancelledError(SECRET)], ids=["error", "cancellation"])
async def test_a_failed_operation_has_only_the_type_of_its_error(collector, opened, error):
    telemetry = opened()
    with pytest.raises(type(error)), telemetry.span("memory.anything"):
        raise error
    span = await sent(telemetry, collector)
    assert span.attributes["operation.success"] is False
    assert span.attributes["error.type"] == type(error).__name__
    assert (span.failed, span.status_message, span.events) == (True, "", 0)
    assert not [body for body in collector.raw if SECRET.encode() in body]


async def test_an_operation_inside_another_one_is_its_child_also_in_another_task(collector, opened):
    telemetry = opened()

    async def inner():
        with telemetry.span("memory.inner"):
            await asyncio.sleep(0)

    with telemetry.span("memory.outer"):
        await asyncio.gather(inner(), inner())
    await telemetry.close()
    [outer] = collector.named("memory.outer")
    assert [span.parent for span in collector.named("memory.inner")] == [outer.id] * 2
    assert not outer.parent


async def test_the_time_of_parts_adds_up_in_the_span_around_them(collector, opened):
    telemetry = opened()
    with telemetry.span("memory.anything"):
        for part in ("embedding", "store", "store"):
            with timed(part):
                await asyncio.sleep(0)
    attributes = (await sent(telemetry, collector)).attributes
    assert {name for name in attributes if name.endswith("_ms")} == {"embedding_ms", "store_ms"}
    assert attributes["store_ms"] > 0


async def test_a_failing_part_is_timed_too(collector, opened):
    telemetry = opened()
    with pytest.raises(ValueError), telemetry.span("memory.anything"), timed("store"):
        raise ValueError(SECRET)
    assert "store_ms" in (await sent(telemetry, collector)).attributes


def test_timing_outside_of_a_span_does_nothing():
    assert timed("store") is timed("embedding")


async def test_calls_are_counted_by_tool_and_errors_by_type(collector, opened):
    telemetry = opened()
    telemetry.record_call("add_memory", 0.25, None)
    telemetry.record_call("add_memory", 0.5, "timeout")
    telemetry.record_call("get_stats", 0.125, None)
    await telemetry.close()
    assert collector.point("zapomni.tool.calls", tool="add_memory") == 2
    assert collector.point("zapomni.tool.calls", tool="get_stats") == 1
    assert collector.point("zapomni.tool.errors", tool="add_memory", error__type="timeout") == 1
    assert collector.point("zapomni.tool.errors", tool="get_stats", error__type="timeout") is None
    assert collector.point("zapomni.tool.duration", tool="add_memory") == (2, 0.75)


async def test_an_error_type_that_is_not_an_identifier_is_not_sent(collector, opened):
    telemetry = opened()
    telemetry.record_call("sample", 0.1, SECRET)
    await telemetry.close()
    assert collector.point("zapomni.tool.errors", tool="sample", error__type="error") == 1
    assert not [body for body in collector.raw if SECRET.encode() in body]


@pytest.mark.parametrize("is_open", [False, True], ids=["before the first operation", "after it"])
async def test_a_gauge_is_read_when_metrics_are_sent(collector, opened, is_open):
    telemetry = opened()
    depth = 3
    if is_open:
        telemetry.record_call("add_memory", 0.1, None)
    telemetry.gauge("zapomni.queue.depth", lambda: depth)
    telemetry.record_call("add_memory", 0.1, None)
    depth = 5
    await telemetry.close()
    assert collector.point("zapomni.queue.depth") == 5


async def test_a_gauge_that_has_no_value_is_not_sent(collector, opened):
    telemetry = opened()
    telemetry.gauge("zapomni.queue.depth", lambda: None)
    telemetry.record_call("add_memory", 0.1, None)
    await telemetry.close()
    assert collector.point("zapomni.tool.calls", tool="add_memory") == 1
    assert collector.point("zapomni.queue.depth") is None


async def test_the_last_reader_of_a_gauge_is_the_one_that_is_asked(collector, opened):
    telemetry = opened()
    telemetry.record_call("add_memory", 0.1, None)
    telemetry.gauge("zapomni.queue.depth", lambda: 1)
    telemetry.gauge("zapomni.queue.depth", lambda: 2)
    await telemetry.close()
    assert collector.point("zapomni.queue.depth") == 2


async def test_gauges_outlive_closing_and_telemetry_can_be_used_again(collector, opened):
    telemetry = opened()
    telemetry.gauge("zapomni.queue.depth", lambda: 7)
    for name in ("memory.first", "memory.second"):
        collector.points.clear()
        with telemetry.span(name):
            pass
        await telemetry.close()
        assert collector.point("zapomni.queue.depth") == 7
    assert [span.name for span in collector.spans] == ["memory.first", "memory.second"]


async def test_closing_is_idempotent(collector, opened):
    telemetry = opened()
    with telemetry.span("memory.anything"):
        pass
    await telemetry.close()
    await telemetry.close()
    assert len(collector.spans) == 1


async def test_each_engine_sends_its_own_telemetry(collector, opened):
    one, other = opened(service_name="one"), opened(service_name="other")
    with one.span("memory.of_one"), other.span("memory.of_other"):
        pass
    await one.close()
    await other.close()
    names = {span.name: span.resource["service.name"] for span in collector.spans}
    assert names == {"memory.of_one": "one", "memory.of_other": "other"}


@pytest.mark.parametrize(
    ("settings", "variable", "name"),
    [
        ({}, None, "zapomni"),
        ({}, "from-variable", "from-variable"),
        ({"service_name": "from-settings"}, "from-variable", "from-settings"),
    ],
    ids=["neither", "variable", "both"],
)
async def test_the_service_name_comes_from_the_settings_then_from_the_variable(
    collector, opened, monkeypatch, settings, variable, name
):
    if variable:
        monkeypatch.setenv("OTEL_SERVICE_NAME", variable)
    telemetry = opened(**settings)
    with telemetry.span("memory.anything"):
        pass
    span = await sent(telemetry, collector)
    assert span.resource["service.name"] == name
    assert span.resource["service.instance.id"]
    assert span.resource["service.version"]


async def test_a_signal_that_the_standard_variables_switch_off_is_not_sent(collector, opened, monkeypatch):
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "none")
    telemetry = opened()
    with telemetry.span("memory.anything"):
        telemetry.record_call("add_memory", 0.1, None)
    await telemetry.close()
    assert collector.spans == []
    assert collector.point("zapomni.tool.calls", tool="add_memory") == 1
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "otlp")
    monkeypatch.setenv("OTEL_METRICS_EXPORTER", "none")
    collector.points.clear()
    with telemetry.span("memory.anything"):
        telemetry.record_call("add_memory", 0.1, None)
    await telemetry.close()
    assert len(collector.spans) == 1
    assert collector.points == {}


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
        ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json"),
        ("OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "grpc"),
        ("OTEL_TRACES_EXPORTER", "console"),
        ("OTEL_METRICS_EXPORTER", "prometheus"),
    ],
)
async def test_an_unsupported_protocol_is_logged(collector, opened, monkeypatch, caplog, variable, value):
    monkeypatch.setenv(variable, value)
    telemetry = opened()
    with telemetry.span("memory.anything"):
        pass
    assert (await sent(telemetry, collector)).name == "memory.anything"
    [warning] = warnings(caplog)
    assert (warning.levelname, warning.msg, warning.variables) == ("WARNING", "telemetry_variables_ignored", [variable])
    assert "http/protobuf" in warning.fix


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "HTTP/protobuf "),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", ""),
        ("OTEL_TRACES_EXPORTER", "otlp"),
        ("OTEL_METRICS_EXPORTER", "none"),
    ],
)
async def test_the_supported_protocol_is_not_logged(collector, opened, monkeypatch, caplog, variable, value):
    monkeypatch.setenv(variable, value)
    telemetry = opened()
    with telemetry.span("memory.anything"):
        pass
    await sent(telemetry, collector)
    assert warnings(caplog) == []


async def test_an_unreachable_endpoint_is_logged_once(opened, monkeypatch, caplog):
    with closed_port() as url:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        monkeypatch.setattr("zapomni_core.telemetry.otlp.CLOSING_SECONDS", 0.5)
        telemetry = opened()
        with telemetry.span("memory.anything"):
            telemetry.record_call("add_memory", 0.1, None)
        async with asyncio.timeout(LIMIT):
            await telemetry.close()
    [warning] = warnings(caplog)
    assert (warning.levelname, warning.msg) == ("WARNING", "telemetry_not_delivered")
    assert "OTEL_EXPORTER_OTLP_ENDPOINT" in warning.fix
    assert url not in str(vars(warning))


async def test_an_endpoint_that_refuses_is_logged_once(collector, opened, monkeypatch, caplog):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"{collector.url}/elsewhere")
    telemetry = opened()
    for _ in range(2):
        with telemetry.span("memory.anything"):
            telemetry.record_call("add_memory", 0.1, None)
    await telemetry.close()
    assert [record.msg for record in warnings(caplog)] == ["telemetry_not_delivered"]


async def test_closing_does_not_wait_for_an_endpoint_that_never_answers(collector, opened, monkeypatch, caplog):
    monkeypatch.setattr("zapomni_core.telemetry.otlp.CLOSING_SECONDS", 0.5)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "600")
    collector.hold()
    telemetry = opened()
    with telemetry.span("memory.anything"):
        pass
    async with asyncio.timeout(LIMIT):
        await telemetry.close()
    assert collector.spans == []
    assert [record.msg for record in warnings(caplog)] == ["telemetry_not_delivered"]


async def test_the_event_loop_goes_on_while_telemetry_closes(collector, opened):
    collector.hold()
    telemetry = opened()
    with telemetry.span("memory.anything"):
        pass
    closing = asyncio.create_task(telemetry.close())
    async with asyncio.timeout(LIMIT):
        assert await asyncio.to_thread(collector.waiting.wait, LIMIT)
        collector.released.set()
        await closing
    assert len(collector.spans) == 1


async def test_invalid_variables_are_logged_once_and_ignored(opened, monkeypatch, caplog):
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "-1")
    telemetry = opened()
    for _ in range(2):
        with telemetry.span("memory.anything") as span:
            span.set(result_count=1)
        telemetry.record_call("add_memory", 0.1, None)
    await telemetry.close()
    assert [(record.levelno, record.msg) for record in warnings(caplog)] == [(logging.ERROR, "telemetry_not_started")]


@pytest.mark.parametrize("missing", ["opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http", "opentelemetry"])
def test_telemetry_that_is_not_installed_is_refused_with_the_command_that_installs_it(monkeypatch, missing):
    for name in [name for name in sys.modules if name.startswith("opentelemetry")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ConfigurationError, match=r"pip install 'zapomni\[otel\]'"):
        telemetry_for(TelemetrySettings(enabled=True), "sqlite")


def test_telemetry_is_off_unless_the_settings_switch_it_on():
    assert telemetry_for(Settings().telemetry, "sqlite") is NO_TELEMETRY


async def test_switched_off_telemetry_accepts_every_call_and_sends_nothing():
    spans = [NO_TELEMETRY.span("memory.add_memory", text_length=1), NO_TELEMETRY.span("memory.search_memory")]
    assert spans[0] is spans[1]
    with spans[0] as span:
        span.set(result_count=1)
        assert timed("store") is spans[0]
    NO_TELEMETRY.record_call("add_memory", 0.1, None)
    NO_TELEMETRY.gauge("zapomni.queue.depth", lambda: pytest.fail("a gauge was read"))
    await NO_TELEMETRY.close()


def test_switched_off_telemetry_does_not_swallow_errors():
    with pytest.raises(ValueError, match="as it was"), NO_TELEMETRY.span("memory.anything"):
        raise ValueError("as it was")


def test_a_service_must_have_a_name():
    with pytest.raises(ValueError, match="must not be blank"):
        TelemetrySettings(service_name=" ")
