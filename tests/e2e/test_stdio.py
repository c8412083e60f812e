"""The server answers or ignores any input as the protocol says, and keeps serving."""

import json
import os
import threading
from collections import deque
from pathlib import Path

import pytest

from tests.e2e.stdio_server import HANDSHAKE, ZAPOMNI, eventually, text_of

pytestmark = pytest.mark.xdist_group("wire")

PARSE_ERROR, INVALID_REQUEST, UNKNOWN_METHOD, INVALID_PARAMS = -32700, -32600, -32601, -32602
HUNDRED_MB = 100_000_000
LIMIT = 128 * 2**20
MALFORMED = b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": []}}\n'
"""A notification that is dropped and logged."""
SLOW_TOOLS = Path(__file__).with_name("slow_tools.py")
SERVE = [ZAPOMNI, "serve", "--plugin", SLOW_TOOLS]


@pytest.fixture(scope="module")
def server(start_shared):
    """One server for all tests of this module."""
    server = start_shared(*SERVE)
    server.initialize()
    return server


@pytest.fixture
def fresh_server(start):
    return start(*SERVE)


@pytest.fixture(autouse=True)
def _serves_afterwards(request):
    """After every test, the shared server answers a normal call."""
    yield
    if "server" in request.fixturenames:
        assert_serves(request.getfixturevalue("server"))


def call(key, arguments):
    params = {"name": "hello", "arguments": arguments}
    return {"jsonrpc": "2.0", "id": key, "method": "tools/call", "params": params}


def error_of(answer):
    assert "error" in answer, answer
    return answer["error"]["code"]


def is_settled(sizes):
    """Whether a pipe holds data and has stopped growing."""
    return len(sizes) == sizes.maxlen and sizes[0] == sizes[-1] > 0


def assert_serves(server):
    assert text_of(server.call("hello", {"name": "Ada"})) == "Hello, Ada!"


class TestInvalidLines:
    def test_a_line_that_is_not_json_is_a_parse_error(self, server):
        server.send(b"this is no JSON\n")
        assert error_of(server.answer(None)) == PARSE_ERROR

    def test_half_a_message_is_a_parse_error(self, server):
        server.send(b'{"jsonrpc": "2.0", "id": 1,\n')
        assert error_of(server.answer(None)) == PARSE_ERROR

    def test_bytes_that_are_not_utf_8_are_a_parse_error(self, server):
        server.send(b'{"jsonrpc": "2.0", "id": "not utf-8", "method": "ping", "params": {"x": "\xff\xfe"}}\n')
        assert error_of(server.answer("not utf-8")) == PARSE_ERROR

    def test_a_lone_surrogate_is_a_parse_error_for_its_own_request(self, server):
        line = json.dumps(call("surrogate", {"name": "\ud800"})).encode()
        assert b"\\ud800" in line
        server.send(line + b"\n")
        answer = server.answer("surrogate")
        assert error_of(answer) == PARSE_ERROR
        assert answer["error"]["message"] == "Parse error: params.arguments.name must not contain lone surrogates"

    def test_a_batch_is_an_invalid_request(self, server):
        server.send(json.dumps([call("in a batch", {}), call("too", {})]).encode() + b"\n")
        assert error_of(server.answer(None)) == INVALID_REQUEST
        assert "in a batch" not in [message.get("id") for message in server.messages]

    def test_json_nested_ten_thousand_deep_is_refused(self, server):
        server.send(
            b'{"jsonrpc":"2.0","id":"deep","method":"ping","params":{"x":' + b"[" * 10_000 + b"]" * 10_000 + b"}}\n"
        )
        server.send(call("after the deep one", {}))
        server.answer("after the deep one")
        refused = [message for message in server.messages if message.get("id", "") in ("deep", None)]
        assert [error_of(message) for message in refused] == [PARSE_ERROR]
        server.messages.clear()

    def test_ten_thousand_open_brackets_are_a_parse_error(self, server):
        server.send(b"[" * 10_000 + b"\n")
        assert error_of(server.answer(None)) == PARSE_ERROR

    def test_a_json_value_that_is_not_an_object_is_an_invalid_request(self, server):
        for value in (b"null", b"17", b'"text"', b"{}"):
            server.send(value + b"\n")
            assert error_of(server.answer(None)) == INVALID_REQUEST

    def test_a_request_with_an_id_of_another_type_is_an_invalid_request(self, server):
        for key in (1.5, True, [1], {"a": 1}):
            server.send({"jsonrpc": "2.0", "id": key, "method": "ping"})
            assert error_of(server.answer(None)) == INVALID_REQUEST

    def test_blank_lines_and_carriage_returns_are_ignored(self, server):
        server.send(b"\n  \n\r\n" + json.dumps(call("with \\r", {})).encode() + b"\r\n")
        assert text_of(server.answer("with \\r")["result"]) == "Hello, world!"

    def test_unknown_notifications_and_unexpected_answers_are_ignored(self, server):
        server.send({"jsonrpc": "2.0", "method": "notifications/unheard_of"})
        server.send({"jsonrpc": "2.0", "id": 99_999, "result": {}})
        server.send({"jsonrpc": "2.0", "id": 99_998, "error": {"code": 1, "message": "no"}})
        assert_serves(server)
        assert server.messages == []


