"""SIGINT, SIGTERM and SIGHUP ask the server to end, which it does within END_SECONDS; a second one ends it at once."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from threading import Timer

END_SECONDS = 20.0
"""Enough for the calls in progress, for those that ignore their cancellation, and to close what is open."""

_ALWAYS = (signal.SIGINT, signal.SIGTERM)


@asynccontextmanager
async def stopping_on_signals() -> AsyncIterator[asyncio.Event]:
    """An event that is set by the first signal; whoever is still inside END_SECONDS later is ended with the process.

    A signal is heard between any two steps of Python, so also where a tool blocks the event loop.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    call_off: Callable[[], object] | None = None

    def hear(number: int, _frame: object) -> None:
        nonlocal call_off
        if call_off:
            os._exit(128 + number)
        call_off = _end_after(END_SECONDS)
        loop.call_soon_threadsafe(stop.set)

    numbers = _heeded()
    for number in numbers:
        if sys.platform != "win32":  # it wakes a loop that waits, whatever thread is interrupted
            loop.add_signal_handler(number, stop.set)
        signal.signal(number, hear)
    try:
        yield stop
    finally:
        if call_off:
            call_off()
        if sys.platform != "win32":
            for number in numbers:
                loop.remove_signal_handler(number)


if sys.platform == "win32":

    def _heeded() -> tuple[signal.Signals, ...]:
        return _ALWAYS

    def _end_after(seconds: float) -> Callable[[], object]:
        """End this process; what is returned calls it off."""
        timer = Timer(seconds, os._exit, [1])
        timer.daemon = True
        timer.start()
        return timer.cancel

else:

    def _heeded() -> tuple[signal.Signals, ...]:
        """A terminal that is closed sends SIGHUP; whoever started us with `nohup` does not want to hear of that."""
        is_ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        return _ALWAYS if is_ignored else (*_ALWAYS, signal.SIGHUP)

    def _end_after(seconds: float) -> Callable[[], object]:
        """Let the system end this process, whatever it is doing then; what is returned calls it off."""
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, seconds)
        return partial(signal.setitimer, signal.ITIMER_REAL, 0)
