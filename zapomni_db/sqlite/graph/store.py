"""The graph of a SQLite store."""

import time
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import apsw

from zapomni_db.records import (
    MENTIONED_WITH,
    Direction,
    Entity,
    Extraction,
    FactsStated,
    GraphCounts,
    NewFact,
    Relation,
    Surroundings,
)
from zapomni_db.sqlite.connection import one
from zapomni_db.sqlite.graph import query, record
from zapomni_db.sqlite.graph.query import IS_CURRENT, Wanted
from zapomni_db.sqlite.threads import Threads
from zapomni_db.values import check_text, is_text


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
        return await self._threads.query(lambda connection: _unread(connection, workspace, extractor, limit, after))

    async def reading(self, workspace: str, memory_id: str, extractor: str) -> tuple[int, int] | None:
        return await self._threads.query(lambda connection: _reading(connection, workspace, memory_id, extractor))

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
        return await self._threads.query(lambda connection: _counts(connection, workspace))


_LIVE_MEMORY = "workspace = :workspace AND deleted_at IS NULL AND replaced_by IS NULL"
_ENTITIES = "SELECT count(*), coalesce(sum(mentions), 0) FROM entity WHERE workspace = ? AND memories > 0"
_COUNTED = f"""
SELECT x.type = :mentioned, {IS_CURRENT}, count(*)
FROM entity CROSS JOIN relation x ON x.subject = entity.id
WHERE workspace = :workspace AND memories > 0 AND x.evidence > 0 GROUP BY 1, 2
"""  # noqa: S608 - ours
_READ = f"""
SELECT extractor, count(*) FROM reading JOIN memory ON memory.id = reading.memory WHERE {_LIVE_MEMORY} GROUP BY extractor
"""  # noqa: S608 - ours
_MEMORIES = f"SELECT count(*) FROM memory WHERE {_LIVE_MEMORY}"  # noqa: S608 - ours
_UNREAD = f"""
SELECT uid FROM memory WHERE {_LIVE_MEMORY} AND id > :after
    AND NOT EXISTS (SELECT 1 FROM reading WHERE reading.memory = memory.id AND extractor = :extractor)
ORDER BY id LIMIT :limit
"""  # noqa: S608 - ours
_READ_BY = f"""
SELECT count(*) FROM reading JOIN memory ON memory.id = reading.memory WHERE extractor = :extractor AND {_LIVE_MEMORY}
"""  # noqa: S608 - ours
_READING = """
SELECT
    (SELECT count(DISTINCT entity) FROM mention JOIN spelling ON spelling.id = mention.spelling
        WHERE mention.memory = reading.memory AND mention.extractor = reading.extractor),
    (SELECT count(DISTINCT relation) FROM evidence
        WHERE evidence.memory = reading.memory AND evidence.extractor = reading.extractor)
FROM memory JOIN reading ON reading.memory = memory.id WHERE uid = ? AND workspace = ? AND extractor = ?
"""


def _counts(connection: apsw.Connection, workspace: str) -> GraphCounts:
    """The figures of a workspace."""
    asked: dict[str, Any] = {"workspace": check_text("workspace", workspace)}
    entities, mentions = one(connection, _ENTITIES, workspace)
    now = {"now": time.time_ns() // 1000, "mentioned": MENTIONED_WITH}
    counted = {(together, current): count for together, current, count in connection.execute(_COUNTED, asked | now)}
    return GraphCounts(
        entities=entities,
        facts=counted.get((0, 1), 0),
        ended=counted.get((0, 0), 0),
        together=counted.get((1, 1), 0) + counted.get((1, 0), 0),
        mentions=mentions,
        memories=connection.execute(_MEMORIES, asked).get,
        read=dict(connection.execute(_READ, asked)),
    )


def _reading(connection: apsw.Connection, workspace: str, memory_id: str, extractor: str) -> tuple[int, int] | None:
    """The numbers of entities and relations that an extractor found in a memory."""
    if not all(map(is_text, (workspace, memory_id, extractor))):
        return None
    found: tuple[int, int] | None = one(connection, _READING, memory_id, workspace, extractor)
    return found


def _unread(
    connection: apsw.Connection, workspace: str, extractor: str, limit: int, after: str | None
) -> tuple[list[str], int]:
    """Ids of live memories that an extractor has not read, from after one on, and how many there are in all."""
    asked: dict[str, str | int] = {
        "workspace": check_text("workspace", workspace),
        "extractor": check_text("extractor", extractor),
        "after": _number(connection, workspace, after),
        "limit": limit,
    }
    found = [uid for (uid,) in connection.execute(_UNREAD, asked)]
    return found, connection.execute(_MEMORIES, asked).get - connection.execute(_READ_BY, asked).get


def _number(connection: apsw.Connection, workspace: str, memory_id: str | None) -> int:
    if memory_id is None or not is_text(memory_id):
        return 0
    return one(connection, "SELECT id FROM memory WHERE uid = ? AND workspace = ?", memory_id, workspace) or 0
