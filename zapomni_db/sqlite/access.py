"""How every part of the SQLite store gets at its file: opened on first use, read and written by the store's threads."""

import os
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import apsw

from zapomni_db.errors import StoreUnavailableError
from zapomni_db.sqlite.connections import transaction
from zapomni_db.sqlite.crew import Crew
from zapomni_db.sqlite.database import Database
from zapomni_db.sqlite.failures import shown
from zapomni_db.sqlite.views import Views

# By process and path: what is open. One that was forked finds what its parent had open then.
_open_files: Counter[tuple[int, Path]] = Counter()

T = TypeVar("T")
Work = Callable[[apsw.Connection], T]


@dataclass(frozen=True, slots=True)
class Opened:
    """What there is from the first use on."""

    database: Database
    views: Views
    crew: Crew


class Access:
    """One file for all parts of a store. Nothing is opened and no thread is started before the first use."""

    def __init__(self, path: Path, patience: float) -> None:
        self.path = path.absolute()
        self.patience = patience
        self._opened: Opened | None = None
        self._opening = threading.Lock()  # event loops of several threads may share a store
        self._closed = False

    def open(self) -> Opened:
        """What reading and writing needs; refused once closed, and in a forked process."""
        if self._closed:
            raise StoreUnavailableError(f"The store {shown(self.path)} is closed.")
        if self._opened is None:
            with self._opening:
                self._opened = self._opened or self._open()
        if self._opened.crew.process != os.getpid():
            raise _forked(self.path)
        return self._opened

    def _open(self) -> Opened:
        mine = os.getpid()
        if any(path == self.path and process != mine for process, path in list(_open_files)):
            raise _forked(self.path)
        database = Database(self.path, self.patience)
        opened = Opened(database, Views(database.guard), Crew(database, self.patience))
        _open_files[mine, self.path] += 1
        return opened

    async def read(self, work: Work[T]) -> T:
        """Run work on a reading thread's connection, outside a transaction."""
        answer: T = await self.open().crew.read(work)
        return answer

    async def query(self, work: Work[T]) -> T:
        """Read at one moment."""
        guard = self.open().database.guard

        def at_one_moment(connection: apsw.Connection) -> T:
            with transaction(connection, "DEFERRED"):
                guard(connection)
                return work(connection)

        return await self.read(at_one_moment)

    async def write(self, work: Work[T], *, alone: bool = False) -> T:
        """Write, and return when it is on the disk. One can give up, and does after a while, until it is begun."""
        answer: T = await self.open().crew.write(work, alone=alone)
        return answer

    async def close(self) -> None:
        """End the threads and close the file; closing twice is closing once."""
        self._closed = True
        opened, self._opened = self._opened, None
        if opened and opened.crew.process == os.getpid():  # in a process that was forked there are no threads to end
            await opened.crew.close()
            _open_files[opened.crew.process, self.path] -= 1
            if not _open_files[opened.crew.process, self.path]:
                del _open_files[opened.crew.process, self.path]


def _forked(path: Path) -> StoreUnavailableError:
    return StoreUnavailableError(
        f"The store {shown(path)} was open when this process was forked, and SQLite's locks do not survive that:"
        " start a new process for it (in multiprocessing, with the start method spawn)."
    )
