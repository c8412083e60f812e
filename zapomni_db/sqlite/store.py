"""The SQLite store: one file, any number of processes, many workspaces."""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TypeVar

import apsw
import numpy as np

from zapomni_db.errors import DatabaseError, StoreDamagedError, StoreFullError, StoreUnavailableError
from zapomni_db.filters import NO_FILTER, Filter
from zapomni_db.records import (
    Added,
    Candidates,
    Change,
    ChunkFound,
    EmbedderIdentity,
    Event,
    Memory,
    NewMemory,
    Order,
    Origin,
    Page,
    Question,
    State,
    StoreStats,
    TermCounts,
)
from zapomni_db.sqlite import memories, origins, purge, vectors
from zapomni_db.sqlite.backup import back_up, restore_backup
from zapomni_db.sqlite.check import problems
from zapomni_db.sqlite.connection import last_change, one, rows, shown, transaction
from zapomni_db.sqlite.files import size_of, wal_of
from zapomni_db.sqlite.graph.store import SQLiteGraph
from zapomni_db.sqlite.jobs import SQLiteJobs
from zapomni_db.sqlite.reembedding import SQLiteVectors
from zapomni_db.sqlite.search import LiveChunks
from zapomni_db.sqlite.sessions import SQLiteSessions
from zapomni_db.sqlite.texts import find_chunks
from zapomni_db.sqlite.threads import Threads
from zapomni_db.sqlite.view import Views
from zapomni_db.values import check_text

SWEEP_SECONDS = 60.0
"""The time that a purge waits for readers."""
SWEEP_PAUSE = 0.2

T = TypeVar("T")


class SQLiteStore:
    """A MemoryStore and FileStore in one file. Nothing is opened and no thread is started before the first use.

    `patience` is for how many seconds a write waits while other processes write.
    """

    def __init__(self, path: Path, *, patience: float = 20) -> None:
        self._threads = Threads(path, patience)
        self._views = Views(self._threads.guard)
        self.jobs = SQLiteJobs(self._threads)
        self.graph = SQLiteGraph(self._threads)
        self.sessions = SQLiteSessions(self._threads)
        self.vectors = SQLiteVectors(self._threads)

    async def add(self, workspace: str, memories: Sequence[NewMemory]) -> list[Added]:
        return await self._threads.write(partial(origins.add_all, workspace=workspace, new=memories))

    async def origins(self, workspace: str, memory_ids: Sequence[str]) -> list[Origin]:
        return await self._threads.query(lambda connection: origins.read(connection, workspace, memory_ids))

    async def get(self, workspace: str, memory_id: str = "", *, key: str = "") -> Memory | None:
        return await self._threads.query(lambda connection: memories.get(connection, workspace, memory_id, key))

    async def list_memories(
        self,
        workspace: str,
        wanted: Filter = NO_FILTER,
        *,
        state: State = "live",
        order: Order = "newest",
        after: str = "",
        limit: int = 100,
    ) -> Page:
        check_text("workspace", workspace)
        return await self._threads.query(
            partial(
                memories.list_page,
                workspace=workspace,
                wanted=wanted,
                state=state,
                order=order,
                after=after,
                limit=limit,
            )
        )

    async def change(self, workspace: str, memory_id: str, change: Change, *, by: str = "") -> Memory | None:
        return await self._threads.write(
            lambda connection: memories.change(connection, workspace, memory_id, change, by)
        )

    async def history(self, workspace: str, memory_id: str) -> Sequence[Event]:
        def read(connection: apsw.Connection) -> Sequence[Event]:
            row = memories.find(connection, workspace, memory_id)
            return memories.history(connection, row.id) if row else []

        return await self._threads.query(read)

    async def purge(self, workspace: str, memory_ids: Sequence[str]) -> int:
        check_text("workspace", workspace)
        removed = 0
        for start in range(0, len(memory_ids), purge.BATCH):
            batch = memory_ids[start : start + purge.BATCH]
            removed += await self._threads.write(partial(purge.purge, workspace=workspace, uids=batch))
        if await self._threads.query(purge.is_sweep_due):
            await self._sweep()
        return removed

    async def _sweep(self) -> None:
        """Remove the traces of purged memories, as soon as no reader uses the old contents."""
        begun = time.monotonic()
        left = f"What was purged is gone, but traces of it stay in the files of the store {shown(self._threads.path)}"
        try:
            while not await self._threads.write(purge.sweep, alone=True):
                if time.monotonic() - begun > SWEEP_SECONDS:
                    raise StoreUnavailableError(
                        f"{left}, because another process has been reading it for long: purge again later."
                    )
                await asyncio.sleep(SWEEP_PAUSE)
        except StoreFullError as error:
            raise StoreFullError(
                f"{left}: rewriting them takes the same space again, on their disk and for temporary files"
                " (TMPDIR). Free some space and purge again."
            ) from error

    async def term_counts(self, workspace: str, terms: Sequence[str]) -> TermCounts:
        return await self._search(workspace, lambda live: live.term_counts(terms))

    async def candidates(self, workspace: str, question: Question) -> Candidates:
        return await self._search(workspace, lambda live: live.candidates(question))

    async def chunks(self, workspace: str, chunks: Sequence[str]) -> list[ChunkFound]:
        numbers = np.array([int(chunk) for chunk in chunks], np.int64)
        return await self._threads.query(lambda connection: find_chunks(connection, numbers, workspace))

    async def _search(self, workspace: str, work: Callable[[LiveChunks], T]) -> T:
        check_text("workspace", workspace)

        def at_one_moment(connection: apsw.Connection) -> T:
            with transaction(connection, "DEFERRED"):
                return work(self._views.live(connection, workspace))

        return await self._threads.read(at_one_moment)

    async def embedder(self, workspace: str) -> EmbedderIdentity | None:
        serving = await self._threads.query(partial(vectors.serving, workspace=workspace))
        return serving.identity if serving else None

    async def stats(self, workspace: str) -> StoreStats:
        check_text("workspace", workspace)
        path = self._threads.open().path
        return await self._threads.query(lambda connection: _stats(connection, path, workspace))

    async def health(self) -> list[str]:
        try:
            await self._threads.query(last_change)
            await self._threads.write(last_change)
        except DatabaseError as error:
            return [str(error)]
        return []

    async def check(self) -> list[str]:
        database = self._threads.open()

        def look(_: apsw.Connection) -> list[str]:
            with closing(database.connect()) as fresh, transaction(fresh, "DEFERRED"):
                return problems(fresh)

        try:
            return await self._threads.read(look)
        except StoreDamagedError as error:
            return [str(error)]

    async def backup(self, target: Path) -> None:
        path = self._threads.open().path
        await self._threads.read(lambda connection: back_up(connection, path, target))

    async def restore_backup(self, source: Path) -> Path | None:
        return await asyncio.to_thread(restore_backup, self._threads.path, source, self._threads.patience)

    async def close(self) -> None:
        await self._threads.close()


