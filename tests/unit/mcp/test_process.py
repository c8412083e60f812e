import asyncio
import signal
import subprocess
import sys

import pytest

from zapomni_mcp import process
from zapomni_mcp.process import exit_soon, run_main, stop_on_signals

STUBBORN = """
import asyncio, os, signal
from zapomni_mcp import process

async def main():
    async with process.stop_on_signals() as stop:
        os.kill(os.getpid(), signal.SIGTERM)
        await stop.wait()
        await asyncio.sleep({seconds})

process.END_SECONDS = {limit}
asyncio.run(main())
"""


BLOCKING = """
import asyncio, os, signal, threading, time
from zapomni_mcp import process

async def main():
    async with process.stop_on_signals():
        threading.Thread(target=end).start()
        {block}

def end():
    os.kill(os.getpid(), signal.SIGTERM)
    while {again} and not signal.getitimer(signal.ITIMER_REAL)[0]:  # until the first one is handled
        time.sleep(0.01)
    if {again}:
        os.kill(os.getpid(), signal.SIGTERM)

process.END_SECONDS = {limit}
asyncio.run(main())
"""


def ended(code):
    return subprocess.run([sys.executable, "-c", code], timeout=90, check=False).returncode


@pytest.mark.parametrize(("seconds", "limit", "code"), [(0, 3600, 0), (3600, 0.2, -signal.SIGALRM)])
def test_a_process_that_takes_too_long_after_a_signal_is_ended(seconds, limit, code):
    assert ended(STUBBORN.format(seconds=seconds, limit=limit)) == code


@pytest.mark.parametrize("block", ["time.sleep(3600)", "while True: pass"])
def test_a_signal_ends_a_process_whose_event_loop_is_blocked(block):
    assert ended(BLOCKING.format(again=False, limit=0.5, block=block)) == -signal.SIGALRM


def test_a_second_signal_ends_a_process_with_a_blocked_event_loop_at_once():
    assert ended(BLOCKING.format(again=True, limit=3600, block="time.sleep(3600)")) == 128 + signal.SIGTERM


IGNORING = """
import asyncio, os, signal
from zapomni_mcp import process

async def main():
    async with process.stop_on_signals() as stop:
        os.kill(os.getpid(), signal.SIGHUP)
        await asyncio.sleep(0)
        assert not stop.is_set()

signal.signal(signal.SIGHUP, signal.SIG_IGN)
asyncio.run(main())
"""


def test_an_ignored_hangup_stays_ignored():
    """`nohup` starts a process this way."""
    assert ended(IGNORING) == 0


async def exiting(error):
    raise error


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()])
def test_a_background_task_that_exits_does_not_end_the_process(error, caplog):
    async def main():
        async with stop_on_signals():
            task = asyncio.create_task(exiting(error))
            await asyncio.wait([task])
            await asyncio.sleep(0)
            return type(task.exception())

    assert run_main(main()) is type(error)
    assert [record.message for record in caplog.records] == ["task_tried_to_exit"]


def test_stopping_the_loop_does_not_end_the_process(caplog):
    async def main():
        asyncio.get_running_loop().stop()
        await asyncio.sleep(0.01)
        return "the end"

    assert run_main(main()) == "the end"
    assert [record.message for record in caplog.records] == ["event_loop_stopped_by_task"]


def test_an_error_of_the_main_task_is_raised():
    with pytest.raises(RuntimeError, match="its own"):
        run_main(exiting(RuntimeError("its own")))


def test_the_main_task_may_exit():
    async def main():
        sys.exit(3)

    with pytest.raises(SystemExit):
        run_main(main())


def test_ctrl_c_ends_the_process_without_a_handler():
    async def main():
        asyncio.get_running_loop().call_soon(interrupt)
        await asyncio.Event().wait()

    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_main(main())


@pytest.fixture
def timers(monkeypatch):
    """The started timers, none of which expires during a test."""
    started = []
    monkeypatch.setattr(process, "EXIT_SECONDS", 3600)
    monkeypatch.setattr(process, "_exit_timers", started)
    yield started
    for timer in started:
        timer.cancel()


def test_a_second_exit_cancels_the_first_and_its_code_wins(timers):
    exit_soon(0)
    (first,) = timers
    exit_soon(1)
    (last,) = timers
    first.join(5)
    assert (first.is_alive(), last.is_alive()) == (False, True)
    assert last.args == [1]


def test_the_exit_watchdog_does_not_keep_the_process_alive(timers):
    exit_soon(0)
    assert timers[0].daemon
