"""A server that is asked to end finishes the calls in progress and leaves no process behind."""

import os
import signal
from pathlib import Path

import pytest

from tests.e2e.stdio_server import ZAPOMNI, eventually, text_of

ENDINGS = {
    "end of input": lambda server: server.process.stdin.close(),
    "SIGINT": lambda server: server.process.send_signal(signal.SIGINT),
    "SIGTERM": lambda server: server.process.send_signal(signal.SIGTERM),
    "SIGHUP": lambda server: server.process.send_signal(signal.SIGHUP),
}
SLOW_TOOLS = Path(__file__).with_name("slow_tools.py")

LIFESPAN = """
import os
from contextlib import asynccontextmanager
from zapomni_core.plugin import hookimpl

def note(line):
    with open(os.environ["ZAPOMNI_TEST_DIARY"], "a") as diary:
        diary.write(line + "\\n")

@asynccontextmanager
async def open_and_close():
    note("{name} opened")
    yield
    note("{name} closed")

@hookimpl
def zapomni_lifespan():
    return open_and_close()
"""
SLOW_LIFESPAN = """
import asyncio
from contextlib import asynccontextmanager
from zapomni_core.plugin import hookimpl

@asynccontextmanager
async def open_slowly():
    await asyncio.sleep(3600)
    yield

@hookimpl
def zapomni_lifespan():
    return open_slowly()
"""
FORK = """
import os
import time
from zapomni_core.plugin import hookimpl, tool

@tool
async def fork() -> int:
    \"\"\"Leave a child behind; its process id.\"\"\"
    child = os.fork()
    if not child:
        print("stray", flush=True)
        time.sleep(3600)
        os._exit(0)
    return child

@hookimpl
def zapomni_tools():
    return [fork]
"""


class Busy:
    """A server with a call in progress, which `let_go` ends."""

    def __init__(self, server, folder):
        self.server = server
        self.folder = folder
        server.initialize()
        self.call = server.request_call("slow", {"folder": str(folder)})
        self.wait_for_the_loop()

    def wait_for_the_loop(self):
        """Wait for a few turns of the server's loop, so that it has handled earlier events."""
        enough = self.turns() + 5
        eventually(lambda: self.turns() >= enough, "turn of the loop", otherwise=self.server.log_text)

    def turns(self):
        file = self.folder / "turns"
        return int((file.exists() and file.read_text()) or 0)

    def let_go(self):
        (self.folder / "go").touch()

    def is_finished(self):
        return (self.folder / "finished").exists()


@pytest.fixture
def busy(start, tmp_path):
    def begin(**variables):
        return Busy(start(ZAPOMNI, "serve", "--plugin", SLOW_TOOLS, **variables), tmp_path)

    return begin


def is_gone(server):
    """Whether the server's process group is empty."""
    try:
        os.killpg(server.process.pid, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.usefixtures("hangup_not_ignored", "measured_programs")
@pytest.mark.parametrize("end", ENDINGS.values(), ids=ENDINGS)
def test_a_call_in_progress_is_finished_and_answered_before_the_server_ends(busy, end):
    at_work = busy()
    end(at_work.server)
    at_work.wait_for_the_loop()
    assert not at_work.is_finished()
    at_work.let_go()
    [answer] = at_work.server.rest()
    assert answer["id"] == at_work.call
    assert text_of(answer["result"]) == "finished"
    assert at_work.server.wait() == 0
    assert is_gone(at_work.server)


def test_a_call_is_finished_after_its_client_has_disconnected(busy):
    at_work = busy()
    at_work.server.process.stdin.close()
    at_work.server.process.stdout.close()
    at_work.wait_for_the_loop()
    at_work.let_go()
    assert at_work.server.wait() == 0
    assert at_work.is_finished()
    assert is_gone(at_work.server)


@pytest.mark.usefixtures("measured_programs")
def test_a_second_signal_ends_the_server_at_once(busy):
    at_work = busy()
    at_work.server.process.send_signal(signal.SIGINT)
    at_work.wait_for_the_loop()
    at_work.server.process.send_signal(signal.SIGINT)
    assert at_work.server.wait() == 128 + signal.SIGINT
    assert at_work.server.rest() == []
    assert not at_work.is_finished()


def test_no_request_is_read_after_a_signal(busy):
    at_work = busy()
    at_work.server.process.send_signal(signal.SIGTERM)
    at_work.wait_for_the_loop()
    at_work.server.request_call("hello")
    at_work.let_go()
    assert [answer["id"] for answer in at_work.server.rest()] == [at_work.call]
    assert at_work.server.wait() == 0


def test_a_forked_child_does_not_keep_the_output_open(start, tmp_path):
    (tmp_path / "forking.py").write_text(FORK)
    server = start(ZAPOMNI, "serve", "--plugin", tmp_path / "forking.py")
    server.initialize()
    child = int(text_of(server.call("fork")))
    try:
        assert server.close() == 0
        assert server.messages == []
        os.kill(child, 0)
    finally:
        os.kill(child, signal.SIGKILL)


def test_lifespans_are_closed_in_reverse_order(start, tmp_path):
    diary = tmp_path / "diary"
    files = [tmp_path / "first.py", tmp_path / "second.py"]
    for file in files:
        file.write_text(LIFESPAN.format(name=file.stem))
    server = start(ZAPOMNI, "serve", "--plugin", files[0], "--plugin", files[1], ZAPOMNI_TEST_DIARY=str(diary))
    server.initialize()
    server.call("hello")
    eventually(lambda: diary.exists() and len(diary.read_text().splitlines()) == 2, "open lifespans")
    assert server.close() == 0
    assert diary.read_text().splitlines() == ["first opened", "second opened", "second closed", "first closed"]


def test_a_lifespan_that_is_still_opening_has_not_failed_when_the_server_ends(start, tmp_path):
    (tmp_path / "slow_start.py").write_text(SLOW_LIFESPAN)
    server = start(ZAPOMNI, "serve", "--plugin", tmp_path / "slow_start.py", ZAPOMNI_PLUGINS__REQUIRE="slow_start")
    server.initialize()
    assert text_of(server.call("hello")) == "Hello, world!"
    assert server.close() == 0
    assert server.messages == []
    assert server.log("plugin_withdrawn") == []
