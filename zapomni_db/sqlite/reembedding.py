"""Gives the store the vectors of another embedder while the old ones serve. Each step is whole, so it can be cut anywhere."""

from collections.abc import Sequence

import apsw

from zapomni_db.arrays import Vector
from zapomni_db.errors import EmbedderMismatchError
from zapomni_db.records import ChunkFound, EmbedderIdentity
from zapomni_db.sqlite import chunks, embedders
from zapomni_db.sqlite.changes import record, record_reload
from zapomni_db.sqlite.connections import one
from zapomni_db.sqlite.embedders import Embedder
from zapomni_db.sqlite.graph import vectors as entity_vectors
from zapomni_db.sqlite.values import integers

BATCH = 1000  # vectors forgotten in one transaction: others wait for it
_PENDING = """
FROM chunk JOIN memory ON memory.id = chunk.memory
WHERE NOT EXISTS (SELECT 1 FROM code WHERE code.id = chunk.id + ?1) AND (?2 IS NULL OR memory.workspace = ?2)
"""
_COUNT = f"SELECT count(*) {_PENDING}"
# The newest first: they are what is pending for the embedder that serves.
_NEWEST = f"SELECT group_concat(id) FROM (SELECT chunk.id {_PENDING} ORDER BY chunk.id DESC LIMIT ?3)"  # noqa: S608 - ours


def pending(
    connection: apsw.Connection, identity: EmbedderIdentity, limit: int, workspace: str | None
) -> tuple[list[tuple[int, ChunkFound]], int]:
    """Some chunks without a vector by this embedder, hidden ones too, and how many there are; of one workspace or of all."""
    embedder = embedders.find(connection, identity)
    total = _count_pending(connection, embedder)
    wanted = (embedder.vector_number(0) if embedder else 0, workspace)
    if total and workspace is not None:
        total = one(connection, _COUNT, *wanted)
    if not total:
        return [], 0
    numbers = integers(one(connection, _NEWEST, *wanted, limit))
    return list(zip(numbers.tolist(), chunks.found(connection, numbers), strict=True)), total


def fill(connection: apsw.Connection, identity: EmbedderIdentity, vectors: Sequence[tuple[int, bytes, Vector]]) -> None:
    """Keep vectors of chunks that are still there; inside a transaction. Views learn of those that serve."""
    embedder = embedders.register(connection, identity)
    memories = [one(connection, "SELECT memory FROM chunk WHERE id = ?", number) for number, _, _ in vectors]
    there = [vector for vector, memory in zip(vectors, memories, strict=True) if memory is not None]
    embedders.keep_vectors(connection, embedder, there)
    if embedder == embedders.serving(connection):
        for memory in dict.fromkeys(number for number in memories if number is not None):
            workspace = one(connection, "SELECT workspace FROM memory WHERE id = ?", memory)
            record(connection, workspace, memory, "embedded")


def switch(connection: apsw.Connection, identity: EmbedderIdentity) -> None:
    """Let this embedder's vectors serve; inside a transaction."""
    embedder = embedders.register(connection, identity)
    left = _count_pending(connection, embedder)
    if left:
        raise EmbedderMismatchError(f"{left} chunks have no vector by {embedders.describe(identity)} yet.")
    embedders.serve(connection, embedder)
    record_reload(connection)


def forget_some(connection: apsw.Connection) -> bool:
    """Forget some vectors of an embedder that does not serve; False when there is none; inside a transaction."""
    other = embedders.find_idle(connection)
    if other is None:
        return False
    if not (embedders.forget_vectors(connection, other, BATCH) or entity_vectors.forget(connection, other, BATCH)):
        embedders.forget(connection, other)
    return True


def _count_pending(connection: apsw.Connection, embedder: Embedder | None) -> int:
    total: int = one(connection, "SELECT count(*) FROM chunk")
    if embedder is None:
        return total
    return total - int(one(connection, "SELECT count(*) FROM code WHERE id BETWEEN ? AND ?", *embedder.vector_numbers))
