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


def pending(
    connection: apsw.Connection, identity: EmbedderIdentity, limit: int
) -> tuple[list[tuple[int, ChunkFound]], int]:
    """Some chunks without a vector by this embedder, hidden ones too, and how many there are."""
    embedder = embedders.find(connection, identity)
    total = _count_pending(connection, embedder)
    if not total:
        return [], 0
    numbers = integers(  # the newest first: they are what is pending for the embedder that serves
        one(
            connection,
            "SELECT group_concat(id) FROM (SELECT id FROM chunk WHERE NOT EXISTS"
            " (SELECT 1 FROM code WHERE code.id = chunk.id + ?) ORDER BY id DESC LIMIT ?)",
            embedder.vector_number(0) if embedder else 0,
            limit,
        )
    )
    return list(zip(numbers.tolist(), chunks.found(connection, numbers), strict=True)), total


def fill(connection: apsw.Connection, identity: EmbedderIdentity, vectors: Sequence[tuple[int, Vector]]) -> None:
    """Keep vectors of chunks that are still there; inside a transaction. Views learn of those that serve."""
    embedder = embedders.register(connection, identity)
    memories = [one(connection, "SELECT memory FROM chunk WHERE id = ?", number) for number, _ in vectors]
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
