"""SIGINT and SIGTERM ask the server to end; a second one ends it at once."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@asynccontextmanager
async def stopping_on_signals() -> AsyncIterator[asyncio.Event]:
    """An event that is set by the first signal."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def ask(number: int) -> None:
        if stop.is_set():
            os._exit(128 + number)
        stop.set()

    if sys.platform == "win32":
        for number in _SIGNALS:
            signal.signal(number, lambda got, _frame: loop.call_soon_threadsafe(ask, got))
        yield stop
        return
    for number in _SIGNALS:
        loop.add_signal_handler(number, ask, number)
    try:
        yield stop
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
