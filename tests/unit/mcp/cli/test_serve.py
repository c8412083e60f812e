"""`zapomni serve` in a separate process, as a client starts it."""

import asyncio
import json
import os
import pty
import signal
import subprocess
import sys

import pytest

from tests.servers import free_port
from zapomni_core.testing.samples import put, sample_memory
from zapomni_db.sqlite import SQLiteStore

from .conftest import broken, finish, shown_on_a_terminal

HANDSHAKE = [
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
]


def session(*calls):
    """The requests of a client that calls tools without arguments."""
    requests = [
        {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": name, "arguments": {}}}
        for number, name in enumerate(calls, start=2)
    ]
    return "".join(json.dumps(message) + "\n" for message in [*HANDSHAKE, *requests])


def texts(output):
    messages = map(json.loads, output.splitlines())
    return {message["id"]: message["result"]["content"][0]["text"] for message in messages if message.get("id", 0) > 1}


def wait_until_started(process):
    for line in process.stderr:
        if '"event": "started"' in line:
            return json.loads(line)
    raise AssertionError("the server did not start")


def test_a_client_is_served_until_its_input_ends(start):
    code, output, _ = finish(start("serve"), session("hello"))
    assert code == 0
    assert texts(output) == {2: "Hello, world!"}


def test_python_m_zapomni_mcp_server_serves(tmp_path):
    line = [sys.executable, "-m", "zapomni_mcp.server"]
    result = subprocess.run(line, input=session("hello"), capture_output=True, text=True, cwd=tmp_path, check=True)
    assert texts(result.stdout) == {2: "Hello, world!"}


def test_python_m_zapomni_mcp_server_takes_the_options_of_serve(tmp_path):
    command = [sys.executable, "-m", "zapomni_mcp.server", "--nonsense"]
    done = subprocess.run(command, input="", capture_output=True, text=True, cwd=tmp_path, check=False, timeout=60)
    assert done.returncode == 2
    assert "--nonsense" in done.stderr


@pytest.mark.usefixtures("measured_programs")
def test_output_of_a_plugin_does_not_reach_the_client(start):
    code, output, errors = finish(start("serve", "--plugin", broken("prints_at_import")), session("noisy"))
    assert code == 0
    assert texts(output) == {2: "quiet"}
    assert "written to the descriptor at import" in errors
    assert "written to the descriptor in a call" in errors


def test_the_startup_line_names_the_plugins(start):
    _, _, errors = finish(start("serve"))
    lines = map(json.loads, errors.splitlines())
    (line,) = (line for line in lines if line["event"] != "plugin_warning")  # on a slow machine imports take long
    assert (line["event"], line["version"]) == ("started", "0.1.0")
    assert {"hello 0.1.0", "audit 0.1.0"} <= set(line["plugins"])
    assert "failed" not in line


@pytest.mark.usefixtures("measured_programs")
def test_on_a_terminal_the_log_is_readable(start, monkeypatch):
    monkeypatch.setenv("LOG_LEVEL", "INFO")
    shown = shown_on_a_terminal(start, "serve", given=session("add_memory"))
    assert "INFO configuration" in shown
    assert "INFO started version=0.1.0" in shown
    assert "WARNING validation_error" in shown
    assert [line for line in shown.splitlines() if line.startswith("{")] == []


def test_the_startup_line_counts_failed_plugins(start, installed):
    installed("fails_at_start", "import nothing_of_that_name")
    _, _, errors = finish(start("serve"))
    line = json.loads(errors.splitlines()[-1])
    assert (line["failed"], line["fix"]) == (1, "run: zapomni doctor")


def test_the_configuration_is_logged_at_info_without_secrets(start, monkeypatch):
    monkeypatch.setenv("ZAPOMNI_LOG_LEVEL", "INFO")
    monkeypatch.setenv("ZAPOMNI_LLM__API_KEY", "sesame")
    monkeypatch.setenv("ZAPOMNI_PLUGINS__HELLO__GREETING", "only-the-plugin-knows")
    _, _, errors = finish(start("serve"))
    assert "sesame" not in errors
    assert "only-the-plugin-knows" not in errors
    (line,) = [line for line in map(json.loads, errors.splitlines()) if line["event"] == "configuration"]
    assert line["settings"]["log_level"] == "INFO"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_exits_with_0(start, number):
    process = start("serve")
    wait_until_started(process)
    process.stdin.write(session())
    process.stdin.flush()
    process.stdout.readline()
    process.send_signal(number)
    assert process.wait(30) == 0


@pytest.mark.usefixtures("measured_programs")
def test_invalid_settings_exit_with_2_and_no_traceback(start, settings_file):
    settings_file("store = 'nonsense'")
    code, output, errors = finish(start("serve"))
    assert (code, output) == (2, "")
    assert errors.startswith("Error: store")
    assert "Traceback" not in errors


def test_a_missing_model_provider_exits_with_2(start, monkeypatch):
    monkeypatch.setenv("ZAPOMNI_EXTRACTOR", "llm")
    code, out, err = finish(start("serve"))
    assert (code, out) == (2, "")
    assert "llm.provider is not set" in err


@pytest.mark.parametrize(
    ("more", "warnings"),
    [({}, ["LLM API key is invalid. Check your OPENAI_API_KEY."]), ({"LLM__BASE_URL": "http://localhost:1/v1"}, [])],
    ids=["openai", "a server of one's own"],
)
def test_a_missing_key_is_one_warning_at_the_start_unless_the_endpoint_may_not_need_it(
    start, monkeypatch, more, warnings
):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    for name, value in {"EXTRACTOR": "llm", "LLM__PROVIDER": "openai", "LLM__MODEL": "wise", **more}.items():
        monkeypatch.setenv(f"ZAPOMNI_{name}", value)
    code, output, errors = finish(start("serve"), session("hello"))
    lines = [json.loads(line) for line in errors.splitlines()]
    assert (code, texts(output)) == (0, {2: "Hello, world!"})
    logged = [line for line in lines if line["event"] == "language_model_not_asked"]
    assert [(line["level"], line["problem"]) for line in logged] == [("warning", problem) for problem in warnings]
    assert all(line["fix"] == "run: zapomni doctor" for line in logged)


@pytest.mark.usefixtures("measured_programs")
def test_a_required_plugin_that_cannot_start_exits_with_1_and_reports_why(start, plugin_file, settings_file):
    settings_file('[plugins]\nrequire = ["no_database"]')
    file = plugin_file(
        "no_database",
        """
        from contextlib import asynccontextmanager

        @asynccontextmanager
        async def lifespan():
            raise ConnectionError("connection refused")
            yield

        @hookimpl
        def zapomni_lifespan():
            return lifespan()
        """,
    )
    process = start("serve", "--plugin", file)
    assert process.wait(30) == 1
    errors = process.stderr.read()
    assert "Error: plugin 'no_database' failed at lifespan" in errors
    assert "plugins.require" in errors


def test_the_server_exits_while_threads_of_a_plugin_are_running(start, plugin_file):
    file = plugin_file(
        "leaves_threads",
        """
        import asyncio, threading, time

        @tool
        async def leave_threads() -> str:
            "Start threads and forget them."
            threading.Thread(target=time.sleep, args=[600]).start()
            asyncio.get_running_loop().run_in_executor(None, time.sleep, 600)
            return "left"

        @hookimpl
        def zapomni_tools():
            return [leave_threads]
        """,
    )
    code, output, _ = finish(start("serve", "--plugin", file), session("leave_threads"))
    assert code == 0
    assert texts(output) == {2: "left"}


@pytest.mark.usefixtures("measured_programs")
def test_on_a_terminal_the_server_says_that_it_waits_for_a_client(start):
    master, terminal = pty.openpty()
    process = start("serve", stdin=terminal)
    os.close(terminal)
    wait_until_started(process)
    assert "MCP client" in process.stderr.readline()
    os.write(master, b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
    assert json.loads(process.stdout.readline())["id"] == 1
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 0
    os.close(master)


def test_memories_left_in_the_default_store_are_reported_when_a_variable_selects_falkordb(
    start, run, home, monkeypatch
):
    """Calls fail while that server is unreachable, and nothing is stored in the default store."""
    file = home / "data" / "zapomni" / "memory.db"
    store = SQLiteStore(file)
    asyncio.run(put(store, sample_memory("left")))
    asyncio.run(store.close())
    monkeypatch.setenv("FALKORDB_HOST", "127.0.0.1")
    monkeypatch.setenv("FALKORDB_PORT", str(free_port()))
    requests = [*HANDSHAKE, call("add_memory", text="The ferry leaves at nine.")]
    code, output, errors = finish(start("serve"), "".join(json.dumps(one) + "\n" for one in requests))
    assert code == 0
    (left,) = [json.loads(line) for line in errors.splitlines() if "memories_left" in line]
    assert str(file) in left["problem"]
    assert "zapomni import" in left["fix"]
    (answer,) = [json.loads(line)["result"] for line in output.splitlines() if '"isError"' in line]
    assert answer["isError"]
    monkeypatch.setenv("FALKORDB_HOST", "")
    assert json.loads(run("stats", "--json").stdout)["total_memories"] == 1


def call(name, **arguments):
    return {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
