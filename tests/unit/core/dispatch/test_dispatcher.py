import asyncio
import threading
from dataclasses import replace

import pytest

from tests.unit.core.dispatch.conftest import Around
from zapomni_core.dispatch.dispatcher import Dispatcher
from zapomni_core.dispatch.middleware import Link
from zapomni_core.errors import ConfigurationError, DatabaseError, ProcessingError, ToolError, UnknownToolError
from zapomni_core.host.registry import ToolRegistry
from zapomni_core.plugin import ToolResult, current_call
from zapomni_core.responses import ERROR_KEY
from zapomni_db.errors import InvalidInputError, JobNotFoundError, MemoryNotFoundError

ANY_OBJECT = {"type": "object", "properties": {}}
STRICT = {
    "type": "object",
    "properties": {
        "limit": {"type": "integer", "minimum": 1, "maximum": 100},
        "text": {"type": "string", "maxLength": 5},
    },
    "required": ["text"],
    "additionalProperties": False,
}


class LocalTool:
    """A tool whose body is a function."""

    description = "A tool of the dispatch tests"

    def __init__(self, body, name="probe", **parts):
        self.name = name
        self.input_schema = ANY_OBJECT
        self._body = body
        vars(self).update(parts)

    async def execute(self, arguments):
        return await self._body(arguments)


def dispatcher_of(*tools, **options):
    registry = ToolRegistry()
    for tool in tools:
        registry.register(tool, plugin="sample")
    return Dispatcher(registry, **options)


def use(dispatcher, middleware):
    dispatcher.use([Link("sample", one.stage, one) for one in middleware])


def raising(error):
    async def body(_arguments):
        raise error

    return body


def returning(value):
    async def body(_arguments):
        return value

    return body


async def done(_arguments):
    return ToolResult.text("done")


def error_of(result):
    assert result["isError"] is True
    return result["structuredContent"]


class RefusalError(Exception):
    """Stands in for a protocol's own error."""


class OnItsOwn(BaseException):
    """A direct subclass of BaseException, which no library should raise."""


async def test_a_call_gives_the_tools_result():
    assert await dispatcher_of(LocalTool(done)).call("probe", {}) == ToolResult.text("done")


async def test_an_unknown_tool_is_reported_with_the_nearest_name():
    with pytest.raises(UnknownToolError, match=r"prob\b.*\bprobe\b"):
        await dispatcher_of(LocalTool(done)).call("prob", {})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "field required: text"),
        ({"text": 5}, "text must be string"),
        ({"text": "secret"}, "text exceeds maximum length (5 characters)"),
        ({"text": "a", "limit": 0}, "limit must be at least 1"),
        ({"text": "a", "limit": 101}, "limit must be at most 100"),
        ({"text": "a", "limt": 5}, "limt is not known (did you mean 'limit'?)"),
        ({"text": "a", "other": 5}, "other is not known (known: limit, text)"),
        ("text", "arguments must be an object"),
    ],
)
async def test_wrong_arguments_are_reported_by_field_and_rule_without_their_values(arguments, message):
    error = error_of(await dispatcher_of(LocalTool(done, input_schema=STRICT)).call("probe", arguments))
    assert error["message"] == message
    assert (error["error_type"], error["status_code"], error["recoverable"]) == ("validation", 400, True)


FORMS = {
    "optional": {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]},
    "choice": {"anyOf": [{"enum": ["red", "blue"], "type": "string"}, {"type": "null"}]},
    "place": {"anyOf": [{"$ref": "#/$defs/place"}, {"type": "null"}]},
    "pet": {"anyOf": [{"oneOf": [{"$ref": "#/$defs/cat"}, {"$ref": "#/$defs/dog"}]}, {"type": "null"}]},
    "many": {"oneOf": [{"type": "integer"}, {"type": "integer", "minimum": 0}]},
}
PARTS = {
    "place": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "zip": {"type": "string", "maxLength": 5}},
        "required": ["city"],
        "additionalProperties": False,
    },
    "cat": {"type": "object", "properties": {"kind": {"const": "cat"}, "lives": {"type": "integer"}}},
    "dog": {"type": "object", "properties": {"kind": {"const": "dog"}, "barks": {"type": "boolean"}}},
}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"optional": "secret"}, "optional must be integer or null"),
        ({"optional": 0}, "optional must be at least 1"),
        ({"choice": "secret"}, "choice must be one of red, blue"),
        ({"choice": 5}, "choice must be string or null"),
        ({"place": {"city": "Oslo", "zp": "secret"}}, "place.zp is not known (did you mean 'zip'?)"),
        ({"place": {"zip": "0150"}}, "field required: place.city"),
        ({"place": {"city": "Oslo", "zip": "secret"}}, "place.zip exceeds maximum length (5 characters)"),
        ({"place": "secret"}, "place must be object or null"),
        ({"pet": {"kind": "secret"}}, "pet.kind must be one of cat, dog"),
        ({"pet": {"kind": "dog", "barks": "secret"}}, "pet.barks must be boolean"),
        ({"many": 5}, "many breaks the rule 'oneOf' of the tool's schema"),
    ],
)
async def test_a_value_with_several_allowed_forms_is_compared_with_the_nearest(arguments, message):
    schema = {"type": "object", "properties": FORMS, "$defs": PARTS}
    error = error_of(await dispatcher_of(LocalTool(done, input_schema=schema)).call("probe", arguments))
    assert error["message"] == message


