import asyncio
import contextlib
import json
import os
import signal
from contextlib import asynccontextmanager
from itertools import count
from types import ModuleType
from typing import ClassVar
from unittest.mock import MagicMock, Mock

import pytest
from mcp import MCPError

from zapomni_core.app import build_app
from zapomni_core.dispatch.call import current_call_id
from zapomni_core.host.discovery import Found
from zapomni_core.memory.engine import MemoryEngine
from zapomni_core.plugin import ToolError, ToolResult, current_call, hookimpl, tool
from zapomni_core.plugin.sessions import ToolGapReport
from zapomni_core.testing import running
from zapomni_mcp import MCPServer
from zapomni_mcp.descriptors import Descriptors
from zapomni_mcp.stdio import DRAIN_SECONDS
from zapomni_mcp.testing import connected
from zapomni_mcp.tools.add_memory import AddMemoryTool

ERAS = ["legacy", "auto"]


@tool(
    title="Count up",
    annotations={"readOnlyHint": True},
    output_schema={"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]},
)
async def add(a: int, b: int = 1) -> dict:
    """Add two numbers and say so.

    Args:
        a: One number.
        b: Another.
    """
    await current_call().progress(1, 2, "half")
    return ToolResult.text(f"{a + b} for {current_call().client}", structured={"sum": a + b})


@tool
async def refuse(text: str) -> str:
    """Refuse every call."""
    raise ToolError("No.", suggestion="Try another tool.")


@tool
async def protest() -> str:
    """Answer with an error of the protocol."""
    raise MCPError(-32050, "not today", {"why": "rain"})


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "Error: field required: text"),
        ({"text": ""}, "Error: text cannot be empty or whitespace-only"),
        ({"text": " "}, "Error: text cannot be empty or whitespace-only"),
        ({"text": "x" * 10_000_001}, "Error: text exceeds maximum length (10,000,000 characters)"),
    ],
    ids=["missing", "empty", "blank", "too long"],
)
async def test_a_registered_tool_refuses_a_text_with_the_message_of_the_contract(arguments, said):
    engine = Mock(spec=MemoryEngine)
    server = MCPServer(core_engine=engine)
    server.register_tool(AddMemoryTool(core_engine=engine))
    request = {"method": "tools/call", "params": {"name": "add_memory", "arguments": arguments}}
    result = (await server.handle_request(request))["result"]
    assert (result["isError"], result["content"][0]["text"].splitlines()[0]) == (True, said)


def sample_plugin(**hooks):
    plugin = ModuleType("sample")
    plugin.zapomni_tools = hookimpl(specname="zapomni_tools")(lambda: [add, refuse, protest])
    for name, function in hooks.items():
        setattr(plugin, name, hookimpl(specname=name)(function))
    return plugin


@asynccontextmanager
async def started_app(plugin):
    """A started app, which withdraws a plugin whose lifespan fails, as a server does."""
    app = build_app(plugins=[Found("sample", plugin=plugin)])
    await app.start()
    yield app
    await app.stop()


@pytest.fixture
async def app():
    async with running(sample_plugin(), name="sample") as app:
        yield app


@pytest.mark.parametrize("mode", ERAS)
async def test_a_client_sees_tools_with_title_annotations_schemas_and_owner(app, mode):
    async with connected(app, mode=mode) as client:
        listed = (await client.list_tools()).tools
    assert [one.name for one in listed] == ["add", "refuse", "protest"]
    assert (listed[0].title, listed[0].annotations.read_only_hint) == ("Count up", True)
    assert listed[0].input_schema["required"] == ["a"]
    assert listed[0].output_schema["required"] == ["sum"]
    assert listed[0].meta == {"zapomni/plugin": "sample"}


