"""The graph of a SQLite store."""

from collections.abc import Sequence
from datetime import datetime

from zapomni_db.records import (
    Direction,
    Entity,
    Extraction,
    FactsStated,
    GraphCounts,
    NewFact,
    Relation,
    Surroundings,
)
from zapomni_db.sqlite.graph import query, record
from zapomni_db.sqlite.graph.query import Wanted
from zapomni_db.sqlite.threads import Threads


class SQLiteGraph:
    """A GraphStore in the same file as the memories."""

    def __init__(self, threads: Threads) -> None:
        self._threads = threads

    async def state_facts(
        self, workspace: str, memory_id: str, facts: Sequence[NewFact], *, by: str = ""
    ) -> FactsStated:
        return await self._threads.write(
            lambda connection: record.state_facts(connection, workspace, memory_id, facts, by)
        )

    async def record(self, workspace: str, memory_id: str, extraction: Extraction) -> bool:
        return await self._threads.write(lambda connection: record.record(connection, workspace, memory_id, extraction))

    async def unread(
        self, workspace: str, extractor: str, limit: int, after: str | None = None
    ) -> tuple[list[str], int]:
        return await self._threads.query(
            lambda connection: query.unread(connection, workspace, extractor, limit, after)
        )

    async def reading(self, workspace: str, memory_id: str, extractor: str) -> tuple[int, int] | None:
        return await self._threads.query(lambda connection: query.reading(connection, workspace, memory_id, extractor))

    async def entities(self, workspace: str, names: Sequence[str]) -> list[Entity]:
        found = await self._threads.query(lambda connection: query.entities(connection, workspace, names))
        return list(found.values())

    async def entities_of(self, workspace: str, memory_id: str) -> list[Entity]:
        return await self._threads.query(lambda connection: query.entities_of(connection, workspace, memory_id))

    async def find(self, workspace: str, text: str, limit: int) -> list[tuple[Entity, float]]:
        return await self._threads.query(lambda connection: query.find(connection, workspace, text, limit))

    async def related(
        self,
        workspace: str,
        names: Sequence[str],
        *,
        depth: int = 1,
        direction: Direction = "both",
        types: Sequence[str] = (),
        at: datetime | None = None,
        ended: bool = False,
        limit: int = 50,
    ) -> Surroundings:
        wanted = Wanted(depth=depth, direction=direction, types=types, at=at, ended=ended, limit=limit)
        return await self._threads.query(lambda connection: query.related(connection, workspace, names, wanted))

    async def facts(self, workspace: str, after: str = "", limit: int = 100) -> list[Relation]:
        return await self._threads.query(lambda connection: query.facts(connection, workspace, after, limit))

    async def counts(self, workspace: str) -> GraphCounts:
        return await self._threads.query(lambda connection: query.counts(connection, workspace))