async def test_a_rule_without_words_of_its_own_is_named():
    schema = {"type": "object", "properties": {"a": {"not": {"const": "secret"}}}}
    error = error_of(await dispatcher_of(LocalTool(done, input_schema=schema)).call("probe", {"a": "secret"}))
    assert error["message"] == "a breaks the rule 'not' of the tool's schema"


@pytest.mark.parametrize(
    "raised",
    [RuntimeError("secret"), OnItsOwn("secret"), SystemExit("secret"), KeyboardInterrupt("secret"), GeneratorExit()],
)
async def test_any_exception_of_a_tool_becomes_a_result_without_private_details(raised, caplog):
    result = await dispatcher_of(LocalTool(raising(raised))).call("probe", {})
    assert error_of(result)["error_type"] == "internal"
    assert "secret" not in str(result)
    assert caplog.records[-1].exc_info[1] is raised
    assert caplog.records[-1].plugin == "sample"


async def test_a_cancelled_error_without_a_cancellation_is_a_failure_of_the_tool():
    result = await dispatcher_of(LocalTool(raising(asyncio.CancelledError()))).call("probe", {})
    assert error_of(result)["error_type"] == "internal"


@pytest.mark.parametrize("stage", ["tool", "transform", "guard"])
async def test_a_tool_that_cancels_its_own_task_fails_alone(stage, caplog):
    """The task that serves the client continues and gets an error result."""

    async def cancel(*_given):
        asyncio.current_task().cancel()
        await asyncio.sleep(0)

    dispatcher = dispatcher_of(LocalTool(cancel if stage == "tool" else done))
    use(dispatcher, [] if stage == "tool" else [Around(stage, cancel)])
    assert error_of(await dispatcher.call("probe", {}))["error_type"] == "internal"
    assert asyncio.current_task().cancelling() == 0
    event = "tool_failed" if stage == "tool" else "middleware_failed"
    assert (caplog.records[-1].message, caplog.records[-1].tool) == (event, "probe")
    assert dispatcher.counts["probe"].errors == {"internal": 1}


@pytest.mark.parametrize(
    ("raised", "kind", "status", "text"),
    [
        (ToolError("Name a city.", suggestion="Try Oslo."), "refused", 400, "Error: Name a city."),
        (
            DatabaseError("disk"),
            "database",
            503,
            "Error: Database temporarily unavailable. Please retry in a few seconds.",
        ),
        (InvalidInputError("at must be a date"), "validation", 400, "Error: at must be a date"),
        (MemoryNotFoundError("there is no memory x"), "not_found", 404, "Error: there is no memory x"),
        (JobNotFoundError("there is no job x"), "not_found", 404, "Error: there is no job x"),
        (ConfigurationError("the store keeps no graph"), "internal", 503, "Error: the store keeps no graph"),
    ],
    ids=["tool", "database", "input", "memory", "job", "configuration"],
)
async def test_messages_of_client_facing_errors_reach_the_client(raised, kind, status, text):
    result = await dispatcher_of(LocalTool(raising(raised))).call("probe", {})
    assert (error_of(result)["error_type"], error_of(result)["status_code"]) == (kind, status)
    assert result["content"][0]["text"].splitlines()[0] == text


