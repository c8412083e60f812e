import asyncio
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import tracemalloc
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
import mcp_types as types
import pytest
from mcp.server.lowlevel import Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage

from zapomni_mcp import jsonrpc, stdio
from zapomni_mcp.descriptors import Descriptors
from zapomni_mcp.jsonrpc import MAX_LINE_BYTES
from zapomni_mcp.stdio import open_stdio

ROOT = Path(__file__).parents[3]
PATIENCE = 20

PARSE_ERROR = {"code": -32700, "message": "Parse error"}
LONE_SURROGATE = {"code": -32700, "message": "Parse error: params.a must not contain lone surrogates"}
INVALID_REQUEST = {"code": -32600, "message": "Invalid request"}

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def request(key, method, **params):
    return {"jsonrpc": "2.0", "id": key, "method": method, "params": params}


def call(key, tool, **arguments):
    return request(key, "tools/call", name=tool, arguments=arguments)


def notification(**params):
    return SessionMessage(types.JSONRPCNotification(jsonrpc="2.0", method="notifications/test", params=params))


def encoded(*lines):
    return b"".join((line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n" for line in lines)


def write_all(fd, data):
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


class Tools:
    """A server with a tool that echoes, one that works for a while and one that works until it is released."""

    def __init__(self):
        self.started = asyncio.Event()
        self.release = asyncio.Event()
        self.finished = []
        self.server = Server(
            "test",
            version="1",
            on_call_tool=self.on_call,
            on_subscriptions_listen=ListenHandler(InMemorySubscriptionBus()),
        )
        self.server.add_request_handler("size", types.RequestParams, self.on_size)
        self.server.add_request_handler("fill", types.RequestParams, self.on_fill)

    async def on_call(self, ctx, params):
        arguments = params.arguments or {}
        text = await getattr(self, params.name)(ctx, **arguments)
        self.finished.append(params.name)
        return types.CallToolResult(content=[types.TextContent(text=text)])

    async def echo(self, ctx, text):
        return text

    async def slow(self, ctx):
        self.started.set()
        await asyncio.sleep(0.2)
        return "done"

    async def held(self, ctx):
        self.started.set()
        await self.release.wait()
        return "done"

    async def asking(self, ctx):
        self.started.set()
        try:
            await ctx.session.elicit_form(
                "Sure?", {"type": "object", "properties": {}}, related_request_id=ctx.request_id
            )
        except MCPError as error:
            return error.error.message
        return "answered"

    async def asking_late(self, ctx):
        await self.slow(ctx)
        return await self.asking(ctx)

    async def on_size(self, ctx, params):
        return {"size": len(ctx.params["blob"])}

    async def on_fill(self, ctx, params):
        return {"blob": "x" * ctx.params["size"]}


class Connection:
    """A client's two ends, and the server's two, as two pipes or as the two socket pairs Node makes."""

    def __init__(self, kind):
        if kind == "pipes":
            (server_in, self.input), (self.output, server_out) = os.pipe(), os.pipe()
        else:
            server_in, self.input, self.output, server_out = (
                end.detach() for end in (*socket.socketpair(), *socket.socketpair())
            )
        self.descriptors = Descriptors(server_in, server_out)
        self.stop = asyncio.Event()
        self.tools = Tools()
        self._open = {server_in, server_out, self.input, self.output}
        self._reader = self._transport = None
        self._threads_before = set(threading.enumerate())

    def streams(self):
        return open_stdio(self.descriptors, self.stop)

    async def _serve(self):
        async with self.streams() as streams:
            await self.tools.server.run(*streams, self.tools.server.create_initialization_options())

    @asynccontextmanager
    async def serving(self):
        """A task that serves; it ends by itself or, like a real server, on the stop event."""
        serving = asyncio.create_task(self._serve())
        try:
            yield serving
        finally:
            self.stop.set()
            self.tools.release.set()
            await asyncio.wait_for(serving, PATIENCE)

    @asynccontextmanager
    async def initialized(self):
        async with self.serving() as serving:
            await self.say(INITIALIZE, INITIALIZED)
            assert (await self.hear())["id"] == 0
            yield serving

    async def say(self, *lines):
        await self.say_bytes(encoded(*lines))

    async def say_bytes(self, data):
        await asyncio.wait_for(asyncio.to_thread(write_all, self.input, data), PATIENCE)

    async def hear(self):
        return json.loads(await self.hear_line())

    async def hear_line(self):
        reader = await self._reading()
        return await asyncio.wait_for(reader.readline(), PATIENCE)

    async def hear_rest(self):
        """All remaining messages, after serving has ended."""
        self.close(self.descriptors.write_fd)
        reader = await self._reading()
        return [json.loads(line) for line in (await asyncio.wait_for(reader.read(), PATIENCE)).splitlines()]

    async def _reading(self):
        if self._reader is None:
            self._reader = asyncio.StreamReader(limit=2**28)
            self._open.discard(self.output)
            self._transport, _ = await asyncio.get_running_loop().connect_read_pipe(
                lambda: asyncio.StreamReaderProtocol(self._reader), os.fdopen(self.output, "rb", 0)
            )
        return self._reader

    def close(self, *fds):
        for fd in fds:
            if fd in self._open:
                self._open.discard(fd)
                os.close(fd)

    async def aclose(self):
        self.close(self.input, self.output)
        if self._transport is not None:
            self._transport.close()
        await asyncio.wait_for(until(self._no_thread_is_left), PATIENCE)
        self.close(*self._open.copy())

    def _no_thread_is_left(self):
        """Whether all threads have ended; a remaining one could use a descriptor that was closed and reused."""
        started = set(threading.enumerate()) - self._threads_before
        return not any(thread.name.startswith("zapomni-") for thread in started)


async def until(condition):
    while not condition():
        await many_turns(1)


async def many_turns(count=2000):
    """Yields to the event loop `count` times, without waiting for a clock."""
    for _ in range(count):
        await asyncio.sleep(0)


@pytest.fixture(params=["pipes", "sockets"])
async def client(request):
    connection = Connection(request.param)
    yield connection
    await connection.aclose()


pipes_only = pytest.mark.parametrize("client", ["pipes"], indirect=True)


async def test_a_request_is_answered(client):
    async with client.initialized():
        await client.say(call(1, "echo", text="память"))
        assert (await client.hear())["result"]["content"] == [{"type": "text", "text": "память"}]


async def test_windows_line_ends_and_blank_lines_are_accepted(client):
    async with client.initialized():
        await client.say_bytes(b"\r\n\n   \n" + json.dumps(request("a", "ping")).encode() + b"\r\n\n")
        assert (await client.hear())["id"] == "a"


async def test_a_line_may_come_in_pieces_and_several_in_one(client):
    async with client.initialized():
        data = encoded(*(request(key, "ping") for key in range(3)))
        await client.say_bytes(data[:20])
        await client.say_bytes(data[20:])
        assert {(await client.hear())["id"] for _ in range(3)} == {0, 1, 2}


DEEP = b"[" * 300 + b"]" * 300


@pytest.mark.parametrize(
    ("line", "error", "key"),
    [
        (b"secret {", PARSE_ERROR, None),
        (b'{"jsonrpc":"2.0","id":5,"method":"ping"', PARSE_ERROR, None),
        (b'{"jsonrpc":"2.0","id":5,"method":"ping","params":{"a":"\xff"}}', PARSE_ERROR, 5),
        (b'{"jsonrpc":"2.0","id":"\xff","method":"ping"}', PARSE_ERROR, None),
        (b'{"jsonrpc":"2.0","id":5,"method":"ping","params":{"a":"\\ud800"}}', LONE_SURROGATE, 5),
        (b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}', PARSE_ERROR, None),
        (b'{"jsonrpc":"2.0","id":"five","method":"ping","params":{"a":' + DEEP + b"}}", PARSE_ERROR, "five"),
        (b"[" * 100_000, PARSE_ERROR, None),
        (b"9" * 5000, PARSE_ERROR, None),
        (b"[]", INVALID_REQUEST, None),
        (b'[{"jsonrpc":"2.0","id":5,"method":"ping"}]', INVALID_REQUEST, None),
        (b'"secret"', INVALID_REQUEST, None),
        (b"{}", INVALID_REQUEST, None),
        (b'{"id":5,"method":"ping"}', INVALID_REQUEST, 5),
        (b'{"jsonrpc":"1.0","id":"five","method":"ping"}', INVALID_REQUEST, "five"),
        (b'{"jsonrpc":"2.0","id":5}', INVALID_REQUEST, 5),
        (b'{"jsonrpc":"2.0","id":5,"method":"ping","params":["secret"]}', INVALID_REQUEST, 5),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping","params":["secret"]}', INVALID_REQUEST, None),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', INVALID_REQUEST, None),
        (b'{"jsonrpc":"2.0","method":5}', INVALID_REQUEST, None),
        (b'{"method":"ping"}', INVALID_REQUEST, None),
    ],
)
async def test_an_invalid_line_is_refused_and_serving_continues(client, line, error, key):
    async with client.initialized():
        await client.say(line, request(9, "ping"))
        assert await client.hear() == {"jsonrpc": "2.0", "id": key, "error": error}
        assert (await client.hear())["id"] == 9


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","method":"notifications/x","params":[1]}',
        b'{"jsonrpc":"2.0","method":"notifications/x","params":{"a":"\\ud800"}}',
        b'{"jsonrpc":"2.0","id":null,"method":"notifications/initialized"}',
        b'{"jsonrpc":"2.0","id":9,"result":"not an object"}',
        b'{"jsonrpc":"2.0","id":9,"result":{"a":"\\ud800"}}',
        b'{"jsonrpc":"2.0","id":9,"error":"not an object"}',
    ],
)
async def test_invalid_notifications_and_responses_get_no_answer(client, line):
    async with client.initialized():
        await client.say(line, request(9, "ping"))
        assert await client.hear() == {"jsonrpc": "2.0", "id": 9, "result": {}}


