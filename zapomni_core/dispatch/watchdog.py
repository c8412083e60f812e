"""Logs what is running when the event loop is blocked.

Blocking code cannot be interrupted, but its call can be named. While plugins' code runs, a thread checks that the event loop
still runs its timers.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakKeyDictionary

log = logging.getLogger("zapomni.watchdog")

BEAT_SECONDS = 0.5
PATIENCE_SECONDS = 2.0


class _Watchdog:
    """Watches one event loop, from a thread that ends when nothing is running."""

    def __init__(self) -> None:
        self._running: dict[object, str] = {}
        self._last_beat = 0.0
        self._idle: threading.Event | None = None

    @contextmanager
    def watch(self, work: str) -> Iterator[None]:
        key = object()
        self._running[key] = work
        if self._idle is None:
            self._start()
        try:
            yield
        finally:
            del self._running[key]

    def _start(self) -> None:
        self._idle = threading.Event()
        loop = asyncio.get_running_loop()
        self._beat(loop)
        threading.Thread(target=self._check, args=(self._idle, loop), name="zapomni-watchdog", daemon=True).start()

    def _beat(self, loop: asyncio.AbstractEventLoop) -> None:
        self._last_beat = time.monotonic()
        if self._running:
            loop.call_later(BEAT_SECONDS, self._beat, loop)
        elif self._idle is not None:
            self._idle.set()
            self._idle = None

    def _check(self, idle: threading.Event, loop: asyncio.AbstractEventLoop) -> None:
        reported = 0.0
        while not idle.wait(BEAT_SECONDS) and not loop.is_closed():
            beat, running = self._last_beat, list(self._running.values())
            if running and beat != reported and time.monotonic() - beat > PATIENCE_SECONDS:
                reported = beat
                fix = "move blocking work to a thread: await asyncio.to_thread(...)"
                log.warning("event_loop_blocked", extra={"running": sorted(running), "fix": fix})


_watchdogs: WeakKeyDictionary[asyncio.AbstractEventLoop, _Watchdog] = WeakKeyDictionary()


@contextmanager
def watched(work: str) -> Iterator[None]:
    """Name this work in the log if the running event loop is blocked during the `with` block."""
    loop = asyncio.get_running_loop()
    if loop not in _watchdogs:
        _watchdogs[loop] = _Watchdog()
    with _watchdogs[loop].watch(work):
        yield