@pytest.mark.parametrize(
    ("raised", "text"),
    [
        (ToolError("no", suggestion=5), "Error: no"),
        (ToolError("cannot read caf\udce9.txt"), "Error: cannot read caf\ufffd.txt"),
        (ToolError("no", recoverable="perhaps"), "Error: no"),
    ],
    ids=["suggestion", "surrogate", "recoverable"],
)
async def test_an_invalid_tool_error_reaches_the_client_and_is_logged_with_the_tool(raised, text, caplog):
    result = await dispatcher_of(LocalTool(raising(raised))).call("probe", {})
    assert error_of(result)["error_type"] == "refused"
    assert result["content"][0]["text"].splitlines()[0] == text
    assert result["content"][0]["text"].encode()
    record = caplog.records[-1]
    assert (record.message, record.tool, record.plugin) == ("invalid_tool_error", "probe", "sample")
    assert "ToolError" in record.problem


async def test_a_refusal_with_unsendable_characters_reaches_the_client():
    async def wait_ready(_tool):
        return "caf\udce9 is ill"

    assert (
        error_of(await dispatcher_of(LocalTool(done), wait_ready=wait_ready).call("probe", {}))["message"]
        == "caf\ufffd is ill"
    )
    strict = dispatcher_of(LocalTool(done, input_schema=STRICT))
    error = error_of(await strict.call("probe", {"text": "a", "\ud800": 1}))
    assert error["message"] == "\ufffd is not known (known: limit, text)"


async def test_a_processing_error_is_reported_without_its_text():
    result = await dispatcher_of(LocalTool(raising(ProcessingError("secret")))).call("probe", {})
    assert error_of(result)["error_code"] == "PROCESSING_ERROR"
    assert "secret" not in str(result)


async def test_an_error_that_passes_through_on_purpose_is_raised():
    dispatcher = dispatcher_of(LocalTool(raising(RefusalError())), pass_through=(RefusalError,))
    with pytest.raises(RefusalError):
        await dispatcher.call("probe", {})
    assert dispatcher.counts["probe"].errors == {"RefusalError": 1}


@pytest.mark.parametrize(
    "rubbish",
    [
        None,
        "text",
        {},
        {"content": "text"},
        {"content": [{"type": "text"}]},
        {"content": [{"type": "poem", "text": "x"}]},
        {"content": [{"type": ["text"], "text": "x"}]},
        {"content": ["text"]},
        {"content": [], "isError": "no"},
        {"content": [], "_meta": []},
        {"content": [], "answer": 42},
        {"content": [], "structuredContent": [1, 2]},
        {"content": [], "structuredContent": float("nan")},
        {"content": [], "structuredContent": {"a": object()}},
        {"content": [{"type": "text", "text": "\ud800"}]},
        {"content": [], "structuredContent": {1: 2}},
        {"content": [], "_meta": {1: 2}},
        {"content": [{"type": "resource", "resource": {}}]},
        {"content": [{"type": "resource", "resource": {"uri": "mem://1", "text": 5}}]},
        {"content": [{"type": "resource", "resource": {"uri": "mem://1", "text": "x", "mimeType": 5}}]},
        {"content": [{"type": "text", "text": "x", "_meta": 5}]},
        {"content": [{"type": "text", "text": "x", "annotations": "bad"}]},
        {"content": [{"type": "text", "text": "x", "annotations": {"audience": ["nobody"]}}]},
        {"content": [{"type": "text", "text": "x", "annotations": {"priority": 7}}]},
        {"content": [{"type": "resource_link", "uri": "mem://1", "name": "one", "size": "big"}]},
        {"content": [{"type": "resource_link", "uri": "mem://1", "name": "one", "icons": [{"src": 5}]}]},
    ],
)
async def test_a_result_that_cannot_be_serialised_is_a_tool_failure(rubbish, caplog):
    error = error_of(await dispatcher_of(LocalTool(returning(rubbish))).call("probe", {}))
    assert error["error_code"] == "INVALID_RESULT"
    assert caplog.records[-1].message == "invalid_result"


async def test_every_kind_of_content_is_accepted():
    content = [
        {"type": "text", "text": "x"},
        {"type": "image", "data": "aGk=", "mimeType": "image/png"},
        {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
        {"type": "resource_link", "uri": "mem://1", "name": "one"},
        {"type": "resource", "resource": {"uri": "mem://1", "text": "x"}},
        {"type": "resource", "resource": {"uri": "mem://1", "blob": "aGk=", "mimeType": None, "_meta": {"a": 1}}},
        {"type": "text", "text": "x", "annotations": {"audience": ["user"], "priority": 0.5, "lastModified": "2026"}},
        {
            "type": "resource_link",
            "uri": "mem://1",
            "name": "one",
            "size": 5,
            "icons": [{"src": "a:b", "sizes": ["any"]}],
        },
    ]
    assert (await dispatcher_of(LocalTool(returning({"content": content}))).call("probe", {}))["content"] == content


OUTPUT = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}