async def test_a_refused_line_with_the_id_of_a_pending_request_does_not_replace_its_answer(client):
    async with client.initialized() as serving:
        await client.say(call(1, "slow"), {"id": 1, "method": "ping"})
        assert (await client.hear())["error"] == INVALID_REQUEST
        client.close(client.input)
        assert (await client.hear())["result"]["content"][0]["text"] == "done"
        await asyncio.wait_for(serving, PATIENCE)


async def test_a_refused_line_does_not_choose_the_protocol_version(client):
    async with client.serving():
        await client.say(b"garbage", INITIALIZE)
        assert (await client.hear())["error"] == PARSE_ERROR
        assert (await client.hear())["result"]["protocolVersion"] == "2025-11-25"


@pipes_only
async def test_a_line_over_the_limit_is_discarded_and_serving_continues(client, caplog):
    async with client.initialized():
        await client.say_bytes(b"s" * (MAX_LINE_BYTES + 1) + b"\n")
        await client.say(request(1, "ping"))
        assert await client.hear() == {"jsonrpc": "2.0", "id": None, "error": INVALID_REQUEST}
        assert (await client.hear())["id"] == 1
    (record,) = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert str(MAX_LINE_BYTES + 1) in record.getMessage()
    assert "sss" not in caplog.text


