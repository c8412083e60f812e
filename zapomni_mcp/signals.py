"""SIGINT and SIGTERM ask the server to end, which it does within END_SECONDS; a second one ends it at once."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from threading import Timer

END_SECONDS = 20.0
"""Enough for the calls in progress, for those that ignore their cancellation, and to close what is open."""

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@asynccontextmanager
async def stopping_on_signals() -> AsyncIterator[asyncio.Event]:
    """An event that is set by the first signal; whoever is still inside END_SECONDS later is ended with the process."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    end = Timer(END_SECONDS, os._exit, [1])
    end.daemon = True

    def ask(number: int) -> None:
        if stop.is_set():
            os._exit(128 + number)
        stop.set()
        end.start()

    if sys.platform == "win32":
        for number in _SIGNALS:
            signal.signal(number, lambda got, _frame: loop.call_soon_threadsafe(ask, got))
    else:
        for number in _SIGNALS:
            loop.add_signal_handler(number, ask, number)
    try:
        yield stop
    finally:
        end.cancel()
        if sys.platform != "win32":
            for number in _SIGNALS:
                loop.remove_signal_handler(number)
