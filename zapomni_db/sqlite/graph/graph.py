"""The graph of a SQLite store."""

from collections.abc import Sequence
from datetime import datetime

from zapomni_db.arrays import Vector
from zapomni_db.records import Direction, EmbedderIdentity, Entity, Extraction, GraphCounts, Surroundings
from zapomni_db.sqlite.access import Access
from zapomni_db.sqlite.graph import counting, entities, finding, recording, relating
from zapomni_db.sqlite.graph import vectors as entity_vectors
from zapomni_db.sqlite.graph.relating import Wanted


class SQLiteGraph:
    """A GraphStore in the same file as the memories."""

    def __init__(self, access: Access) -> None:
        self._access = access

    async def record(self, workspace: str, memory_id: str, extraction: Extraction) -> bool:
        return await self._access.write(
            lambda connection: recording.record(connection, workspace, memory_id, extraction)
        )

    async def unread(
        self, workspace: str, extractor: str, limit: int, after: str | None = None
    ) -> tuple[list[str], int]:
        return await self._access.query(
            lambda connection: counting.unread(connection, workspace, extractor, limit, after)
        )

    async def reading(self, workspace: str, memory_id: str, extractor: str) -> tuple[int, int] | None:
        return await self._access.query(
            lambda connection: counting.reading(connection, workspace, memory_id, extractor)
        )

    async def entities(self, workspace: str, names: Sequence[str]) -> list[Entity]:
        found = await self._access.query(lambda connection: entities.by_name(connection, workspace, names))
        return list(found.values())

    async def entities_of(self, workspace: str, memory_id: str) -> list[Entity]:
        return await self._access.query(lambda connection: entities.mentioned(connection, workspace, memory_id))

    async def find(
        self, workspace: str, text: str, vector: Vector | None, embedder: EmbedderIdentity | None, limit: int
    ) -> list[tuple[Entity, float]]:
        meaning = None if vector is None or embedder is None else (embedder, vector)
        return await self._access.query(lambda connection: finding.find(connection, workspace, text, meaning, limit))

    async def related(
        self,
        workspace: str,
        names: Sequence[str],
        *,
        depth: int = 1,
        direction: Direction = "both",
        types: Sequence[str] = (),
        at: datetime | None = None,
        superseded: bool = False,
        limit: int = 50,
    ) -> Surroundings:
        wanted = Wanted(depth=depth, direction=direction, types=types, at=at, superseded=superseded, limit=limit)
        return await self._access.query(lambda connection: relating.related(connection, workspace, names, wanted))

    async def without_vector(
        self, embedder: EmbedderIdentity, limit: int, workspace: str | None = None
    ) -> list[tuple[str, str]]:
        return await self._access.query(
            lambda connection: entity_vectors.without(connection, embedder, limit, workspace)
        )

    async def fill(self, embedder: EmbedderIdentity, vectors: Sequence[tuple[str, Vector]]) -> None:
        await self._access.write(lambda connection: entity_vectors.fill(connection, embedder, vectors))

    async def counts(self, workspace: str) -> GraphCounts:
        return await self._access.query(lambda connection: counting.counts(connection, workspace))