@pytest.mark.parametrize(
    ("structured", "problem"), [(None, "is missing"), ({"count": "three"}, "structuredContent/count")]
)
async def test_a_result_that_violates_its_output_schema_is_refused(structured, problem, caplog):
    tool = LocalTool(returning(ToolResult.text("x", structured=structured)), output_schema=OUTPUT)
    result = await dispatcher_of(tool).call("probe", {})
    assert result["isError"] is True
    assert problem in caplog.records[-1].problem


async def test_a_result_that_matches_its_output_schema_is_accepted():
    tool = LocalTool(returning(ToolResult.text("x", structured={"count": 3})), output_schema=OUTPUT)
    assert (await dispatcher_of(tool).call("probe", {}))["structuredContent"] == {"count": 3}


async def test_an_error_without_structured_content_is_accepted_with_any_output_schema():
    tool = LocalTool(returning(ToolResult.error("no")), output_schema=OUTPUT)
    assert await dispatcher_of(tool).call("probe", {}) == ToolResult.error("no")


async def test_the_error_record_goes_beside_where_the_output_schema_does_not_admit_it():
    tool = LocalTool(raising(RuntimeError()), output_schema=OUTPUT)
    result = await dispatcher_of(tool).call("probe", {})
    assert "structuredContent" not in result
    assert result["_meta"][ERROR_KEY]["error_type"] == "internal"


async def test_an_endlessly_recursive_output_schema_does_not_hide_the_failure():
    tool = LocalTool(raising(RuntimeError()), output_schema={"type": "object", "$ref": "#"})
    assert ERROR_KEY in (await dispatcher_of(tool).call("probe", {}))["_meta"]


async def test_a_tool_that_never_returns_is_stopped_at_its_limit():
    async def forever(_arguments):
        await asyncio.Event().wait()

    error = error_of(await dispatcher_of(LocalTool(forever, timeout_seconds=0.01)).call("probe", {}))
    assert (error["error_type"], error["status_code"], error["recoverable"]) == ("timeout", 503, True)
    assert error["processing_time_ms"] >= 10


async def test_the_time_limit_of_the_user_overrides_that_of_the_tool():
    async def forever(_arguments):
        await asyncio.Event().wait()

    tool = LocalTool(forever, timeout_seconds=1000)
    assert error_of(await dispatcher_of(tool, timeouts={"probe": 0.01}).call("probe", {}))["error_type"] == "timeout"


async def test_the_time_limit_restarts_with_every_progress_report():
    seen = []

    async def steady(_arguments):
        for step in range(8):
            await asyncio.sleep(0.5)
            await current_call().progress(step, 8, "working")
        return ToolResult.text("done")

    async def note(done, total, message):
        seen.append((done, total, message))

    dispatcher = dispatcher_of(LocalTool(steady, timeout_seconds=3))
    assert (await dispatcher.call("probe", {}, on_progress=note))["isError"] is False
    assert seen[-1] == (7, 8, "working")


async def test_progress_that_is_not_a_number_only_extends_the_time_limit():
    heard = []

    async def hear(*report):
        heard.append(report)

    async def divide_by_zero(_arguments):
        for done, total in [(float("nan"), 2), (float("inf"), 2), (1, float("inf")), (2, float("nan"))]:
            await current_call().progress(done, total, "working")
        return ToolResult.text("done")

    await dispatcher_of(LocalTool(divide_by_zero)).call("probe", {}, on_progress=hear)
    assert heard == [(1, None, "working"), (2, None, "working")]


async def test_progress_from_the_loop_of_a_thread_is_reported_on_the_loop_of_the_call():
    heard = []

    async def hear(done, _total, _message):
        heard.append((done, threading.get_ident()))

    async def work_in_a_thread(_arguments):
        def work():
            for step in range(3):
                asyncio.run(current_call().progress(step))

        await asyncio.to_thread(work)
        return ToolResult.text("done")

    await dispatcher_of(LocalTool(work_in_a_thread)).call("probe", {}, on_progress=hear)
    assert heard == [(step, threading.get_ident()) for step in range(3)]


