"""Work for the store's threads: who asked waits for a future, and may give up until the work is begun."""

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

import apsw


@dataclass(slots=True)
class Task:
    """Some work on a connection. `alone` is not to be put into a transaction with others."""

    work: Callable[[apsw.Connection], Any]
    alone: bool = False
    future: "Future[Any]" = field(default_factory=Future)

    def answer(self, answer: Any) -> None:
        """Give a result or an exception to who asked."""
        if isinstance(answer, BaseException):
            self.future.set_exception(answer)
        else:
            self.future.set_result(answer)


class Tasks:
    """Tasks in the order they came, for threads that wait for them."""

    def __init__(self) -> None:
        self._waiting: deque[Task] = deque()
        self._changed = threading.Condition()
        self._closed = False

    def put(self, task: Task) -> "Future[Any]":
        """Let a thread do a task."""
        with self._changed:
            self._waiting.append(task)
            self._changed.notify()
        return task.future

    def wait(self) -> bool:
        """Wait until there is a task; False when there will be none any more."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closed)
            return bool(self._waiting)

    def take(self, most: int = 1) -> list[Task]:
        """The next tasks that may be done together and that nobody gave up; from now on they cannot be given up."""
        taken: list[Task] = []
        with self._changed:
            while self._waiting and len(taken) < most and not (taken and (taken[0].alone or self._waiting[0].alone)):
                task = self._waiting.popleft()
                if task.future.set_running_or_notify_cancel():
                    taken.append(task)
        return taken

    def close(self) -> None:
        """No more tasks come; those that wait are still done."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
