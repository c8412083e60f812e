"""The SQLite store: one file, any number of processes, many workspaces."""

import asyncio
import os
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import apsw

from zapomni_db.arrays import Vector
from zapomni_db.errors import StoreDamagedError, StoreUnavailableError
from zapomni_db.records import Added, ChunkFound, EmbedderIdentity, Memory, NewMemory, StoreStats
from zapomni_db.sqlite import adding, embedders, hiding, memories, purging, reembedding
from zapomni_db.sqlite.backup import back_up
from zapomni_db.sqlite.checking import problems
from zapomni_db.sqlite.connections import transaction
from zapomni_db.sqlite.crew import Crew
from zapomni_db.sqlite.database import Database
from zapomni_db.sqlite.failures import held
from zapomni_db.sqlite.statistics import statistics
from zapomni_db.sqlite.values import check_text
from zapomni_db.sqlite.views import Views
from zapomni_db.store import Snapshot

_END_OF_TIME = 253_402_300_800  # seconds to the year 10000: "whenever it was deleted"

T = TypeVar("T")
Work = Callable[[apsw.Connection], T]


@dataclass(frozen=True, slots=True)
class _Opened:
    """What there is from the first use on."""

    database: Database
    views: Views
    crew: Crew


class SQLiteStore:
    """A MemoryStore, and Reembedding, in one file. Nothing is opened and no thread is started before the first use.

    `patience` is for how many seconds one waits to write while other processes do.
    """

    def __init__(self, path: Path, *, patience: float = 20) -> None:
        self._path = path
        self._patience = patience
        self._opened: _Opened | None = None
        self._closed = False

    async def add(self, workspace: str, memory: NewMemory, embedder: EmbedderIdentity) -> Added:
        return await self._write(lambda connection: adding.add(connection, workspace, memory, embedder))

    async def get(self, workspace: str, memory_id: str) -> Memory | None:
        return await self._query(lambda connection: memories.get(connection, workspace, memory_id))

    async def delete(self, workspace: str, memory_id: str) -> Memory | None:
        return await self._write(lambda connection: hiding.delete(connection, workspace, memory_id))

    async def restore(self, workspace: str, memory_id: str) -> Memory | None:
        return await self._write(lambda connection: hiding.restore(connection, workspace, memory_id))

    async def purge(self, workspace: str, *, deleted_before: float, memory_ids: Sequence[str] | None = None) -> int:
        check_text("workspace", workspace)
        before = int(min(deleted_before, _END_OF_TIME) * 1_000_000)
        removed = 0
        if memory_ids is not None:
            removed = await self._write(
                lambda connection: purging.purge_named(connection, workspace, before, memory_ids)
            )
        else:
            while count := await self._write(lambda connection: purging.purge_some(connection, workspace, before)):
                removed += count
        if await self._query(purging.is_sweep_due):
            await self._write(purging.sweep, alone=True)
        return removed

    async def read(self, workspace: str, work: Callable[[Snapshot], T]) -> T:
        check_text("workspace", workspace)
        views = self._open().views

        def on_snapshot(connection: apsw.Connection) -> T:
            with transaction(connection, "DEFERRED"):
                return work(views.snapshot(connection, workspace))

        return await self._read(on_snapshot)

    async def vectors(self, embedder: EmbedderIdentity, digests: Sequence[bytes]) -> dict[bytes, Vector]:
        return await self._query(lambda connection: embedders.vectors_by_digest(connection, embedder, digests))

    async def embedder(self) -> EmbedderIdentity | None:
        serving = await self._query(embedders.serving)
        return serving.identity if serving else None

    async def stats(self, workspace: str) -> StoreStats:
        check_text("workspace", workspace)
        path = self._open().database.path
        return await self._query(lambda connection: statistics(connection, path, workspace))

    async def check(self) -> list[str]:
        database = self._open().database

        def look(_: apsw.Connection) -> list[str]:
            with closing(database.connect()) as fresh, transaction(fresh, "DEFERRED"):
                return problems(fresh)

        try:
            return await self._read(look)
        except StoreDamagedError as error:
            return [str(error)]

    async def backup(self, target: Path) -> None:
        path = self._open().database.path
        await self._read(lambda connection: back_up(connection, path, target))

    async def pending(self, embedder: EmbedderIdentity, limit: int) -> tuple[list[tuple[int, ChunkFound]], int]:
        return await self._query(lambda connection: reembedding.pending(connection, embedder, limit))

    async def fill(self, embedder: EmbedderIdentity, vectors: Sequence[tuple[int, bytes, Vector]]) -> None:
        await self._write(lambda connection: reembedding.fill(connection, embedder, vectors))

    async def switch(self, embedder: EmbedderIdentity) -> None:
        await self._write(lambda connection: reembedding.switch(connection, embedder))
        while await self._write(reembedding.forget_some):
            pass

    async def close(self) -> None:
        self._closed = True
        opened, self._opened = self._opened, None
        if opened:
            await opened.crew.close(self._patience)

    def _open(self) -> _Opened:
        if self._closed:
            raise StoreUnavailableError(f"The store {self._path} is closed.")
        if self._opened is None:
            database = Database(self._path, self._patience)
            self._opened = _Opened(database, Views(database.guard), Crew(database))
        if self._opened.crew.process != os.getpid():
            raise StoreUnavailableError(
                f"The store {self._path} was opened before this process was forked: open it anew."
            )
        return self._opened

    async def _read(self, work: Work[T]) -> T:
        answer: T = await asyncio.wrap_future(self._open().crew.read(work))
        return answer

    async def _query(self, work: Work[T]) -> T:
        """Read at one moment."""
        guard = self._open().database.guard

        def at_one_moment(connection: apsw.Connection) -> T:
            with transaction(connection, "DEFERRED"):
                guard(connection)
                return work(connection)

        return await self._read(at_one_moment)

    async def _write(self, work: Work[T], *, alone: bool = False) -> T:
        """Write, and return when it is on the disk. One can give up, and does after a while, until it is begun."""
        opened = self._open()
        job = opened.crew.write(work, alone=alone)
        answer = asyncio.wrap_future(job)
        try:
            await asyncio.wait([answer], timeout=self._patience)
            if not job.done() and job.cancel():
                raise held(opened.database.path)
            result: T = await answer
            return result
        finally:
            answer.cancel()