@pytest.mark.parametrize("mode", ERAS)
async def test_a_client_calls_a_tool_and_receives_its_progress(app, mode):
    heard = []

    async def note(done, total, message):
        heard.append((done, total, message))

    async with connected(app, mode=mode) as client:
        result = await client.call_tool("add", {"a": 2}, progress_callback=note)
    assert (result.is_error, result.structured_content) == (False, {"sum": 3})
    assert result.content[0].text.startswith("3 for ")
    assert heard == [(1, 2, "half")]


@pytest.mark.parametrize("mode", ERAS)
async def test_a_refusal_is_a_result_and_an_unknown_tool_is_an_error_of_the_protocol(app, mode):
    async with connected(app, mode=mode) as client:
        refused = await client.call_tool("refuse", {"text": "x"})
        assert refused.is_error
        assert refused.content[0].text == "Error: No.\nTry another tool."
        assert refused.structured_content["suggestion"] == "Try another tool."
        with pytest.raises(MCPError, match=r"Unknown tool: ad; did you mean add\?") as unknown:
            await client.call_tool("ad", {})
        assert unknown.value.code == -32602


@pytest.mark.parametrize("mode", ERAS)
async def test_the_error_of_an_unknown_tool_carries_a_report_of_the_gap(app, mode):
    async with connected(app, mode=mode) as client:
        with pytest.raises(MCPError) as unknown:
            await client.call_tool("ad", {})
    report = dict(unknown.value.data)
    assert report.pop("nearest_tools") == ["add"]
    assert ToolGapReport.model_validate(report) == ToolGapReport(
        missing_tools=["ad"],
        attempted_task="call of ad",
        existing_tools_checked=["add", "refuse", "protest"],
        proposed_mcp_server=None,
    )


async def test_a_report_of_a_gap_repeats_only_the_beginning_of_a_long_name(app):
    server = MCPServer(app.app.engine, app=app.app)
    answer = await server.handle_request({"method": "tools/call", "params": {"name": "x" * 1000}})
    assert answer["error"]["data"]["missing_tools"] == ["x" * 100]
    assert answer["error"]["data"]["nearest_tools"] == []


@pytest.mark.parametrize("mode", ERAS)
async def test_an_error_of_the_protocol_that_a_tool_raises_on_purpose_passes_through(app, mode):
    async with connected(app, mode=mode) as client:
        with pytest.raises(MCPError) as error:
            await client.call_tool("protest", {})
    assert (error.value.code, error.value.message, error.value.data) == (-32050, "not today", {"why": "rain"})


async def test_a_handshake_announces_list_changes_and_instructions(app):
    async with connected(app, mode="legacy") as client:
        assert client.server_capabilities.tools.list_changed is True
        assert "Zapomni" in client.instructions
        assert client.server_info.name == "zapomni"


@pytest.mark.parametrize("is_served", [True, False])
async def test_the_instructions_have_the_sentence_of_a_tool_that_is_served(app, is_served):
    class Helpful:
        name = "helpful"
        description = "Help with whatever it is."
        input_schema: ClassVar = {"type": "object", "properties": {}}
        instructions = "Call helpful whenever help is needed."

        async def execute(self, arguments):
            return ToolResult.text("Helped.")

    if is_served:
        app.app.registry.register(Helpful())
    for mode in ERAS:
        async with connected(app, mode=mode) as client:
            assert ("Call helpful whenever help is needed." in client.instructions) is is_served


async def test_handle_request_answers_without_a_transport(app):
    server = MCPServer(app.app.engine, app=app.app)
    listed = await server.handle_request({"jsonrpc": "2.0", "id": "a", "method": "tools/list"})
    assert (listed["jsonrpc"], listed["id"], len(listed["result"]["tools"])) == ("2.0", "a", 3)
    request = {"method": "tools/call", "params": {"name": "add", "arguments": {"a": 1}}}
    answer = await server.handle_request(request)
    assert answer["result"]["isError"] is False
    assert answer["result"]["structuredContent"] == {"sum": 2}


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        ({}, -32600),
        ({"method": 5}, -32600),
        ({"method": "tools/list", "params": []}, -32600),
        ({"method": "nonsense"}, -32601),
        ({"method": "tools/call"}, -32602),
        ({"method": "tools/call", "params": {"name": "unknown"}}, -32602),
        ({"method": "tools/call", "params": {"name": "add", "arguments": "text"}}, -32602),
    ],
)
async def test_handle_request_answers_invalid_requests_with_an_error_of_the_protocol(app, request_, code):
    answer = await MCPServer(app.app.engine, app=app.app).handle_request({"id": 7, **request_})
    assert (answer["id"], answer["error"]["code"]) == (7, code)


