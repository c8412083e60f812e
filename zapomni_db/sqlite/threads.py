"""The threads of a store: two that read and one that writes.

The writer commits what waits in one transaction: a commit waits for the disk whatever is in it, so many small ones together cost
as much as one. If anything in it fails, each task is repeated in a transaction of its own.
"""

import asyncio
import os
import threading
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

import apsw

from zapomni_db.errors import StoreUnavailableError
from zapomni_db.sqlite.connection import held, shown, transaction, translated
from zapomni_db.sqlite.database import Database
from zapomni_db.sqlite.lock import count_commit

READERS = 2
MOST_TOGETHER = 128

T = TypeVar("T")
Work = Callable[[apsw.Connection], T]

# By process and path, how often a file is open. A forked process finds what its parent had open.
_open_files: Counter[tuple[int, Path]] = Counter()


class Threads:
    """Runs the work of all parts of a store on its threads. Nothing is opened or started before the first use.

    `patience` is for how many seconds a write waits until it is begun.
    """

    def __init__(self, path: Path, patience: float) -> None:
        self.path = path.absolute()
        self.patience = patience
        self._opened: _Opened | None = None
        self._opening = threading.Lock()  # event loops of several threads may share a store
        self._closed = False

    def open(self) -> Database:
        """Open the file and start the threads, unless that is done; StoreUnavailableError once closed or in a forked process."""
        return self._open().database

    async def read(self, work: Work[T]) -> T:
        """Run work on a reading connection, outside a transaction."""
        task = _Task(work)
        self._open().reading.put(task)
        answer: T = await asyncio.wrap_future(task.future)
        return answer

    async def query(self, work: Work[T]) -> T:
        """Run work on a reading connection, in one transaction."""

        def in_transaction(connection: apsw.Connection) -> T:
            with transaction(connection, "DEFERRED"):
                self.guard(connection)
                return work(connection)

        return await self.read(in_transaction)

    async def write(self, work: Work[T], *, alone: bool = False) -> T:
        """Run work in a writing transaction, and return when it is on the disk; `alone`, outside a transaction.

        A write that is cancelled before it is begun is not done; one that is begun is done whole.
        """
        task = _Task(work, alone=alone)
        self._open().writing.put(task)
        waiting = asyncio.wrap_future(task.future)
        try:
            await asyncio.wait([waiting], timeout=self.patience)
            if not waiting.done() and task.future.cancel():
                raise held(self.path)
            answer: T = await waiting
        except asyncio.CancelledError:
            task.future.cancel()
            waiting.cancel()
            raise
        return answer

    def guard(self, connection: apsw.Connection) -> None:
        """Check at the start of a transaction that the files are still those that were opened."""
        self.open().guard(connection)

    async def close(self) -> None:
        """End the threads once they have done what was asked, and close the file. Closing again does nothing.

        `close()` does not wait for a writer that is blocked on the lock for longer than `patience`.
        """
        self._closed = True
        opened, self._opened = self._opened, None
        if opened and opened.process == os.getpid():  # a forked process has no threads to end
            await opened.close(self.patience)
            _open_files[opened.process, self.path] -= 1
            if not _open_files[opened.process, self.path]:
                del _open_files[opened.process, self.path]

    def _open(self) -> "_Opened":
        if self._closed:
            raise StoreUnavailableError(f"The store {shown(self.path)} is closed.")
        if self._opened is None:
            with self._opening:
                self._opened = self._opened or self._start()
        if self._opened.process != os.getpid():
            raise self._forked()
        return self._opened

    def _start(self) -> "_Opened":
        mine = os.getpid()
        if any(path == self.path and process != mine for process, path in list(_open_files)):
            raise self._forked()
        opened = _Opened(Database(self.path, self.patience))
        _open_files[mine, self.path] += 1
        return opened

    def _forked(self) -> StoreUnavailableError:
        return StoreUnavailableError(
            f"The store {shown(self.path)} was open when this process was forked, and SQLite's locks do not survive that:"
            " start a new process for it (in multiprocessing, with the start method spawn)."
        )


