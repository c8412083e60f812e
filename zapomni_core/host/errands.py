"""Runs a plugin's own code in a thread, within a limit, whatever it raises: the one seam for code that does not wait.

A thread is the only place where a limit can be kept, and where a KeyboardInterrupt is the plugin's own doing: the
user's Ctrl-C is raised in the main thread, which waits here.
"""

import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from types import TracebackType
from typing import Any, Self

MOMENT_SECONDS = 0.05


class Errand:
    """One piece of a plugin's code, under way or done."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self.result: Any = None
        self.error: BaseException | None = None
        self.seconds = 0.0
        self._function = function
        self._begun = time.monotonic()
        self._done = threading.Event()

    @property
    def is_done(self) -> bool:
        """Whether it came back."""
        return self._done.is_set()

    def wait(self, seconds: float) -> bool:
        """Whether it is done so many seconds after it was begun; waits until then."""
        return self._done.wait(max(0.0, self._begun + seconds - time.monotonic()))

    def spend(self, patience_seconds: float) -> float:
        """Wait that long, or until it is done; the patience that is left for the next one.

        So errands are done one after the other; but a slow one goes on while the next ones are begun.
        """
        self.wait(patience_seconds)
        return max(MOMENT_SECONDS, patience_seconds - self.seconds) if self.is_done else MOMENT_SECONDS

    def run(self) -> None:
        """Do it, in the thread that it was given to."""
        try:
            self.result = self._function()
        except BaseException as error:  # noqa: BLE001 (the seam: loading a plugin)
            self.error = error
        self.seconds = time.monotonic() - self._begun
        self._done.set()


class Errands:
    """One thread for one errand after the other; another one only where an errand has not come back."""

    def __init__(self) -> None:
        self._queues: list[SimpleQueue[Errand | None]] = []
        self._last: Errand | None = None

    def begin(self, function: Callable[[], Any]) -> Errand:
        """Begin at once, beside those that did not come back."""
        errand = Errand(function)
        if self._last is None or not self._last.is_done:
            self._queues.append(SimpleQueue())
            threading.Thread(target=_work, args=[self._queues[-1]], name="zapomni-plugins", daemon=True).start()
        self._last = errand
        self._queues[-1].put(errand)
        return errand

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for queue in self._queues:
            queue.put(None)


def _work(errands: "SimpleQueue[Errand | None]") -> None:
    while (errand := errands.get()) is not None:
        errand.run()
        errand = None  # nothing of a plugin's is kept alive by a thread that waits
