"""The threads of a store: two that read, one that writes. They begin with the first task and end when the store is closed."""

import asyncio
import os
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import apsw

from zapomni_db.sqlite.database import Database
from zapomni_db.sqlite.failures import held
from zapomni_db.sqlite.reader import Reader
from zapomni_db.sqlite.rota import Rota
from zapomni_db.sqlite.tasks import Task, Tasks
from zapomni_db.sqlite.writer import Writer

_READERS = 2


class Crew:
    """Gives work to the threads. `patience` is for how many seconds one waits until what is to be written is begun."""

    def __init__(self, database: Database, patience: float) -> None:
        self.process = os.getpid()
        self._path = database.path
        self._patience = patience
        self._watched: set[asyncio.AbstractEventLoop] = set()
        self._reading, self._writing = Rota(), Tasks()
        self._readers = [Thread("zapomni-reader", Reader(database, self._reading).run) for _ in range(_READERS)]
        self._writer = Thread("zapomni-writer", Writer(database, self._writing).run)

    async def read(self, work: Callable[[apsw.Connection], Any]) -> Any:
        """Let a reading thread do this; what came of it."""
        task = Task(work)
        self._reading.put(task)
        try:
            return await task.future
        except asyncio.CancelledError:
            task.is_given_up = True
            raise

    async def write(self, work: Callable[[apsw.Connection], Any], *, alone: bool = False) -> Any:
        """Let the writing thread do this, in a transaction; alone, outside of one.

        What is not begun in time is not done. Whoever is cancelled has written nothing, unless it was being committed.
        """
        task = Task(work, alone=alone)
        self._writing.put(task)
        if task.loop not in self._watched:
            self._watch(task.loop, self._patience)
        try:
            return await task.future
        except asyncio.CancelledError:
            self._writing.give_up(task)
            raise

    def _watch(self, loop: asyncio.AbstractEventLoop, seconds: float) -> None:
        """Look later for those that wait too long: one look for all, as hardly anybody ever does."""
        self._watched = {one for one in self._watched if not one.is_closed()} | {loop}
        loop.call_later(seconds, _look, weakref.ref(self), loop)

    def look(self, loop: asyncio.AbstractEventLoop) -> None:
        """Tell those of a loop that wait too long."""
        late, since = self._writing.give_up_before(loop.time() - self._patience, loop)
        for task in late:
            if not task.future.done():
                task.future.set_exception(held(self._path))
        self._watched.discard(loop)
        if since is not None:
            self._watch(loop, since + self._patience - loop.time())

    async def close(self) -> None:
        """End the threads when they have done what was asked; the writer last, who tidies up.

        A writer that waits for a gate that is never opened is left behind, and ends when it is.
        """
        self._reading.close()
        for reader in self._readers:
            await reader.end(self._patience)
        self._writing.close()
        await self._writer.end(self._patience)


def _look(crew: "weakref.ref[Crew]", loop: asyncio.AbstractEventLoop) -> None:
    """Look for those that wait; whoever waits holds the crew, and a loop shall not hold one that is closed."""
    if (here := crew()) is not None:
        here.look(loop)


class Thread:
    """A thread that does not keep the process from ending, and a way to wait for its end."""

    def __init__(self, name: str, run: Callable[[], None]) -> None:
        self._run = run
        self._ended: Future[None] = Future()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    async def end(self, patience: float) -> None:
        """Wait for its end, at most so long."""
        await asyncio.wait([asyncio.wrap_future(self._ended)], timeout=patience)
        if self._ended.done():
            self._thread.join()

    def _work(self) -> None:
        try:
            self._run()
        finally:
            self._ended.set_result(None)