def test_a_line_over_the_limit_is_not_kept_in_memory(monkeypatch):
    monkeypatch.setattr(jsonrpc, "MAX_LINE_BYTES", 2**20)
    lines, piece = jsonrpc.LineSplitter(), bytes(2**16)
    tracemalloc.start()
    for _ in range(1000):
        assert lines.feed(piece) == []
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * 2**20


def test_a_line_of_exactly_the_limit_is_kept(monkeypatch):
    monkeypatch.setattr(jsonrpc, "MAX_LINE_BYTES", 4)
    assert jsonrpc.LineSplitter().feed(b"1234\n12345\n1234\n") == [b"1234", b"[]", b"1234"]


@pipes_only
async def test_a_line_of_a_hundred_megabytes_is_served(client):
    async with client.initialized():
        await client.say(request(1, "size", blob="x" * 100_000_000))
        assert (await client.hear())["result"] == {"size": 100_000_000}


async def test_an_answer_of_many_megabytes_arrives_whole(client):
    async with client.initialized():
        await client.say(request(1, "fill", size=30_000_000), request(2, "ping"))
        answers = [await client.hear(), await client.hear()]
        assert {answer["id"]: len(answer["result"].get("blob", "")) for answer in answers} == {1: 30_000_000, 2: 0}


async def test_a_last_line_without_a_newline_is_served(client):
    async with client.initialized() as serving:
        await client.say_bytes(json.dumps(request(1, "ping")).encode())
        client.close(client.input)
        assert (await client.hear())["id"] == 1
        await asyncio.wait_for(serving, PATIENCE)


