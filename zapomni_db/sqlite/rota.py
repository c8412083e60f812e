"""Which of the reading threads does what: the one that was busy last, while one is enough.

What it has read is still in its own cache and in the processor's; another one would read it from the file again.
"""

import threading
from collections import deque
from queue import SimpleQueue

from zapomni_db.sqlite.tasks import Task

Desk = SimpleQueue[Task | None]
"""Where a thread gets its next task; None means that there will be none any more."""


class Rota:
    """Tasks in the order they came, for threads that have a desk each."""

    def __init__(self) -> None:
        self._waiting: deque[Task] = deque()
        self._idle: list[Desk] = []
        self._changing = threading.Lock()
        self._closed = False

    def put(self, task: Task) -> None:
        """Let a thread do a task."""
        with self._changing:
            if self._idle:
                self._idle.pop().put(task)
            else:
                self._waiting.append(task)

    def next(self, desk: Desk) -> Task | None:
        """Wait for the next task of the thread at this desk; None when there will be none any more."""
        with self._changing:
            if self._waiting:
                return self._waiting.popleft()
            if self._closed:
                return None
            self._idle.append(desk)
        return desk.get()

    def close(self) -> None:
        """No more tasks come; those that wait are still done."""
        with self._changing:
            self._closed = True
            while self._idle:
                self._idle.pop().put(None)