class TestLongLines:
    def test_a_call_of_a_hundred_megabytes_is_answered(self, server):
        name = "x" * HUNDRED_MB
        server.send(json.dumps(call("long", {"name": name})).encode() + b"\n", seconds=60)
        answer = server.answer("long", seconds=60)
        assert text_of(answer["result"]) == f"Hello, {name}!"

    def test_a_hundred_megabytes_of_garbage_are_a_parse_error(self, server):
        server.send(b"x" * HUNDRED_MB + b"\n", seconds=60)
        assert error_of(server.answer(None, seconds=60)) == PARSE_ERROR

    def test_a_line_over_the_limit_is_discarded_refused_and_logged(self, server):
        server.send(b"{" + b" " * LIMIT + b"}\n", seconds=60)
        assert error_of(server.answer(None, seconds=60)) == INVALID_REQUEST
        assert f"discarded a line of {LIMIT + 2} bytes" in server.log_text()


class TestRequests:
    def test_an_unknown_method_is_an_error(self, server):
        assert error_of(server.ask("memories/forget")) == UNKNOWN_METHOD

    def test_an_unknown_tool_is_a_protocol_error_that_names_the_nearest_one(self, server):
        answer = server.ask("tools/call", {"name": "helo", "arguments": {}})
        assert error_of(answer) == INVALID_PARAMS
        assert answer["error"]["message"] == "Unknown tool: helo; did you mean hello?"

    def test_arguments_must_be_an_object(self, server):
        assert error_of(server.ask("tools/call", {"name": "hello", "arguments": [1]})) == INVALID_PARAMS

    def test_ids_may_be_strings(self, server):
        for key in ("a", "0", "é 𝄞", "server-discover-probe-1"):
            assert text_of(server.call("hello", key=key)) == "Hello, world!"

    def test_a_cancelled_call_gets_no_answer_and_its_tool_is_cancelled(self, server, tmp_path):
        cancelled = server.request_call("slow", {"folder": str(tmp_path)}, key="cancelled")
        eventually((tmp_path / "turns").exists, "call in progress")
        server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": cancelled}})
        eventually((tmp_path / "cancelled").exists, "cancelled call")
        for _ in range(3):
            assert_serves(server)
        assert server.messages == []
        assert not (tmp_path / "finished").exists()

    def test_a_client_that_reads_late_gets_every_answer(self, server):
        calls = [call(f"unread {number}", {"name": f"{number} {'x' * 2000}"}) for number in range(1500)]
        sender = threading.Thread(target=lambda: [server.send(one) for one in calls], daemon=True)
        sender.start()
        sizes = deque(maxlen=10)
        eventually(lambda: sizes.append(server.unread_bytes) or is_settled(sizes), "pipe that is full")
        for one in calls:
            answer = server.answer(one["id"])
            assert text_of(answer["result"]) == f"Hello, {one['params']['arguments']['name']}!"
        sender.join()


class TestAClientThatDoesNotReadTheLog:
    def test_is_served(self, start, tmp_path):
        log = tmp_path / "log"
        os.mkfifo(log)
        unread = os.open(log, os.O_RDWR)
        try:
            server = start("sh", "-c", 'exec "$@" 2>"$0"', log, *SERVE)
            server.initialize()
            server.send(MALFORMED * 2000)
            assert_serves(server)
            assert server.close() == 0
        finally:
            os.close(unread)


class TestBeginningAndEnd:
    def test_a_call_before_the_handshake_is_refused_and_the_handshake_still_works(self, fresh_server):
        assert error_of(fresh_server.answer(fresh_server.request_call("hello"))) == INVALID_PARAMS
        fresh_server.initialize()
        assert_serves(fresh_server)

    def test_requests_before_the_end_of_input_are_answered_and_half_a_line_is_ignored(self, fresh_server):
        fresh_server.initialize()
        calls = [fresh_server.request_call("hello", {"name": str(number)}) for number in range(5)]
        fresh_server.send(b'{"jsonrpc": "2.0", "id": "half a li')
        assert fresh_server.close() == 0
        answers = {message["id"]: message for message in fresh_server.messages}
        assert [text_of(answers[key]["result"]) for key in calls] == [f"Hello, {number}!" for number in range(5)]
        assert error_of(answers[None]) == PARSE_ERROR

    def test_input_that_ended_before_the_server_was_ready_is_answered(self, fresh_server):
        """As in `printf ... | zapomni`, even where the last line lacks its newline."""
        fresh_server.request("initialize", HANDSHAKE, key=1)
        fresh_server.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        fresh_server.send(json.dumps(call(2, {})).encode())
        assert fresh_server.close() == 0
        assert [message["id"] for message in fresh_server.messages] == [1, 2]
