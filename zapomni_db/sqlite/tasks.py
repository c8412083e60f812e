"""Work for the store's threads: who asked waits for a future, and may give up until the work is settled."""

import asyncio
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

import apsw


class Task:
    """Some work on a connection, asked for in an event loop. `alone` is not to be put into a transaction with others."""

    __slots__ = ("alone", "future", "is_begun", "is_given_up", "is_settled", "loop", "since", "work")

    def __init__(self, work: Callable[[apsw.Connection], Any], *, alone: bool = False) -> None:
        self.work = work
        self.alone = alone
        self.loop = asyncio.get_running_loop()
        self.since = self.loop.time()
        self.future: asyncio.Future[Any] = self.loop.create_future()
        self.is_begun = self.is_settled = self.is_given_up = False

    def answer(self, answer: Any) -> None:
        """Give a result or an exception to who asked."""
        _answer(self.loop, [(self.future, answer)])


def answer_all(tasks: Sequence[Task], answers: Sequence[Any]) -> None:
    """Give results or exceptions to those who asked. A loop is woken once for all that it waits for: waking is the dear part."""
    by_loop: defaultdict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], Any]]] = defaultdict(list)
    for task, answer in zip(tasks, answers, strict=True):
        by_loop[task.loop].append((task.future, answer))
    for loop, answered in by_loop.items():
        _answer(loop, answered)


def _answer(loop: asyncio.AbstractEventLoop, answered: "list[tuple[asyncio.Future[Any], Any]]") -> None:
    with suppress(RuntimeError):  # it was closed: nobody waits any more
        loop.call_soon_threadsafe(_settle, answered)


def _settle(answered: "list[tuple[asyncio.Future[Any], Any]]") -> None:
    for future, answer in answered:
        if future.done():  # who asked has gone
            continue
        if isinstance(answer, BaseException):
            future.set_exception(answer)
        else:
            future.set_result(answer)


class Tasks:
    """Tasks in the order they came, for the thread that waits for them."""

    def __init__(self) -> None:
        self._waiting: deque[Task] = deque()
        self._changing = threading.Lock()
        self._bell: SimpleQueue[None] = SimpleQueue()
        self._is_idle = False  # the thread waits for the bell
        self._waking: asyncio.AbstractEventLoop | None = None
        self._closed = False

    def put(self, task: Task) -> None:
        """Let the thread do a task with those that follow in the same turn of the event loop: it is woken after them."""
        with self._changing:
            self._waiting.append(task)
            is_waking, self._waking = self._waking is task.loop, task.loop
        if not is_waking:
            task.loop.call_soon(self._wake)

    def _wake(self) -> None:
        with self._changing:
            self._waking = None
            is_idle, self._is_idle = self._is_idle, False
        if is_idle:
            self._bell.put(None)

    def give_up(self, task: Task) -> None:
        """Let a task not be done, or be undone; one that is settled is done."""
        with self._changing:
            task.is_given_up = not task.is_settled

    def give_up_before(self, moment: float, loop: asyncio.AbstractEventLoop) -> tuple[list[Task], float | None]:
        """The tasks of a loop that have waited since before a moment, now given up; since when the next one has waited."""
        with self._changing:
            waiting = [task for task in self._waiting if task.loop is loop and not task.is_given_up]
            late = [task for task in waiting if task.since <= moment]
            for task in late:
                task.is_given_up = True
        return late, min((task.since for task in waiting if task.since > moment), default=None)

    def settle(self, tasks: Sequence[Task]) -> bool:
        """Whether all of these are to be done, as nobody gave one up; from now on nobody can."""
        with self._changing:
            wanted = not any(task.is_given_up for task in tasks)
            for task in tasks if wanted else ():
                task.is_settled = True
        return wanted

    def wait(self) -> bool:
        """Wait until there is a task; False when there will be none any more."""
        while True:
            with self._changing:
                if self._waiting or self._closed:
                    return bool(self._waiting)
                self._is_idle = True
            self._bell.get()

    def take(self, most: int) -> list[Task]:
        """The next tasks that may be done together and that nobody gave up; from now on they are begun."""
        taken: list[Task] = []
        with self._changing:
            while self._waiting and len(taken) < most and not (taken and (taken[0].alone or self._waiting[0].alone)):
                task = self._waiting.popleft()
                task.is_begun = not task.is_given_up
                if task.is_begun:
                    taken.append(task)
        return taken

    def close(self) -> None:
        """No more tasks come; those that wait are still done."""
        self._closed = True
        self._wake()
