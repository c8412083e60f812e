"""Gives a workspace the vectors of another embedder, or the terms of another analyser, while the old ones serve. Each step is whole, so it can be cut anywhere."""

from collections.abc import Sequence

import apsw

from zapomni_db.arrays import Vector
from zapomni_db.errors import EmbedderMismatchError
from zapomni_db.records import ChunkFound, EmbedderIdentity
from zapomni_db.sqlite import chunks, embedders, memories
from zapomni_db.sqlite.changes import record, record_reload
from zapomni_db.sqlite.connections import one
from zapomni_db.sqlite.embedders import Embedder
from zapomni_db.sqlite.terms import drop_terms, keep_terms
from zapomni_db.sqlite.values import integers

BATCH = 1000  # vectors forgotten in one transaction: others wait for it
_PENDING = """
FROM chunk JOIN memory ON memory.id = chunk.memory
WHERE memory.workspace = ?1 AND NOT EXISTS (SELECT 1 FROM code WHERE code.id = chunk.id + ?2)
"""
_COUNT = f"SELECT count(*) {_PENDING}"
# The newest first: they are what is pending for the embedder that serves.
_NEWEST = f"SELECT group_concat(id) FROM (SELECT chunk.id {_PENDING} ORDER BY chunk.id DESC LIMIT ?3)"  # noqa: S608 - ours
_OUTDATED = "FROM chunk JOIN memory ON memory.id = chunk.memory WHERE memory.workspace = ?1 AND chunk.analyser != ?2"
_OTHERS = """
SELECT group_concat(id) FROM (
    SELECT code.id FROM memory CROSS JOIN chunk ON chunk.id BETWEEN first_chunk AND first_chunk + chunks - 1
    CROSS JOIN code ON code.id = chunk.id + ?2 WHERE memory.workspace = ?1 LIMIT ?3
)
"""


def pending(
    connection: apsw.Connection, workspace: str, identity: EmbedderIdentity, limit: int
) -> tuple[list[tuple[int, ChunkFound]], int]:
    """Some chunks of a workspace without a vector by this embedder, hidden ones too, and how many there are."""
    embedder = embedders.find(connection, identity)
    wanted = (workspace, _shift(embedder))
    total = one(connection, _COUNT, *wanted) if _is_any_missing(connection, embedder) else 0
    numbers = integers(one(connection, _NEWEST, *wanted, limit) if total else None)
    return list(zip(numbers.tolist(), chunks.found(connection, numbers), strict=True)), total


def fill(
    connection: apsw.Connection,
    workspace: str,
    identity: EmbedderIdentity,
    vectors: Sequence[tuple[int, Vector]],
) -> None:
    """Keep vectors of chunks that are still there; inside a transaction. Views learn of those that serve."""
    embedder = embedders.register(connection, identity)
    found = [_memory_of(connection, workspace, number) for number, _ in vectors]
    there = [vector for vector, memory in zip(vectors, found, strict=True) if memory is not None]
    embedders.keep_vectors(connection, embedder, there)
    if embedder == embedders.serving(connection, workspace):
        for memory in dict.fromkeys(number for number in found if number is not None):
            record(connection, workspace, memory, "embedded")


def _is_any_missing(connection: apsw.Connection, embedder: Embedder | None) -> bool:
    """Whether any chunk of the store has no vector by an embedder: fast to tell, and mostly none has."""
    chunks_there: int = one(connection, "SELECT count(*) FROM chunk")
    if embedder is None:
        return chunks_there > 0
    have = "SELECT count(*) FROM code WHERE id BETWEEN ? AND ?"
    return chunks_there > int(one(connection, have, *embedder.vector_numbers))


def _memory_of(connection: apsw.Connection, workspace: str, chunk: int) -> int | None:
    statement = (
        "SELECT memory.id FROM chunk JOIN memory ON memory.id = chunk.memory WHERE chunk.id = ? AND workspace = ?"
    )
    number: int | None = one(connection, statement, chunk, workspace)
    return number


def outdated(
    connection: apsw.Connection, workspace: str, analyser: int, limit: int
) -> tuple[list[tuple[int, ChunkFound]], int]:
    """Some chunks of a workspace whose terms another analyser made, hidden ones too, and how many there are."""
    total = one(connection, f"SELECT count(*) {_OUTDATED}", workspace, analyser)
    first = f"SELECT group_concat(id) FROM (SELECT chunk.id {_OUTDATED} LIMIT ?3)"  # noqa: S608 - ours
    numbers = integers(one(connection, first, workspace, analyser, limit) if total else None)
    return list(zip(numbers.tolist(), chunks.found(connection, numbers), strict=True)), total


def replace_terms(
    connection: apsw.Connection, workspace: str, analyser: int, new: Sequence[tuple[int, Sequence[str]]]
) -> None:
    """Keep other terms of chunks that are still there; inside a transaction. Views learn of their lengths."""
    found = {number: _memory_of(connection, workspace, number) for number, _ in new}
    there = [(number, terms) for number, terms in new if found[number] is not None]
    drop_terms(connection, [number for number, _ in there])
    keep_terms(connection, there)
    connection.executemany(
        "UPDATE chunk SET length = ?, analyser = ? WHERE id = ?",
        [(len(terms), analyser, number) for number, terms in there],
    )
    for memory in dict.fromkeys(number for number in found.values() if number is not None):
        memories.seal_again(connection, memory)
        record(connection, workspace, memory, "analysed")


def switch(connection: apsw.Connection, workspace: str, identity: EmbedderIdentity) -> None:
    """Let this embedder's vectors serve in a workspace; inside a transaction."""
    embedder = embedders.register(connection, identity)
    left = one(connection, _COUNT, workspace, _shift(embedder))
    if left:
        raise EmbedderMismatchError(f"{left} chunks have no vector by {embedders.describe(identity)} yet.")
    embedders.serve(connection, workspace, embedder)
    record_reload(connection, workspace)


def forget_some(connection: apsw.Connection, workspace: str) -> bool:
    """Forget some vectors of a workspace by embedders that do not serve it; False when there are none; inside a transaction."""
    serving = embedders.serving(connection, workspace)
    for embedder in embedders.everyone(connection):
        if embedder == serving:
            continue
        numbers = integers(one(connection, _OTHERS, workspace, _shift(embedder), BATCH))
        if len(numbers):
            embedders.forget_vectors(connection, numbers)
            return True
    embedders.forget_unused(connection)
    return False


def _shift(embedder: Embedder | None) -> int:
    return embedder.vector_number(0) if embedder else 0
