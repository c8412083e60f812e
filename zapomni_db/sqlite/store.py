"""The SQLite store: one file, any number of processes, many workspaces."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

import apsw
import numpy as np

from zapomni_db.arrays import Vector
from zapomni_db.errors import DatabaseError, StoreDamagedError, StoreFullError, StoreUnavailableError
from zapomni_db.records import (
    Added,
    Candidates,
    ChunkFound,
    EmbedderIdentity,
    Memory,
    NewMemory,
    Question,
    StoreStats,
    TermCounts,
)
from zapomni_db.sqlite import adding, embedders, hiding, memories, purging, reembedding
from zapomni_db.sqlite.access import Access
from zapomni_db.sqlite.backup import back_up
from zapomni_db.sqlite.checking import problems
from zapomni_db.sqlite.chunks import found
from zapomni_db.sqlite.connections import last_change, transaction
from zapomni_db.sqlite.conversations.conversations import SQLiteConversations
from zapomni_db.sqlite.failures import shown
from zapomni_db.sqlite.graph.graph import SQLiteGraph
from zapomni_db.sqlite.jobs import SQLiteJobs
from zapomni_db.sqlite.restoring import restore_backup
from zapomni_db.sqlite.search import LiveChunks
from zapomni_db.sqlite.statistics import statistics
from zapomni_db.sqlite.values import check_text

_END_OF_TIME = 253_402_300_800  # seconds to the year 10000: "whenever it was deleted"
SWEEP_SECONDS = 60.0
"""For how long a thorough purge waits for those who read."""
SWEEP_PAUSE = 0.2

T = TypeVar("T")


class SQLiteStore:
    """A MemoryStore, Reembedding and BackupRestoring, in one file. Nothing is opened and no thread is started before the first use.

    `patience` is for how many seconds one waits to write while other processes do.
    """

    def __init__(self, path: Path, *, patience: float = 20) -> None:
        self._access = Access(path, patience)
        self.jobs = SQLiteJobs(self._access)
        self.conversations = SQLiteConversations(self._access)
        self.graph = SQLiteGraph(self._access)

    async def add(self, workspace: str, memory: NewMemory, embedder: EmbedderIdentity) -> Added:
        return await self._access.write(lambda connection: adding.add(connection, workspace, memory, embedder))

    async def find_same(
        self, workspace: str, text: str, metadata: Mapping[str, Any], kind: str = "memory"
    ) -> str | None:
        return await self._access.query(
            lambda connection: adding.find_same(connection, workspace, text, metadata, kind)
        )

    async def get(self, workspace: str, memory_id: str) -> Memory | None:
        return await self._access.query(lambda connection: memories.get(connection, workspace, memory_id))

    async def delete(self, workspace: str, memory_id: str) -> Memory | None:
        return await self._access.write(lambda connection: hiding.delete(connection, workspace, memory_id))

    async def restore(self, workspace: str, memory_id: str) -> Memory | None:
        return await self._access.write(lambda connection: hiding.restore(connection, workspace, memory_id))

    async def purge(
        self,
        workspace: str,
        *,
        deleted_before: float,
        memory_ids: Sequence[str] | None = None,
        thorough: bool = True,
    ) -> int:
        check_text("workspace", workspace)
        before = int(min(deleted_before, _END_OF_TIME) * 1_000_000)
        removed = 0
        if memory_ids is not None:
            removed = await self._access.write(
                lambda connection: purging.purge_named(connection, workspace, before, memory_ids)
            )
        else:
            while count := await self._access.write(
                lambda connection: purging.purge_some(connection, workspace, before)
            ):
                removed += count
        if await self._access.query(lambda connection: purging.is_sweep_due(connection, thorough=thorough)):
            await self._sweep(thorough=thorough)
        return removed

    async def _sweep(self, *, thorough: bool) -> None:
        """Remove the traces of what was purged; a thorough one goes on until nobody reads what was there before."""
        begun = time.monotonic()
        left = f"What was purged is gone, but traces of it stay in the files of the store {shown(self._access.path)}"
        try:
            while not await self._access.write(purging.sweep, alone=True) and thorough:
                if time.monotonic() - begun > SWEEP_SECONDS:
                    raise StoreUnavailableError(
                        f"{left}, because another process has been reading it for long: purge again later."
                    )
                await asyncio.sleep(SWEEP_PAUSE)
        except StoreFullError as error:
            raise StoreFullError(
                f"{left}: to write them anew takes as much room again, on their disk and where temporary files are kept"
                " (TMPDIR). Free some space and purge again."
            ) from error

    async def term_counts(self, workspace: str, terms: Sequence[str]) -> TermCounts:
        return await self._search(workspace, lambda live: live.term_counts(terms))

    async def candidates(self, workspace: str, question: Question) -> Candidates:
        return await self._search(workspace, lambda live: live.candidates(question))

    async def chunks(self, workspace: str, chunks: Sequence[str]) -> list[ChunkFound]:
        numbers = np.array([int(chunk) for chunk in chunks], np.int64)
        return await self._access.query(lambda connection: found(connection, numbers, workspace))

    async def _search(self, workspace: str, work: Callable[[LiveChunks], T]) -> T:
        check_text("workspace", workspace)
        views = self._access.open().views

        def at_one_moment(connection: apsw.Connection) -> T:
            with transaction(connection, "DEFERRED"):
                return work(views.snapshot(connection, workspace))

        return await self._access.read(at_one_moment)

    async def embedder(self) -> EmbedderIdentity | None:
        serving = await self._access.query(embedders.serving)
        return serving.identity if serving else None

    async def stats(self, workspace: str) -> StoreStats:
        check_text("workspace", workspace)
        path = self._access.open().database.path
        return await self._access.query(lambda connection: statistics(connection, path, workspace))

    async def health(self) -> list[str]:
        try:
            await self._access.query(last_change)
            await self._access.write(last_change)
        except DatabaseError as error:
            return [str(error)]
        return []

    async def check(self) -> list[str]:
        database = self._access.open().database

        def look(_: apsw.Connection) -> list[str]:
            with closing(database.connect()) as fresh, transaction(fresh, "DEFERRED"):
                return problems(fresh)

        try:
            return await self._access.read(look)
        except StoreDamagedError as error:
            return [str(error)]

    async def backup(self, target: Path) -> None:
        path = self._access.open().database.path
        await self._access.read(lambda connection: back_up(connection, path, target))

    async def restore_backup(self, source: Path) -> Path | None:
        return await asyncio.to_thread(restore_backup, self._access.path, source, self._access.patience)

    async def pending(self, embedder: EmbedderIdentity, limit: int) -> tuple[list[tuple[int, ChunkFound]], int]:
        return await self._access.query(lambda connection: reembedding.pending(connection, embedder, limit))

    async def fill(self, embedder: EmbedderIdentity, vectors: Sequence[tuple[int, Vector]]) -> None:
        await self._access.write(lambda connection: reembedding.fill(connection, embedder, vectors))

    async def switch(self, embedder: EmbedderIdentity) -> None:
        await self._access.write(lambda connection: reembedding.switch(connection, embedder))
        while await self._access.write(reembedding.forget_some):
            pass

    async def close(self) -> None:
        await self._access.close()
