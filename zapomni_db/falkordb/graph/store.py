"""The graph of a FalkorDB store."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial

from zapomni_db.falkordb.client import FalkorDBClient
from zapomni_db.falkordb.graph import query, record
from zapomni_db.falkordb.graph.query import Wanted
from zapomni_db.falkordb.transaction import Transaction, Transactions
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


class FalkorDBGraph:
    """A GraphStore in the same graph as the memories."""

    def __init__(self, client: FalkorDBClient, transactions: Transactions) -> None:
        self._client = client
        self._transactions = transactions

    async def state_facts(
        self, workspace: str, memory_id: str, facts: Sequence[NewFact], *, by: str = ""
    ) -> FactsStated:
        async def work(tx: Transaction) -> tuple[FactsStated, list[str], int]:
            return *await record.state_facts(tx, memory_id, facts, by), tx.now

        stated, relations, now = await self._transactions.run(workspace, work)
        others = await query.also_current(self._client, workspace, relations, now)
        return stated._replace(also_current=tuple(others))

    async def record(self, workspace: str, memory_id: str, extraction: Extraction) -> bool:
        work = partial(record.record, memory_id=memory_id, extraction=extraction)
        return await self._transactions.run(workspace, work)

    async def unread(
        self, workspace: str, extractor: str, limit: int, after: str | None = None
    ) -> tuple[list[str], int]:
        return await query.unread(self._client, workspace, extractor, limit, after)

    async def reading(self, workspace: str, memory_id: str, extractor: str) -> tuple[int, int] | None:
        return await query.reading(self._client, workspace, memory_id, extractor)

    async def entities(self, workspace: str, names: Sequence[str]) -> list[Entity]:
        return await query.entities(self._client, workspace, names)

    async def entities_of(self, workspace: str, memory_id: str) -> list[Entity]:
        return await query.entities_of(self._client, workspace, memory_id)

    async def find(self, workspace: str, text: str, limit: int) -> list[tuple[Entity, float]]:
        return await query.find(self._client, workspace, text, limit)

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
        return await query.related(self._client, workspace, names, wanted)

    async def facts(self, workspace: str, after: str = "", limit: int = 100) -> list[Relation]:
        return await query.facts(self._client, workspace, after, limit)

    async def counts(self, workspace: str) -> GraphCounts:
        return await query.counts(self._client, workspace)