def test_register_all_tools_registers_the_given_tools():
    server = MCPServer(core_engine=Mock(spec=MemoryEngine))
    server.register_all_tools([add, refuse])
    assert server.tools == [add, refuse]


def test_register_all_tools_without_tools_registers_those_of_the_installed_plugins():
    server = MCPServer(core_engine=MemoryEngine())
    server.register_all_tools()
    server.register_all_tools()
    assert "hello" in server._tools
    assert server.app.report.get("hello").state == "loaded"


class NumberedTool:
    description = "One of a thousand tools."

    def __init__(self, name):
        self.name = name
        self.input_schema = {"type": "object", "properties": {name: {"type": "string", "description": "Anything."}}}

    async def execute(self, _arguments):
        return ToolResult.text(self.name)


async def test_a_thousand_tools_of_a_hundred_plugins_are_listed_in_order_and_can_be_called():
    def plugin(number):
        module = ModuleType(f"plugin{number}")
        tools = [NumberedTool(f"tool_{number}_{one}") for one in range(10)]
        module.zapomni_tools = hookimpl(specname="zapomni_tools")(lambda: tools)
        return module

    server = MCPServer(core_engine=MemoryEngine())
    server.app.load([Found(f"plugin{number}", plugin=plugin(number)) for number in range(100)], strict=True)
    listed = (await server.handle_request({"method": "tools/list"}))["result"]["tools"]
    assert [one["name"] for one in listed] == [f"tool_{number}_{one}" for number in range(100) for one in range(10)]
    answer = await server.handle_request({"method": "tools/call", "params": {"name": "tool_99_9"}})
    assert answer["result"]["content"][0]["text"] == "tool_99_9"


@pytest.mark.parametrize("state", ["_running", "_shutting_down"])
@pytest.mark.parametrize("tools", [None, [], [add]])
def test_register_all_tools_is_not_allowed_once_the_server_has_started(state, tools):
    server = MCPServer(core_engine=Mock(spec=MemoryEngine))
    setattr(server, state, True)
    with pytest.raises(RuntimeError, match=r"started|shutting down"):
        server.register_all_tools(tools)
    assert server.tools == []


class Slotted:
    __slots__ = ()


@pytest.mark.parametrize("engine", [object(), Slotted(), Mock(), MagicMock(), Mock(spec=MemoryEngine), "engine"])
async def test_any_object_is_accepted_as_engine(engine):
    async with piped(add, engine=engine) as pipes:
        pipes.ask(id=1, method="tools/call", params={"name": "add", "arguments": {"a": 1}})
        pipes.end()
        await asyncio.wait_for(pipes.run, 20)
        assert pipes.answers()[-1]["result"]["structuredContent"] == {"sum": 2}


async def test_a_server_that_has_ended_cannot_run_again():
    async with piped(add) as pipes:
        pipes.end()
        await asyncio.wait_for(pipes.run, 20)
        with pytest.raises(RuntimeError, match="has ended"):
            await pipes.server.run()


async def test_a_server_that_runs_cannot_run_twice():
    server = MCPServer(core_engine=MemoryEngine())
    server._running = True
    with pytest.raises(RuntimeError, match="already running"):
        await server.run()