async def test_a_last_line_that_is_cut_short_is_refused(client):
    async with client.initialized() as serving:
        await client.say_bytes(b'{"jsonrpc":"2.0","id":1,"meth')
        client.close(client.input)
        assert (await client.hear())["error"] == PARSE_ERROR
        await asyncio.wait_for(serving, PATIENCE)


@pytest.mark.parametrize("end", ["end of input", "stop"])
async def test_requests_are_answered_before_serving_ends(client, end):
    async with client.initialized() as serving:
        await client.say(call(1, "slow"), call(2, "slow"), call(3, "echo", text="x"))
        await asyncio.wait_for(client.tools.started.wait(), PATIENCE)
        client.close(client.input) if end == "end of input" else client.stop.set()
        await asyncio.wait_for(serving, PATIENCE)
        answers = await client.hear_rest()
        assert sorted(answer["id"] for answer in answers if "result" in answer) == [1, 2, 3]


async def test_a_whole_session_sent_at_once_is_answered(client):
    async with client.serving() as serving:
        await client.say(INITIALIZE, INITIALIZED, call(1, "echo", text="x"), call(2, "slow"), request(3, "ping"))
        client.close(client.input)
        await asyncio.wait_for(serving, PATIENCE)
        assert sorted(answer["id"] for answer in await client.hear_rest() if "result" in answer) == [0, 1, 2, 3]


async def test_input_that_ends_at_once_ends_serving(client):
    async with client.serving() as serving:
        client.close(client.input)
        await asyncio.wait_for(serving, PATIENCE)


async def test_a_stop_before_the_first_line_ends_serving(client):
    client.stop.set()
    async with client.serving() as serving:
        await asyncio.wait_for(serving, PATIENCE)


async def test_nothing_is_read_after_a_stop(client):
    async with client.initialized() as serving:
        await client.say(call(1, "held"))
        await asyncio.wait_for(client.tools.started.wait(), PATIENCE)
        client.stop.set()
        await many_turns(10)
        await client.say(call(2, "echo", text="late"))
        await many_turns()
        client.tools.release.set()
        await asyncio.wait_for(serving, PATIENCE)
        assert [answer["id"] for answer in await client.hear_rest()] == [1]


async def test_an_incomplete_line_is_discarded_at_a_stop(client):
    async with client.initialized() as serving:
        await client.say_bytes(encoded(request(1, "ping")) + b'{"jsonrpc"')
        assert (await client.hear())["id"] == 1
        client.stop.set()
        await asyncio.wait_for(serving, PATIENCE)
        assert await client.hear_rest() == []


@pytest.mark.parametrize("cancelled", [7, "7"])
async def test_a_cancelled_request_is_not_waited_for(client, cancelled):
    async with client.initialized() as serving:
        await client.say(call(7, "held"))
        await asyncio.wait_for(client.tools.started.wait(), PATIENCE)
        await client.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": cancelled}})
        client.close(client.input)
        await asyncio.wait_for(serving, PATIENCE)
        assert await client.hear_rest() == []


async def test_an_open_ended_subscription_is_not_waited_for(client):
    async with client.serving() as serving:
        listen = request(1, "subscriptions/listen", notifications={"toolsListChanged": True}, _meta=ENVELOPE)
        await client.say(listen)
        assert (await client.hear())["method"] == "notifications/subscriptions/acknowledged"
        client.close(client.input)
        await asyncio.wait_for(serving, PATIENCE)


async def test_one_id_used_twice_gets_both_answers(client):
    async with client.initialized() as serving:
        await client.say(call(1, "slow"), call("1", "slow"), call(1, "echo", text="x"))
        client.close(client.input)
        await asyncio.wait_for(serving, PATIENCE)
        assert [answer["id"] for answer in await client.hear_rest() if "result" in answer] in ([1, 1, "1"], [1, "1", 1])


