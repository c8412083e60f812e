"""`zapomni demo` runs all its steps and leaves the user's data and settings alone."""

import asyncio
import json
import re
import shlex
import signal
import subprocess
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from rich.console import Console

from tests.e2e.stdio_server import ZAPOMNI, environment
from zapomni_mcp.demo import demonstration
from zapomni_mcp.demo.data import FACTS, LEAK, QUESTIONS, long_document
from zapomni_mcp.demo.demonstration import Demonstration


def demo_environment(home: Path, **variables: str) -> dict[str, str]:
    home.mkdir()
    (home / "tmp").mkdir()
    variables = {"COLUMNS": "80", "TMPDIR": str(home / "tmp")} | variables
    return environment(home, **variables)


def run_demo(home: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    env = demo_environment(home, **variables)
    pipes = {"capture_output": True, "encoding": "utf-8"}
    return subprocess.run([ZAPOMNI, "demo"], env=env, timeout=110, check=False, **pipes)


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("demo") / "home"


@pytest.fixture(scope="module")
def shown(home, measured) -> subprocess.CompletedProcess[str]:
    """One run, with settings that it must ignore and an ASCII locale."""
    foreign = {"ZAPOMNI_STORE": "nowhere://x", "ZAPOMNI_WORKSPCE": "misspelt", "LOG_LEVEL": "LOUD"}
    return run_demo(home, PYTHONIOENCODING="ascii", **foreign, **measured)


def test_all_steps_succeed(shown):
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert shown.stderr == ""
    assert "All steps succeeded" in shown.stdout


def test_every_question_is_shown_with_its_answer_score_and_time(shown):
    assert f"{len(QUESTIONS)} of {len(QUESTIONS)} right" in shown.stdout
    rows = re.findall(r"^  \S.* (0\.\d\d|1\.00) +\d+$", shown.stdout, re.MULTILINE)
    assert len(rows) == len(QUESTIONS)


def test_the_server_is_killed_and_nothing_acknowledged_is_lost(shown):
    (killed,) = re.findall(r"process (\d+) killed: (\d+) were acknowledged", shown.stdout)
    ((again, acknowledged),) = re.findall(r"again as process (\d+): of (\d+) acknowledged", shown.stdout)
    assert again != killed[0]
    assert int(acknowledged) == len(FACTS) + 1 + int(killed[1])
    assert f"{acknowledged} are there, word for word" in shown.stdout


def test_it_ends_with_how_to_connect(shown):
    assert f"claude mcp add zapomni -- {ZAPOMNI}\n" in shown.stdout
    assert f'"command": "{ZAPOMNI}"' in shown.stdout


def test_it_fits_80_columns_and_needs_no_colour(shown):
    lines = [line for line in shown.stdout.splitlines() if str(ZAPOMNI) not in line]
    assert max(map(len, lines)) <= 80
    assert "\x1b" not in shown.stdout


def test_all_scripts_are_shown_in_an_ascii_locale(shown):
    assert "Почему PostgreSQL?" in shown.stdout


def test_no_files_are_left(shown, home):
    assert [file for file in home.rglob("*") if file.is_file()] == []


def test_a_failing_server_is_reported(tmp_path):
    (tmp_path / "apsw.py").write_text("raise ImportError('this is no SQLite')")
    result = run_demo(tmp_path / "home", PYTHONPATH=str(tmp_path))
    assert result.returncode == 1, result.stdout
    assert "The server failed: " in result.stdout
    assert "NOT all steps succeeded" in result.stdout
    assert "claude mcp add" not in result.stdout
    assert result.stderr == ""


@pytest.mark.usefixtures("hangup_not_ignored")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_without_leaving_files(tmp_path, number):
    home = tmp_path / "home"
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([ZAPOMNI, "demo"], env=demo_environment(home), text=True, **pipes) as demo:
        line = next(line for line in demo.stdout if "The server is process" in line)
        server = re.search(r"\d+", line)[0]
        demo.send_signal(number)
        _, stderr = demo.communicate(timeout=60)
    assert (demo.returncode, stderr) == (128 + number, "")
    assert list((home / "tmp").iterdir()) == []
    assert not Path("/proc", server).exists()


def test_output_that_cannot_be_written_is_an_error(tmp_path):
    home = tmp_path / "home"
    with Path("/dev/full").open("w") as full:
        result = subprocess.run(
            [ZAPOMNI, "demo"], env=demo_environment(home), stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert result.returncode == 1
    assert result.stderr == "Error: Standard output cannot be written: No space left on device\n"
    assert list((home / "tmp").iterdir()) == []


def test_a_closed_pipe_ends_it_quietly(tmp_path):
    home = tmp_path / "home"
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([ZAPOMNI, "demo"], env=demo_environment(home), text=True, **pipes) as demo:
        next(line for line in demo.stdout if "1. Remember" in line)
        demo.stdout.close()
        stderr = demo.stderr.read()
        demo.wait(60)
    assert (demo.returncode, stderr) == (141, "")
    assert list((home / "tmp").iterdir()) == []


class SlowToClose:
    """A server that never answers and whose client is slow to close."""

    pid = 1

    def __init__(self):
        self.closed = 0
        self.is_asked = asyncio.Event()

    @asynccontextmanager
    async def client(self):
        try:
            yield self
        finally:
            for _ in range(100):
                await asyncio.sleep(0)
            self.closed += 1

    async def call_tool(self, *_):
        self.is_asked.set()
        await asyncio.Event().wait()

    async def command_line(self, *_):
        await asyncio.Event().wait()


class LastSteps(Demonstration):
    """A demonstration that begins with the restart of the server."""

    async def _remember(self, client): ...

    async def _ask(self, client):
        return True

    async def _remember_and_kill(self, client): ...


async def test_an_interrupt_in_the_last_steps_waits_for_the_client_to_close():
    console, server = Console(quiet=True), SlowToClose()
    running = asyncio.create_task(LastSteps(console, console.status(""), server).run())
    await server.is_asked.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert server.closed == 2


def test_the_commands_to_connect_quote_any_path(monkeypatch, capsys):
    path = """/home/Ольга "O" d'Arc/zapomni"""
    monkeypatch.setattr(demonstration, "command", lambda: path)
    demonstration.show_how_to_connect(Console(width=80))
    shown = capsys.readouterr().out.splitlines()
    (claude,) = (line for line in shown if "claude mcp add" in line)
    (servers,) = (line for line in shown if "mcpServers" in line)
    assert shlex.split(claude)[-1] == path
    assert json.loads(f"{{{servers}}}") == {"mcpServers": {"zapomni": {"command": path, "args": []}}}
    assert shlex.split(shown[-1])[0] == path


def test_the_long_document_is_long_and_the_same_each_time():
    document = long_document()
    assert 25_000 < len(document) < 35_000
    assert document == long_document()
    assert document.count(LEAK) == 1