async def heard_of(body, monkeypatch, **parts):
    """The progress that a client receives with a very short heartbeat, and the result; `body` gets the list as it grows."""
    monkeypatch.setattr("zapomni_core.dispatch.call.BEAT_SECONDS", 0.001)
    heard = []

    async def hear(done, total, message):
        heard.append((done, total, message))

    result = await dispatcher_of(LocalTool(lambda _arguments: body(heard), **parts)).call("probe", {}, on_progress=hear)
    return heard, result


async def until(condition):
    while not condition():  # noqa: ASYNC110 (what is heard has no event)
        await asyncio.sleep(0.001)


async def test_a_silent_call_sends_heartbeats_to_the_client(monkeypatch):
    async def silent(heard):
        await until(lambda: len(heard) >= 3)
        return ToolResult.text("done")

    heard, result = await heard_of(silent, monkeypatch)
    assert result["isError"] is False
    assert {(total, message) for _, total, message in heard} == {(None, "still working")}
    steps = [done for done, _, _ in heard]
    assert steps == sorted(set(steps))
    assert steps[0] > 0


async def test_progress_after_a_pause_still_grows_and_keeps_its_total(monkeypatch):
    async def slow(heard):
        for step in range(4):
            before = len(heard)
            await until(lambda: len(heard) > before)  # noqa: B023 (it is awaited here)
            await current_call().progress(step, 4, "working")
        return ToolResult.text("done")

    heard, _ = await heard_of(slow, monkeypatch)
    steps = [done for done, _, _ in heard]
    assert steps == sorted(set(steps))
    reports = [(round(done), total) for done, total, message in heard if message == "working"]
    assert reports == [(0, 4), (1, 4), (2, 4), (3, 4)]


async def test_a_running_call_without_progress_does_not_extend_the_time_limit(monkeypatch):
    async def forever(_heard):
        await asyncio.Event().wait()

    heard, result = await heard_of(forever, monkeypatch, timeout_seconds=0.2)
    assert error_of(result)["error_type"] == "timeout"
    assert heard


async def test_heartbeats_stop_when_the_call_ends_and_ignore_a_disconnected_client(monkeypatch):
    monkeypatch.setattr("zapomni_core.dispatch.call.BEAT_SECONDS", 0.001)
    heard = []

    async def gone(*report):
        heard.append(report)
        raise ConnectionResetError

    async def silent(_arguments):
        await until(lambda: len(heard) >= 2)
        return ToolResult.text("done")

    assert (await dispatcher_of(LocalTool(silent)).call("probe", {}, on_progress=gone))["isError"] is False
    count = len(heard)
    await asyncio.sleep(0.02)
    assert len(heard) == count


async def test_a_timeout_error_raised_by_a_tool_is_not_the_time_limit():
    error = error_of(await dispatcher_of(LocalTool(raising(TimeoutError("mine")))).call("probe", {}))
    assert error["error_type"] == "internal"


async def test_cancellation_reaches_the_tool_and_the_caller():
    started, stopped = asyncio.Event(), asyncio.Event()

    async def wait(_arguments):
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    dispatcher = dispatcher_of(LocalTool(wait))
    call = asyncio.create_task(dispatcher.call("probe", {}))
    await started.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert stopped.is_set()
    assert dispatcher.counts["probe"].errors == {"cancelled": 1}


async def test_concurrent_calls_are_limited_and_waiting_does_not_use_up_the_time_limit():
    running = 0
    most = 0

    async def busy(_arguments):
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.5)
        running -= 1
        return ToolResult.text("done")

    dispatcher = dispatcher_of(LocalTool(busy, timeout_seconds=2.5), concurrent_calls=2)
    results = await asyncio.gather(*(dispatcher.call("probe", {}) for _ in range(12)))
    assert most == 2
    assert not any(result["isError"] for result in results)


async def test_middleware_runs_around_the_tool_in_the_order_of_its_stages():
    order = []

    def noting(stage):
        async def body(call, call_next):
            order.append(stage)
            result = await call_next(call)
            order.append(f"after {stage}")
            return result

        return Around(stage, body)

    dispatcher = dispatcher_of(LocalTool(done))
    use(dispatcher, [noting("guard"), noting("transform"), noting("observe")])
    await dispatcher.call("probe", {})
    assert order == ["observe", "transform", "guard", "after guard", "after transform", "after observe"]


