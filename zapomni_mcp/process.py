"""Runs the server process and ends it: signals, tasks that try to exit, threads that plugins left running."""

import asyncio
import logging
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeVar

END_SECONDS = 20.0
"""Enough for the calls in progress, for those that ignore their cancellation, and to close what is open."""

EXIT_SECONDS = 3.0

_ALWAYS = (signal.SIGINT, signal.SIGTERM)

T = TypeVar("T")

log = logging.getLogger("zapomni.process")

_exit_timers: list[threading.Timer] = []


def run_main(main: Coroutine[Any, Any, T]) -> T:
    """Run like `asyncio.run`, but until the main task ends, whatever other tasks do.

    SystemExit and KeyboardInterrupt in another task end only that task, and a stopped event loop goes on.
    """
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        task = loop.create_task(main)
        while True:
            try:
                return loop.run_until_complete(task)
            except (SystemExit, KeyboardInterrupt) as error:
                if task.done() or _is_ctrl_c(error):
                    raise
                log.error("task_tried_to_exit", exc_info=error)  # noqa: TRY400 - not a failure of the server
            except RuntimeError:
                if task.done():
                    raise
                log.error("event_loop_stopped_by_task")  # noqa: TRY400 - the exception adds nothing


def _is_ctrl_c(error: BaseException) -> bool:
    """Whether it comes from Ctrl-C: the server's own handler, while it is in place, raises nothing."""
    return isinstance(error, KeyboardInterrupt) and signal.getsignal(signal.SIGINT) is signal.default_int_handler


@asynccontextmanager
async def stop_on_signals() -> AsyncIterator[asyncio.Event]:
    """Yield an event that SIGINT, SIGTERM or SIGHUP sets.

    END_SECONDS after the signal, or at a second one, the process is ended. Python runs the handler between any two
    steps, so this holds where a tool blocks the event loop, too.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    cancel_end: Callable[[], object] | None = None

    def handle(number: int, _frame: object) -> None:
        nonlocal cancel_end
        if cancel_end:
            os._exit(128 + number)
        cancel_end = _end_after(END_SECONDS)
        loop.call_soon_threadsafe(stop.set)

    numbers = _handled_signals()
    for number in numbers:
        if sys.platform != "win32":  # wakes up a waiting loop, whichever thread gets the signal
            loop.add_signal_handler(number, stop.set)
        signal.signal(number, handle)
    try:
        yield stop
    finally:
        if cancel_end:
            cancel_end()
        if sys.platform != "win32":
            for number in numbers:
                loop.remove_signal_handler(number)


if sys.platform == "win32":

    def _handled_signals() -> tuple[signal.Signals, ...]:
        return _ALWAYS

    def _end_after(seconds: float) -> Callable[[], object]:
        """End the process after some seconds; the function returned cancels that."""
        timer = _start_timer(seconds, 1)
        return timer.cancel

else:

    def _handled_signals() -> tuple[signal.Signals, ...]:
        """A closing terminal sends SIGHUP; under `nohup` it stays ignored."""
        is_ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        return _ALWAYS if is_ignored else (*_ALWAYS, signal.SIGHUP)

    def _end_after(seconds: float) -> Callable[[], object]:
        """Let the system end the process after some seconds, even in C code; the function returned cancels that."""
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, seconds)
        return partial(signal.setitimer, signal.ITIMER_REAL, 0)


def exit_soon(code: int) -> None:
    """Exit in EXIT_SECONDS unless the process has ended by then, as a thread of a plugin may prevent.

    When called again, the last code counts.
    """
    while _exit_timers:
        _exit_timers.pop().cancel()
    _exit_timers.append(_start_timer(EXIT_SECONDS, code))


def _start_timer(seconds: float, code: int) -> threading.Timer:
    timer = threading.Timer(seconds, os._exit, [code])
    timer.daemon = True
    timer.start()
    return timer