_LIVE = (
    "SELECT count(*), coalesce(sum(chunks), 0) FROM memory"
    " WHERE workspace = ? AND deleted_at IS NULL AND replaced_by IS NULL"
)
_DELETED = "SELECT count(*) FROM memory WHERE workspace = ? AND deleted_at IS NOT NULL"
_SUPERSEDED = "SELECT count(*) FROM memory WHERE workspace = ? AND replaced_by IS NOT NULL AND deleted_at IS NULL"


def _stats(connection: apsw.Connection, path: Path, workspace: str) -> StoreStats:
    """The figures of a workspace and of the file."""
    memories, chunks = one(connection, _LIVE, workspace)
    serving = vectors.serving(connection, workspace)
    return StoreStats(
        memories=memories,
        chunks=chunks,
        deleted=one(connection, _DELETED, workspace),
        superseded=one(connection, _SUPERSEDED, workspace),
        size_bytes=size_of(path) + size_of(wal_of(path)),
        embedder=serving.identity if serving else None,
        store="sqlite",
        location=str(path),
        workspaces=_workspaces(connection),
        details={"sqlite_version": apsw.sqlite_lib_version(), "format_version": connection.pragma("user_version")},
    )


def _workspaces(connection: apsw.Connection) -> tuple[str, ...]:
    """The workspaces with memories, hidden ones too; three indexes know them together."""
    found = rows(
        connection,
        "SELECT DISTINCT workspace FROM memory WHERE deleted_at IS NULL AND replaced_by IS NULL"
        " UNION SELECT DISTINCT workspace FROM memory WHERE deleted_at IS NOT NULL"
        " UNION SELECT DISTINCT workspace FROM memory WHERE replaced_by IS NOT NULL ORDER BY workspace",
    )
    return tuple(name for (name,) in found)