async def test_one_id_used_twice_and_cancelled_once_does_not_hang(client):
    async with client.initialized() as serving:
        await client.say(call(1, "held"), call(1, "held"))
        await asyncio.wait_for(client.tools.started.wait(), PATIENCE)
        await client.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
        client.close(client.input)
        client.tools.release.set()
        await asyncio.wait_for(serving, PATIENCE)


async def test_a_request_that_is_never_answered_is_abandoned_after_the_drain_limit(client, monkeypatch, caplog):
    monkeypatch.setattr(stdio, "DRAIN_SECONDS", 0.05)
    async with client.initialized() as serving:
        await client.say(call(1, "held"))
        await asyncio.wait_for(client.tools.started.wait(), PATIENCE)
        client.close(client.input)
        await asyncio.wait_for(serving, PATIENCE)
        assert [answer["error"]["code"] for answer in await client.hear_rest()] == [types.CONNECTION_CLOSED]
    assert "1 requests unanswered" in caplog.text


async def test_a_pending_request_to_the_client_fails_at_the_end_of_input(client):
    async with client.initialized() as serving:
        await client.say(call(1, "asking"))
        assert (await client.hear())["method"] == "elicitation/create"
        client.close(client.input)
        assert (await client.hear())["result"]["content"][0]["text"] == "Connection closed"
        await asyncio.wait_for(serving, PATIENCE)


async def test_a_request_to_the_client_after_the_end_of_input_fails(client):
    async with client.initialized() as serving:
        await client.say(call(1, "asking_late"))
        client.close(client.input)
        assert (await client.hear())["method"] == "elicitation/create"
        assert (await client.hear())["result"]["content"][0]["text"] == "Connection closed"
        await asyncio.wait_for(serving, PATIENCE)


async def test_a_tool_that_asks_the_client_gets_its_answer(client):
    async with client.initialized():
        await client.say(call(1, "asking"))
        question = await client.hear()
        await client.say({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}})
        assert (await client.hear())["result"]["content"][0]["text"] == "answered"


async def test_an_answer_that_json_cannot_hold_becomes_an_internal_error(client, caplog):
    async def surrogate(ctx, params):
        return {"text": "\ud800"}

    client.tools.server.add_request_handler("surrogate", types.RequestParams, surrogate)
    async with client.initialized():
        await client.say(request("a", "surrogate"), request("b", "ping"))
        answers = {answer["id"]: answer for answer in (await client.hear(), await client.hear())}
    assert answers["a"]["error"] == {"code": -32603, "message": "Internal error"}
    assert answers["b"]["result"] == {}
    assert any(record.exc_info for record in caplog.records if record.name == "zapomni.transport")


async def test_a_notification_that_json_cannot_hold_is_dropped(client, caplog):
    async with client.streams() as (_, writer):
        await writer.send(notification(text="\ud800"))
        await writer.send(notification(text="fine"))
        assert (await client.hear())["params"] == {"text": "fine"}
    assert any(record.exc_info for record in caplog.records if record.name == "zapomni.transport")


async def test_a_request_of_the_server_that_json_cannot_hold_fails_where_it_is_made(client):
    async with client.streams() as (_, writer):
        with pytest.raises(ValueError, match="surrogates"):
            await writer.send(
                SessionMessage(types.JSONRPCRequest(jsonrpc="2.0", id=1, method="x", params={"text": "\ud800"}))
            )


async def test_lines_sent_at_the_same_time_arrive_whole_and_in_order(client):
    async def send(writer, sender):
        for number in range(20):
            await writer.send(notification(sender=sender, number=number, filling="x" * 50_000))

    async with client.streams() as (_, writer), asyncio.TaskGroup() as group:
        for sender in range(5):
            group.create_task(send(writer, sender))
        heard = [(await client.hear())["params"] for _ in range(100)]
    for sender in range(5):
        assert [params["number"] for params in heard if params["sender"] == sender] == list(range(20))


async def test_a_client_that_does_not_read_blocks_only_the_sender(client):
    sent = []

    async def send(writer):
        for number in range(100):
            await writer.send(notification(number=number, filling="x" * 250_000))
            sent.append(number)

    async with client.streams() as (_, writer), asyncio.TaskGroup() as group:
        group.create_task(send(writer))
        await many_turns()
        assert len(sent) < 10
        assert [(await client.hear())["params"]["number"] for _ in range(100)] == list(range(100))