class _Task:
    """Work for a thread. A task that is `alone` shares no transaction."""

    __slots__ = ("alone", "future", "work")

    def __init__(self, work: Work[Any], *, alone: bool = False) -> None:
        self.work = work
        self.alone = alone
        self.future: Future[Any] = Future()

    def answer(self, answer: Any) -> None:
        if isinstance(answer, BaseException):
            self.future.set_exception(answer)
        else:
            self.future.set_result(answer)


class _Tasks:
    """Tasks in the order they came."""

    def __init__(self) -> None:
        self._waiting: deque[_Task] = deque()
        self._changed = threading.Condition()
        self._closed = False

    def put(self, task: _Task) -> None:
        with self._changed:
            self._waiting.append(task)
            self._changed.notify()

    def wait(self) -> bool:
        """Wait for a task; False once the queue is closed and empty."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closed)
            return bool(self._waiting)

    def take(self, most: int = 1) -> list[_Task]:
        """Remove the next tasks that may share a transaction and were not cancelled; they cannot be cancelled any more."""
        taken: list[_Task] = []
        with self._changed:
            while self._waiting and len(taken) < most and not (taken and (taken[0].alone or self._waiting[0].alone)):
                task = self._waiting.popleft()
                if task.future.set_running_or_notify_cancel():
                    taken.append(task)
        return taken

    def close(self) -> None:
        """Let the threads end when nothing waits any more."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()


class _Opened:
    """An open file, with the threads that work on it. They are daemons, so they do not keep the process from ending."""

    def __init__(self, database: Database) -> None:
        self.process = os.getpid()
        self.database = database
        self.reading, self.writing = _Tasks(), _Tasks()
        self._readers = [_start("zapomni-reader", _read, database, self.reading) for _ in range(READERS)]
        self._writer = _start("zapomni-writer", _write, database, self.writing)

    async def close(self, patience: float) -> None:
        """End the readers, then the writer, whose connection is the last and moves the -wal into the file."""
        self.reading.close()
        for reader in self._readers:
            await asyncio.to_thread(reader.join, patience)
        self.writing.close()
        await asyncio.to_thread(self._writer.join, patience)


def _start(name: str, run: Callable[[Database, _Tasks], None], database: Database, tasks: _Tasks) -> threading.Thread:
    thread = threading.Thread(target=run, name=name, args=(database, tasks), daemon=True)
    thread.start()
    return thread


def _read(database: Database, tasks: _Tasks) -> None:
    """The life of a reading thread."""
    connection: apsw.Connection | None = None
    while tasks.wait():
        for task in tasks.take():
            try:
                with translated(database.path, (apsw.Error,)):
                    connection = connection or database.connect()
                    answer = task.work(connection)
            except BaseException as error:  # noqa: BLE001 - whatever it is, it is the caller's
                answer = error
            task.answer(answer)
            del task, answer
    if connection:
        connection.close()


def _write(database: Database, tasks: _Tasks) -> None:
    """The life of the writing thread."""
    connection: apsw.Connection | None = None
    while tasks.wait():
        taken: list[_Task] = []
        try:
            with translated(database.path):
                connection = connection or database.connect(writing=True)
                with database.lock.hold():
                    taken = tasks.take(MOST_TOGETHER)
                    answers = _commit(database, connection, taken) if taken else []
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the callers'
            taken = taken or tasks.take(MOST_TOGETHER)
            answers = [error] * len(taken)
        for task, answer in zip(taken, answers, strict=True):
            task.answer(answer)
        taken, answers = [], []
    if connection:
        database.skip_checkpoint_if_overwritten(connection)
        connection.close()
    database.close()


def _commit(database: Database, connection: apsw.Connection, tasks: list[_Task]) -> list[Any]:
    """The answer to each task, once it is on the disk. If they fail together, each is done in a transaction of its own."""
    if tasks[0].alone:
        database.guard(connection)
        return [tasks[0].work(connection)]
    try:
        with transaction(connection):
            database.guard(connection)
            answers, note = [task.work(connection) for task in tasks], count_commit(connection)
    except Exception:
        if len(tasks) == 1:
            raise
        return [_commit_alone(database, connection, task) for task in tasks]
    database.lock.write_note(note)
    return answers


def _commit_alone(database: Database, connection: apsw.Connection, task: _Task) -> Any:
    try:
        with translated(database.path):
            return _commit(database, connection, [task])[0]
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the caller's
        return error
