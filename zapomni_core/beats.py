"""What is told now and then of work that goes on: from the side, so that the work itself is not waited for in turns."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


class Beats:
    """Tells something whenever it was told for the last time so many seconds ago, until this is ended."""

    def __init__(
        self, seconds: float, told_at: Callable[[], float], tell: Callable[[], Coroutine[Any, Any, None]]
    ) -> None:
        """`told_at` is by the clock of the event loop."""
        self._seconds = seconds
        self._told_at = told_at
        self._tell = tell
        self._telling: asyncio.Task[None] | None = None
        self._loop = asyncio.get_running_loop()
        self._timer = self._loop.call_later(seconds, self._look)

    def end(self) -> None:
        """Tell no more."""
        self._timer.cancel()
        if self._telling is not None:
            self._telling.cancel()

    def _look(self) -> None:
        rest = self._told_at() + self._seconds - self._loop.time()
        if rest <= 0 and (self._telling is None or self._telling.done()):
            self._telling = self._loop.create_task(self._tell())
            self._telling.add_done_callback(_take_note)
        self._timer = self._loop.call_later(rest if rest > 0 else self._seconds, self._look)


def _take_note(telling: "asyncio.Task[None]") -> None:
    """A client that has gone does not hear: whoever answers it finds out."""
    if not telling.cancelled():
        telling.exception()