async def test_cancelling_a_waiting_sender_does_not_split_a_line(client):
    async with client.streams() as (_, writer):
        for number in range(5):
            sender = asyncio.create_task(writer.send(notification(number=number, filling="x" * 2**21)))
            await many_turns(50)
            sender.cancel()
            with suppress(asyncio.CancelledError):
                await sender
        reading = asyncio.create_task(client.hear())
        await writer.send(notification(number="last"))
        heard = [(await reading)["params"]["number"]]
        while heard[-1] != "last":
            heard.append((await client.hear())["params"]["number"])
    assert heard == sorted(heard, key=str)


async def test_calls_in_progress_finish_after_the_client_stopped_reading(client, caplog, capfd):
    async with client.initialized() as serving:
        await client.say(call(1, "held"))
        await asyncio.wait_for(client.tools.started.wait(), PATIENCE)
        client._transport.close()
        await asyncio.sleep(0)
        await client.say(call(2, "echo", text="x"))
        await asyncio.wait_for(until(lambda: client.tools.finished == ["echo"]), PATIENCE)
        client.tools.release.set()
        await asyncio.wait_for(serving, PATIENCE)
    assert client.tools.finished == ["echo", "held"]
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []
    assert capfd.readouterr().err == ""


async def test_pending_messages_are_sent_before_the_streams_close(client):
    async def leave():
        async with client.streams() as (_, writer):
            for number in range(3):
                await writer.send(notification(number=number, filling="x" * 300_000))

    leaving = asyncio.create_task(leave())
    assert [(await client.hear())["params"]["number"] for _ in range(3)] == [0, 1, 2]
    await asyncio.wait_for(leaving, PATIENCE)


async def test_a_client_that_never_reads_does_not_block_shutdown(client, monkeypatch):
    monkeypatch.setattr(stdio, "FLUSH_SECONDS", 0.05)
    async with client.initialized() as serving:
        await client.say(*(request(key, "fill", size=3_000_000) for key in range(5)), *[b"garbage"] * 50)
        await many_turns()
        client.stop.set()
        await asyncio.wait_for(serving, PATIENCE)


async def test_reading_stops_for_a_client_that_sends_garbage_and_never_reads(client, monkeypatch):
    monkeypatch.setattr(stdio, "FLUSH_SECONDS", 0.05)
    os.set_blocking(client.input, False)
    async with client.serving() as serving:
        await flood(client.input, (b"g" * 63 + b"\n") * 1024)
        assert not serving.done()
        client.stop.set()
        await asyncio.wait_for(serving, PATIENCE)


async def flood(fd, data):
    """Writes until the other side stops reading; returns the number of bytes it took."""
    taken = refused = 0
    while refused < 2000:
        assert taken < 64 * 2**20
        try:
            taken += os.write(fd, data)
            refused = 0
        except BlockingIOError:
            refused += 1
        await asyncio.sleep(0)
    return taken


async def test_reading_pauses_while_messages_are_not_consumed(client):
    os.set_blocking(client.input, False)
    line = encoded(request(1, "ping", filling="x" * 900))
    async with client.streams() as (reader, _):
        taken = await flood(client.input, line)
        assert taken < 4 * 2**20
        client.close(client.input)
        count = 0
        while count < taken // len(line):
            await asyncio.wait_for(reader.receive(), PATIENCE)
            count += 1


async def test_one_socket_may_serve_both_directions():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        async with open_stdio(Descriptors(ours.fileno(), ours.fileno()), asyncio.Event()) as (reader, writer):
            theirs.sendall(encoded(request(1, "ping")))
            assert (await asyncio.wait_for(reader.receive(), PATIENCE)).message.id == 1
            await writer.send(notification(text="x"))
        assert json.loads(theirs.recv(1000))["params"] == {"text": "x"}


async def test_a_client_that_vanishes_with_answers_unread_ends_the_input(caplog):
    ours, theirs = socket.socketpair()
    with ours:
        async with open_stdio(Descriptors(ours.fileno(), ours.fileno()), asyncio.Event()) as (reader, writer):
            await writer.send(notification(text="unread"))
            theirs.close()
            with pytest.raises(anyio.EndOfStream):
                await asyncio.wait_for(reader.receive(), PATIENCE)
    assert caplog.records == []


