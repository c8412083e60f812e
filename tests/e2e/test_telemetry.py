"""Telemetry of a real server, with an OTLP endpoint and without one."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.stdio_server import HASHING, SECONDS, ZAPOMNI, environment, eventually, text_of
from tests.otlp_collector import closed_port, run_collector

LISTING_TOOLS = Path(__file__).with_name("listing_tools.py")
SENDING = ["opentelemetry.sdk", "opentelemetry.exporter", "opentelemetry.proto", "google.protobuf", "requests"]
ON = {"ZAPOMNI_TELEMETRY__ENABLED": "true", "ZAPOMNI_LOG_LEVEL": "WARNING", "ZAPOMNI_EMBEDDER": "hashing"}
WITHOUT_SDK = "import sys; sys.modules['opentelemetry.sdk'] = None; from zapomni_mcp.cli import main; main()"
WITHOUT_ANYTHING = """
import asyncio, sys
from zapomni_core import MemoryEngine

async def remember():
    engine = MemoryEngine()
    await engine.add_memory("Murdoch kept the lighthouse.")
    await engine.search_memory("lighthouse")
    await engine.close()

asyncio.run(remember())
print([name for name in sys.modules if name.startswith("opentelemetry") or name == "zapomni_core.telemetry.otlp"])
"""


def remember_and_ask(server):
    server.initialize()
    for tool, arguments in [
        ("add_memory", {"text": "Murdoch kept the lighthouse of Skerryvore."}),
        ("search_memory", {"query": "Who kept the lighthouse?"}),
    ]:
        result = server.call(tool, arguments)
        assert not result.get("isError"), text_of(result)


def test_calls_are_sent_to_the_endpoint(start):
    soon = {"OTEL_BSP_SCHEDULE_DELAY": "50", "OTEL_METRIC_EXPORT_INTERVAL": "50"}
    with run_collector() as collector:
        server = start(ZAPOMNI, "--plugin", HASHING, "serve", OTEL_EXPORTER_OTLP_ENDPOINT=collector.url, **ON, **soon)
        remember_and_ask(server)
        eventually(lambda: collector.named("memory.search_memory"), "span of the search", otherwise=server.log_text)
        eventually(lambda: collector.point("zapomni.tool.calls", tool="search_memory"), "count of the search")
        assert server.close() == 0
        [added], [searched] = collector.named("memory.add_memory"), collector.named("memory.search_memory")
    assert added.attributes["operation.type"] == "add_memory"
    assert (added.attributes["chunk_count"], added.attributes["outcome"]) == (1, "stored")
    assert (searched.attributes["result_count"], searched.attributes["db.system"]) == (1, "sqlite")
    assert [one.attributes["operation.success"] for one in (added, searched)] == [True, True]
    assert added.resource["service.name"] == "zapomni"
    assert collector.point("zapomni.tool.duration", tool="add_memory")[0] == 1
    assert not [body for body in collector.raw if b"Skerryvore" in body or b"lighthouse" in body]
    assert len(server.log_text().splitlines()) == 1


def test_an_unreachable_endpoint_is_logged_once(start):
    with closed_port() as url:
        soon = {"OTEL_BSP_SCHEDULE_DELAY": "50", "OTEL_METRIC_EXPORT_INTERVAL": "50", "OTEL_EXPORTER_OTLP_TIMEOUT": "1"}
        server = start(ZAPOMNI, "--plugin", HASHING, "serve", OTEL_EXPORTER_OTLP_ENDPOINT=url, **ON, **soon)
        remember_and_ask(server)
        server.logged("telemetry_not_delivered")
        assert not server.call("search_memory", {"query": "Who kept the lighthouse?"}).get("isError")
        assert server.close() == 0
    events = [json.loads(line)["event"] for line in server.log_text().splitlines()]
    assert events == ["started", "telemetry_not_delivered"]


def test_a_key_in_malformed_headers_is_not_logged(start):
    with run_collector() as collector:
        variables = ON | {"ZAPOMNI_LOG_LEVEL": "DEBUG", "OTEL_EXPORTER_OTLP_HEADERS": "sk-4711"}
        server = start(ZAPOMNI, "--plugin", HASHING, "serve", OTEL_EXPORTER_OTLP_ENDPOINT=collector.url, **variables)
        remember_and_ask(server)
        assert server.close() == 0
    assert server.log_text()
    assert "sk-4711" not in server.log_text()


@pytest.mark.parametrize("on", [False, True], ids=["off", "on"])
def test_the_exporter_is_imported_only_if_telemetry_is_on(start, on):
    with run_collector() as collector:
        variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "ZAPOMNI_EMBEDDER": "hashing"} | (ON if on else {})
        server = start(ZAPOMNI, "--plugin", LISTING_TOOLS, "--plugin", HASHING, "serve", **variables)
        remember_and_ask(server)
        found = text_of(server.call("imported", {"prefixes": SENDING})).split()
        assert server.close() == 0
    assert [prefix for prefix in SENDING if prefix in found] == (SENDING if on else [])
    assert on or not collector.raw


def test_an_engine_without_telemetry_does_not_import_it(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_ANYTHING],
        env=environment(tmp_path),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


def test_a_server_without_the_extra_does_not_start_and_names_it(start):
    server = start(sys.executable, "-c", WITHOUT_SDK, **ON)
    assert server.rest() == []
    assert server.wait() == 2
    assert "pip install 'zapomni[otel]'" in server.log_text()
    assert "Traceback" not in server.log_text()