async def test_observers_see_refused_and_unknown_calls():
    seen = []

    async def watch(call, call_next):
        try:
            result = await call_next(call)
            seen.append((call.name, call.plugin, result["isError"]))
        except UnknownToolError:
            seen.append((call.name, call.plugin, "unknown"))
            raise
        return result

    dispatcher = dispatcher_of(LocalTool(done, input_schema=STRICT))
    use(dispatcher, [Around("observe", watch)])
    await dispatcher.call("probe", {})
    with pytest.raises(UnknownToolError):
        await dispatcher.call("nobody", {})
    assert seen == [("probe", "sample", True), ("nobody", "", "unknown")]


@pytest.mark.parametrize("when", ["before", "after", "instead"])
async def test_an_observer_can_neither_fail_a_call_nor_change_it(when, caplog):
    async def meddle(call, call_next):
        if when == "before":
            raise RuntimeError("observer")
        if when == "after":
            await call_next(call)
            raise RuntimeError("observer")
        return ToolResult.text("something else")

    dispatcher = dispatcher_of(LocalTool(done))
    use(dispatcher, [Around("observe", meddle)])
    assert await dispatcher.call("probe", {}) == ToolResult.text("done")
    assert dispatcher.counts["probe"].calls == 1
    assert (when == "instead") or caplog.records[-1].message == "observer_failed"


@pytest.mark.parametrize(
    "raised", [SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError(), GeneratorExit(), OnItsOwn()]
)
@pytest.mark.parametrize("when", ["before", "after"])
async def test_no_exception_of_an_observer_fails_the_call(when, raised, caplog):
    async def fail(call, call_next):
        if when == "after":
            await call_next(call)
        raise raised

    dispatcher = dispatcher_of(LocalTool(done))
    use(dispatcher, [Around("observe", fail)])
    assert await dispatcher.call("probe", {}) == ToolResult.text("done")
    assert caplog.records[-1].message == "observer_failed"


@pytest.mark.parametrize("heeds", [True, False])
@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_hanging_observer_does_not_lose_the_answer(when, heeds, monkeypatch, caplog):
    monkeypatch.setattr("zapomni_core.dispatch.middleware.OBSERVER_SECONDS", 0.05)
    release = asyncio.Event()

    async def hang(call, call_next):
        if when == "after":
            await call_next(call)
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                if heeds:
                    raise

    dispatcher = dispatcher_of(LocalTool(done))
    use(dispatcher, [Around("observe", hang)])
    assert await dispatcher.call("probe", {}) == ToolResult.text("done")
    assert caplog.messages.count("observer_is_late") == 1
    release.set()


async def test_an_observer_cannot_change_the_call():
    async def show(arguments):
        return ToolResult.text("x", structured={"given": arguments["list"]})

    async def meddle(call, call_next):
        call.arguments["list"].append("more")
        result = await call_next(call)
        result["structuredContent"]["given"].append("much more")
        result["content"].clear()

    dispatcher = dispatcher_of(LocalTool(show))
    use(dispatcher, [Around("observe", meddle), Around("observe", meddle)])
    assert await dispatcher.call("probe", {"list": ["one"]}) == ToolResult.text("x", structured={"given": ["one"]})


async def test_an_observer_sees_a_cancelled_call_without_delaying_the_cancellation():
    seen, running = [], asyncio.Event()

    async def wait(_arguments):
        running.set()
        await asyncio.Event().wait()

    async def watch(call, call_next):
        try:
            await call_next(call)
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    dispatcher = dispatcher_of(LocalTool(wait))
    use(dispatcher, [Around("observe", watch)])
    call = asyncio.create_task(dispatcher.call("probe", {}))
    await running.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert seen == ["cancelled"]
    assert dispatcher.counts["probe"].errors == {"cancelled": 1}


async def test_an_observer_that_calls_next_twice_runs_the_tool_once():
    calls = []

    async def count(_arguments):
        calls.append(1)
        return ToolResult.text("done")

    async def twice(call, call_next):
        await call_next(call)
        return await call_next(call)

    dispatcher = dispatcher_of(LocalTool(count))
    use(dispatcher, [Around("observe", twice)])
    await dispatcher.call("probe", {})
    assert calls == [1]


async def test_arguments_written_by_a_transform_are_validated():
    async def rewrite(call, call_next):
        return await call_next(replace(call, arguments={"text": 5}))

    dispatcher = dispatcher_of(LocalTool(done, input_schema=STRICT))
    use(dispatcher, [Around("transform", rewrite)])
    assert error_of(await dispatcher.call("probe", {"text": "fine"}))["message"] == "text must be string"