class Pipes:
    """Both ends of a server that runs on pipes in this process."""

    def __init__(self, server):
        self.server = server
        read_fd, self._to_server = os.pipe()
        self._from_server, write_fd = os.pipe()
        self._fds = {read_fd, self._from_server, write_fd}
        self.run = asyncio.create_task(server.run(Descriptors(read_fd, write_fd)))

    def ask(self, **message):
        os.write(self._to_server, json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def initialize(self):
        client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
        self.ask(id=0, method="initialize", params=client)
        self.ask(method="notifications/initialized")

    def end(self):
        os.close(self._to_server)

    def vanish(self):
        self.end()
        os.close(self._from_server)
        self._fds.remove(self._from_server)

    def close(self):
        for fd in self._fds:
            os.close(fd)

    def answers(self):
        return [json.loads(line) for line in os.read(self._from_server, 65536).splitlines()]


@asynccontextmanager
async def piped(*tools, engine=None):
    server = MCPServer(core_engine=engine or MemoryEngine())
    server.register_all_tools(tools)
    pipes = Pipes(server)
    pipes.initialize()
    try:
        yield pipes
    finally:
        await asyncio.wait_for(pipes.run, 20)
        pipes.close()


async def test_a_server_does_not_wait_for_a_call_that_ignores_cancellation(monkeypatch, caplog):
    monkeypatch.setattr("zapomni_mcp.stdio.DRAIN_SECONDS", 0.2)
    monkeypatch.setattr("zapomni_mcp.server.CANCEL_SECONDS", 0.05)
    monkeypatch.setattr("zapomni_core.dispatch.call.BEAT_SECONDS", 0.01)
    begun, release = asyncio.Event(), asyncio.Event()

    @tool
    async def stubborn() -> str:
        """Ignore that it is cancelled."""
        begun.set()
        while not release.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await release.wait()
        return ""

    async with piped(stubborn) as pipes:
        pipes.ask(id=1, method="tools/call", params={"name": "stubborn"})
        await asyncio.wait_for(begun.wait(), 20)
        pipes.end()
    [record] = [one for one in caplog.records if one.message == "calls_ignore_cancellation"]
    assert record.tools == ["stubborn"]
    assert not pipes.server._running
    release.set()


async def test_progress_extends_the_time_limit_without_a_progress_token(monkeypatch):
    limits = []
    begun, extended, waiting = asyncio.Event(), asyncio.Event(), asyncio.Event()

    def counted(seconds):
        if seconds == DRAIN_SECONDS:
            limits.append(seconds)
            waiting.set()
        return timeout(seconds)

    @tool
    async def long() -> str:
        """Work on, and say so."""
        begun.set()
        await waiting.wait()
        waiting.clear()
        await current_call().progress(1, 2)
        await waiting.wait()  # for another limit, which begins with the progress
        extended.set()
        return "finished"

    async with piped(long) as pipes:
        pipes.ask(id=1, method="tools/call", params={"name": "long"})
        await asyncio.wait_for(begun.wait(), 20)
        timeout = asyncio.timeout
        monkeypatch.setattr("zapomni_mcp.stdio.asyncio.timeout", counted)
        pipes.end()
        await asyncio.wait_for(extended.wait(), 20)
        await asyncio.wait_for(pipes.run, 20)
        answers = pipes.answers()
    assert answers[-1]["result"]["content"][0]["text"] == "finished"
    assert len(limits) == 2


@pytest.fixture
def busy():
    """A tool that reports progress forever, with events for its start and its end."""

    @tool
    async def busy() -> str:
        """Work on, and say so."""
        try:
            for done in count():
                await current_call().progress(done)
                busy.begun.set()
                await asyncio.sleep(0.01)
        finally:
            busy.ended.set()

    busy.begun, busy.ended = asyncio.Event(), asyncio.Event()
    return busy


@pytest.mark.parametrize("input_has_ended", [True, False])
async def test_a_signal_ends_the_server_while_a_call_reports_progress(busy, input_has_ended, monkeypatch):
    monkeypatch.setattr("zapomni_mcp.stdio.STOP_SECONDS", 0.1)
    async with piped(busy) as pipes:
        pipes.ask(id=1, method="tools/call", params={"name": "busy"})
        await asyncio.wait_for(busy.begun.wait(), 20)
        if input_has_ended:
            pipes.end()
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.wait_for(busy.ended.wait(), 20)
        await asyncio.wait_for(pipes.run, 20)
        assert pipes.answers()[-1]["error"]["message"] == "Connection closed"


async def test_a_call_of_a_disconnected_client_is_cancelled_even_while_it_reports_progress(busy, monkeypatch):
    monkeypatch.setattr("zapomni_mcp.stdio.DRAIN_SECONDS", 0.2)
    async with piped(busy) as pipes:
        pipes.ask(id=1, method="tools/call", params={"name": "busy"})
        await asyncio.wait_for(busy.begun.wait(), 20)
        pipes.vanish()
        await asyncio.wait_for(busy.ended.wait(), 20)


async def test_records_of_the_mcp_library_after_a_call_have_its_id():
    seen = []

    @tool
    async def look() -> str:
        """Note the id of the call."""
        seen.append(current_call().call.id)
        return "seen"

    server = MCPServer(core_engine=MemoryEngine())
    server.register_tool(look)

    async def serve():
        await server.handle_request({"method": "tools/call", "params": {"name": "look"}})
        return current_call_id()

    assert [await asyncio.create_task(serve())] == seen
    assert current_call_id() is None


async def test_the_text_of_an_exception_is_not_in_the_statistics_of_plugins():
    @asynccontextmanager
    async def ill():
        raise RuntimeError("hunter2")
        yield

    async with started_app(sample_plugin(zapomni_lifespan=ill)) as app:
        await app.ready()
        [report] = app.host_stats().plugins
        assert (report["state"], report["stage"], report["cause"]) == (
            "failed",
            "lifespan",
            "its lifespan raised RuntimeError",
        )
        assert "zapomni plugins disable sample" in report["fix"]
        assert "hunter2" not in json.dumps(report)
        assert "RuntimeError: hunter2" in app.report.get("sample").cause


async def test_tools_of_a_plugin_whose_lifespan_fails_are_withdrawn_from_a_connected_client():
    changes = asyncio.Event()
    fail = asyncio.Event()

    @asynccontextmanager
    async def ill():
        await fail.wait()
        raise RuntimeError("no port")
        yield

    async def notice(message):
        if getattr(message, "method", "") == "notifications/tools/list_changed":
            changes.set()

    from mcp import Client

    async with started_app(sample_plugin(zapomni_lifespan=lambda: ill())) as app:  # noqa: PLW0108
        server = MCPServer(app.engine, app=app)
        async with Client(server.server, mode="legacy", message_handler=notice) as client:
            assert len((await client.list_tools()).tools) == 3
            fail.set()
            await asyncio.wait_for(changes.wait(), 10)
            assert (await client.list_tools(cache_mode="refresh")).tools == []


async def test_calls_without_a_transport_are_refused_when_a_guard_could_not_start():
    class Guard:
        stage = "guard"

        async def __call__(self, call, call_next):
            return await call_next(call)

    @asynccontextmanager
    async def ill():
        raise RuntimeError("no port")
        yield

    plugin = ModuleType("ill")
    plugin.zapomni_middleware = hookimpl(specname="zapomni_middleware")(lambda: [Guard()])
    plugin.zapomni_lifespan = hookimpl(specname="zapomni_lifespan")(ill)
    app = build_app(plugins=[Found("ill", plugin=plugin)])
    server = MCPServer(app.engine, app=app)
    server.register_tool(add)
    answer = await server.handle_request({"method": "tools/call", "params": {"name": "add", "arguments": {"a": 2}}})
    assert answer["result"]["isError"]
    assert "zapomni plugins disable ill" in answer["result"]["content"][0]["text"]
    await app.stop()