@pipes_only
async def test_non_blocking_descriptors_work(client):
    os.set_blocking(client.descriptors.read_fd, False)
    os.set_blocking(client.descriptors.write_fd, False)
    async with client.initialized():
        await many_turns()
        client._transport.pause_reading()
        await client.say(request(1, "fill", size=1_000_000))
        await many_turns()
        client._transport.resume_reading()
        assert len((await client.hear())["result"]["blob"]) == 1_000_000


async def test_files_are_served_to_their_end(tmp_path):
    (tmp_path / "in").write_bytes(encoded(INITIALIZE, INITIALIZED, request(1, "ping"), call(2, "slow")))
    tools = Tools()
    with (tmp_path / "in").open("rb") as source, (tmp_path / "out").open("wb") as target:
        async with open_stdio(Descriptors(source.fileno(), target.fileno()), asyncio.Event()) as streams:
            await tools.server.run(*streams, tools.server.create_initialization_options())
    assert [json.loads(line)["id"] for line in (tmp_path / "out").read_bytes().splitlines()] == [0, 1, 2]


async def test_a_closed_stream_raises_closed_resource_error(client):
    async with client.streams() as (reader, writer):
        waiting = asyncio.create_task(reader.receive())
        await many_turns(10)
        await reader.aclose()
        await writer.aclose()
        with pytest.raises(anyio.ClosedResourceError):
            await asyncio.wait_for(waiting, PATIENCE)
        with pytest.raises(anyio.ClosedResourceError):
            await anext(reader)
        with pytest.raises(anyio.ClosedResourceError):
            await writer.send(notification())


async def test_an_ended_stream_raises_end_of_stream(client):
    client.close(client.input)
    async with client.streams() as (reader, _):
        with pytest.raises(anyio.EndOfStream):
            await asyncio.wait_for(reader.receive(), PATIENCE)
        with pytest.raises(StopAsyncIteration):
            await asyncio.wait_for(anext(reader), PATIENCE)


async def test_being_cancelled_ends_serving(client):
    serving = asyncio.create_task(client._serve())
    await client.say(INITIALIZE)
    assert (await client.hear())["id"] == 0
    serving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(serving, PATIENCE)


SERVER = """
import asyncio, signal, sys
from zapomni_mcp.descriptors import claim_stdio
fds = claim_stdio()
from mcp.server.lowlevel import Server
from zapomni_mcp.stdio import open_stdio

async def main():
    stop, server = asyncio.Event(), Server("test", version="1")
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    async with open_stdio(fds, stop) as streams:
        print("serving")
        await server.run(*streams, server.create_initialization_options())

asyncio.run(main())
"""


def test_a_process_ends_on_a_signal_while_its_input_is_open():
    command = [sys.executable, "-W", "error", "-c", SERVER]
    with subprocess.Popen(command, cwd=ROOT, stdin=-1, stdout=-1, stderr=-1) as process:
        assert process.stderr.readline() == b"serving\n"
        process.stdin.write(encoded(INITIALIZE))
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["id"] == 0
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
        assert (process.stdout.read(), process.stderr.read()) == (b"", b"")


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"text": "\ud800"}, "params.arguments.text"),
        ({"text": "fine", "metadata": {"tags": ["a", "\udfff"]}}, "params.arguments.metadata.tags[1]"),
        ({"metadata": {"\ud800": 1}}, "params.arguments.metadata"),
    ],
)
def test_a_lone_surrogate_is_refused_with_its_field(arguments, field):
    params = {"name": "add_memory", "arguments": arguments}
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    answer = jsonrpc.refusal(line, jsonrpc.parse(line))
    assert (answer.id, answer.error.code) == (1, -32700)
    assert answer.error.message == f"Parse error: {field} must not contain lone surrogates"


@pytest.mark.parametrize("depth", [400, 100_000])
def test_a_deeply_nested_lone_surrogate_is_refused(depth):
    line = (
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":' + b"[" * depth + b'"\\ud800"' + b"]" * depth + b"}}"
    )
    assert jsonrpc.parse(line).message.startswith("Parse error")
