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

from zapomni_db.arrays import Vector
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
    Page,
    Question,
    State,
    StoreStats,
    TermCounts,
)
from zapomni_db.sqlite import adding, embedders, hiding, memories, purging, reembedding
from zapomni_db.sqlite.access import Access
from zapomni_db.sqlite.backup import back_up
from zapomni_db.sqlite.changes import history
from zapomni_db.sqlite.checking import problems
from zapomni_db.sqlite.chunks import found
from zapomni_db.sqlite.connections import last_change, transaction
from zapomni_db.sqlite.conversations.conversations import SQLiteConversations
from zapomni_db.sqlite.failures import shown
from zapomni_db.sqlite.graph.store import SQLiteGraph
from zapomni_db.sqlite.jobs import SQLiteJobs
from zapomni_db.sqlite.restoring import restore_backup
from zapomni_db.sqlite.search import LiveChunks
from zapomni_db.sqlite.statistics import statistics
from zapomni_db.sqlite.values import check_text

SWEEP_SECONDS = 60.0
"""For how long a purge waits for those who read."""
SWEEP_PAUSE = 0.2

T = TypeVar("T")


class SQLiteStore:
    """A MemoryStore, Reembedding and FileStore, in one file. Nothing is opened and no thread is started before the first use.

    `patience` is for how many seconds one waits to write while other processes do.
    """

    def __init__(self, path: Path, *, patience: float = 20) -> None:
        self._access = Access(path, patience)
        self.jobs = SQLiteJobs(self._access)
        self.conversations = SQLiteConversations(self._access)
        self.graph = SQLiteGraph(self._access)

    async def add(self, workspace: str, memories: Sequence[NewMemory]) -> list[Added]:
        return await self._access.write(partial(adding.add, workspace=workspace, new=memories))

    async def get(self, workspace: str, memory_id: str = "", *, key: str = "") -> Memory | None:
        return await self._access.query(lambda connection: memories.get(connection, workspace, memory_id, key))

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
        return await self._access.query(
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
        return await self._access.write(lambda connection: hiding.apply(connection, workspace, memory_id, change, by))

    async def history(self, workspace: str, memory_id: str) -> Sequence[Event]:
        def read(connection: apsw.Connection) -> Sequence[Event]:
            row = memories.find(connection, workspace, memory_id)
            return history(connection, row.id) if row else []

        return await self._access.query(read)

    async def purge(self, workspace: str, memory_ids: Sequence[str]) -> int:
        check_text("workspace", workspace)
        removed = 0
        for start in range(0, len(memory_ids), purging.BATCH):
            batch = memory_ids[start : start + purging.BATCH]
            removed += await self._access.write(partial(purging.purge, workspace=workspace, uids=batch))
        if await self._access.query(purging.is_sweep_due):
            await self._sweep()
        return removed

    async def _sweep(self) -> None:
        """Remove the traces of what was purged, as soon as nobody reads what was there before."""
        begun = time.monotonic()
        left = f"What was purged is gone, but traces of it stay in the files of the store {shown(self._access.path)}"
        try:
            while not await self._access.write(purging.sweep, alone=True):
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
                return work(views.live(connection, workspace))

        return await self._access.read(at_one_moment)

    async def embedder(self, workspace: str) -> EmbedderIdentity | None:
        serving = await self._access.query(partial(embedders.serving, workspace=workspace))
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

    async def pending(
        self, workspace: str, embedder: EmbedderIdentity, limit: int
    ) -> tuple[list[tuple[int, ChunkFound]], int]:
        return await self._access.query(lambda connection: reembedding.pending(connection, workspace, embedder, limit))

    async def fill(self, workspace: str, embedder: EmbedderIdentity, vectors: Sequence[tuple[int, Vector]]) -> None:
        await self._access.write(lambda connection: reembedding.fill(connection, workspace, embedder, vectors))

    async def switch(self, workspace: str, embedder: EmbedderIdentity) -> None:
        check_text("workspace", workspace)
        await self._access.write(lambda connection: reembedding.switch(connection, workspace, embedder))
        while await self._access.write(partial(reembedding.forget_some, workspace=workspace)):
            pass

    async def outdated(self, workspace: str, analyser: int, limit: int) -> tuple[list[tuple[int, ChunkFound]], int]:
        return await self._access.query(lambda connection: reembedding.outdated(connection, workspace, analyser, limit))

    async def replace_terms(self, workspace: str, analyser: int, terms: Sequence[tuple[int, Sequence[str]]]) -> None:
        await self._access.write(lambda connection: reembedding.replace_terms(connection, workspace, analyser, terms))

    async def close(self) -> None:
        await self._access.close()