def redirecting(to):
    async def redirect(call, call_next):
        return await call_next(replace(call, name=to))

    return Around("transform", redirect)


async def test_a_redirected_call_waits_for_the_plugin_of_its_tool_and_guards_see_that_plugin():
    async def wait_ready(tool):
        return f"{tool.name} is ill" if tool.name == "ill" else None

    seen = []

    async def watch(call, call_next):
        seen.append((call.name, call.plugin))
        return await call_next(call)

    registry = ToolRegistry()
    registry.register(LocalTool(done), plugin="one")
    registry.register(LocalTool(done, "other"), plugin="two")
    registry.register(LocalTool(done, "ill"), plugin="three")
    dispatcher = Dispatcher(registry, wait_ready=wait_ready)
    use(dispatcher, [redirecting("other"), Around("guard", watch)])
    assert (await dispatcher.call("probe", {}))["isError"] is False
    assert seen == [("other", "two")]
    dispatcher = Dispatcher(registry, wait_ready=wait_ready)
    use(dispatcher, [redirecting("ill")])
    assert error_of(await dispatcher.call("probe", {}))["message"] == "ill is ill"


async def test_a_redirected_call_must_match_the_output_schema_of_the_called_tool():
    promising = LocalTool(done, output_schema=OUTPUT)
    dispatcher = dispatcher_of(promising, LocalTool(returning(ToolResult.text("x", structured={"a": 1})), "other"))
    use(dispatcher, [redirecting("other")])
    assert (await dispatcher.call("probe", {}))["_meta"][ERROR_KEY]["error_code"] == "INVALID_RESULT"


async def test_an_answer_of_a_transform_is_validated_like_that_of_a_tool():
    async def answer(_call, _call_next):
        return {"content": "nonsense"}

    dispatcher = dispatcher_of(LocalTool(done))
    use(dispatcher, [Around("transform", answer)])
    assert error_of(await dispatcher.call("probe", {}))["error_code"] == "INVALID_RESULT"


@pytest.mark.parametrize("stage", ["transform", "guard"])
async def test_a_failing_transform_or_guard_fails_the_call(stage):
    ran = []

    async def body(_arguments):
        ran.append(1)
        return ToolResult.text("done")

    async def broken(_call, _call_next):
        raise RuntimeError("secret")

    dispatcher = dispatcher_of(LocalTool(body))
    use(dispatcher, [Around(stage, broken)])
    assert error_of(await dispatcher.call("probe", {}))["error_type"] == "internal"
    assert ran == []


async def test_a_guard_may_refuse_with_a_reason():
    async def refuse(call, _call_next):
        raise ToolError(f"{call.name} needs approval")

    dispatcher = dispatcher_of(LocalTool(done))
    use(dispatcher, [Around("guard", refuse)])
    assert error_of(await dispatcher.call("probe", {}))["message"] == "probe needs approval"


async def test_calls_errors_and_durations_are_counted_per_tool():
    dispatcher = dispatcher_of(LocalTool(done), LocalTool(raising(RuntimeError()), "broken"))
    await dispatcher.call("probe", {})
    await dispatcher.call("broken", {})
    await dispatcher.call("broken", "nonsense")
    assert dispatcher.counts["probe"].calls == 1
    assert dispatcher.counts["broken"].errors == {"internal": 1, "validation": 1}
    assert dispatcher.counts["broken"].total_seconds >= dispatcher.counts["broken"].slowest_seconds > 0


async def test_a_tool_knows_its_call_and_its_client():
    async def who(_arguments):
        return ToolResult.text(f"{current_call().client} {current_call().call.name}")

    result = await dispatcher_of(LocalTool(who)).call("probe", {}, client="inspector")
    assert result["content"][0]["text"] == "inspector probe"
    with pytest.raises(RuntimeError, match="outside of a tool call"):
        current_call()


async def test_a_tool_whose_plugin_cannot_start_is_refused_without_running():
    async def wait_ready(tool):
        return f"{tool.name} is ill"

    error = error_of(await dispatcher_of(LocalTool(done), wait_ready=wait_ready).call("probe", {}))
    assert (error["message"], error["error_code"], error["status_code"]) == ("probe is ill", "PLUGIN_UNAVAILABLE", 503)
