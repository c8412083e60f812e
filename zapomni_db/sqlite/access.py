"""How every part of the SQLite store gets at its file: opened on first use, read and written by the store's threads."""

import os
import threading
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
        self.path = path
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
            raise StoreUnavailableError(
                f"The store {shown(self.path)} was opened before this process was forked: open it anew."
            )
        return self._opened

    def _open(self) -> Opened:
        database = Database(self.path, self.patience)
        return Opened(database, Views(database.guard), Crew(database, self.patience))

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
        if opened:
            await opened.crew.close()
