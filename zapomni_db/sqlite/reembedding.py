"""Replaces the vectors of a workspace with those of another embedder, or its terms with those of another analyser.

The old ones serve meanwhile. Each step is a transaction, so the process may be killed at any point.
"""

from collections.abc import Sequence

import apsw

from zapomni_db.arrays import Vector
from zapomni_db.errors import EmbedderMismatchError
from zapomni_db.records import ChunkFound, EmbedderIdentity, VectorWeight
from zapomni_db.sqlite import memories, terms, texts, vectors
from zapomni_db.sqlite.connection import one
from zapomni_db.sqlite.threads import Threads
from zapomni_db.values import check_text, integers

BATCH = 1000  # vectors deleted in one transaction: other writers wait for it
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


class SQLiteVectors:
    """A VectorStore in the same file as the memories."""

    def __init__(self, threads: Threads) -> None:
        self._threads = threads

    async def pending(
        self, workspace: str, embedder: EmbedderIdentity, limit: int
    ) -> tuple[list[tuple[int, ChunkFound]], int]:
        return await self._threads.query(lambda connection: _pending(connection, workspace, embedder, limit))

    async def fill(self, workspace: str, embedder: EmbedderIdentity, vectors: Sequence[tuple[int, Vector]]) -> None:
        await self._threads.write(lambda connection: _fill(connection, workspace, embedder, vectors))

    async def switch(self, workspace: str, embedder: EmbedderIdentity) -> None:
        check_text("workspace", workspace)
        await self._threads.write(lambda connection: _switch(connection, workspace, embedder))
        while await self._threads.write(lambda connection: _delete_some(connection, workspace)):
            pass

    async def weight(self, workspace: str, embedder: EmbedderIdentity) -> VectorWeight | None:  # noqa: ARG002 (all workspaces share it)
        return await self._threads.query(lambda connection: vectors.weight_of(connection, embedder))

    async def record_weight(self, workspace: str, embedder: EmbedderIdentity, weight: VectorWeight) -> None:  # noqa: ARG002
        await self._threads.write(lambda connection: vectors.set_weight(connection, embedder, weight))

    async def outdated(self, workspace: str, analyser: int, limit: int) -> tuple[list[tuple[int, ChunkFound]], int]:
        return await self._threads.query(lambda connection: _outdated(connection, workspace, analyser, limit))

    async def replace_terms(self, workspace: str, analyser: int, terms: Sequence[tuple[int, Sequence[str]]]) -> None:
        await self._threads.write(lambda connection: _replace_terms(connection, workspace, analyser, terms))


def _pending(
    connection: apsw.Connection, workspace: str, identity: EmbedderIdentity, limit: int
) -> tuple[list[tuple[int, ChunkFound]], int]:
    """Some chunks of a workspace without a vector by this embedder, hidden ones too, and how many there are."""
    embedder = vectors.find_embedder(connection, identity)
    wanted = (workspace, _shift(embedder))
    total = one(connection, _COUNT, *wanted) if _is_any_missing(connection, embedder) else 0
    numbers = integers(one(connection, _NEWEST, *wanted, limit) if total else None)
    return list(zip(numbers.tolist(), texts.find_chunks(connection, numbers), strict=True)), total


def _fill(
    connection: apsw.Connection,
    workspace: str,
    identity: EmbedderIdentity,
    given: Sequence[tuple[int, Vector]],
) -> None:
    """Keep vectors of chunks that are still there; inside a transaction. Views learn of those that serve."""
    embedder = vectors.register_embedder(connection, identity)
    found = [_memory_of(connection, workspace, number) for number, _ in given]
    there = [vector for vector, memory in zip(given, found, strict=True) if memory is not None]
    vectors.insert_vectors(connection, embedder, there)
    if embedder == vectors.serving(connection, workspace):
        for memory in dict.fromkeys(number for number in found if number is not None):
            memories.record_change(connection, workspace, memory, "embedded")


def _is_any_missing(connection: apsw.Connection, embedder: vectors.Embedder | None) -> bool:
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


def _outdated(
    connection: apsw.Connection, workspace: str, analyser: int, limit: int
) -> tuple[list[tuple[int, ChunkFound]], int]:
    """Some chunks of a workspace whose terms another analyser made, hidden ones too, and how many there are."""
    total = one(connection, f"SELECT count(*) {_OUTDATED}", workspace, analyser)
    first = f"SELECT group_concat(id) FROM (SELECT chunk.id {_OUTDATED} LIMIT ?3)"  # noqa: S608 - ours
    numbers = integers(one(connection, first, workspace, analyser, limit) if total else None)
    return list(zip(numbers.tolist(), texts.find_chunks(connection, numbers), strict=True)), total


def _replace_terms(
    connection: apsw.Connection, workspace: str, analyser: int, new: Sequence[tuple[int, Sequence[str]]]
) -> None:
    """Keep other terms of chunks that are still there; inside a transaction. Views learn of their lengths."""
    found = {number: _memory_of(connection, workspace, number) for number, _ in new}
    there = [(number, own) for number, own in new if found[number] is not None]
    terms.delete(connection, [number for number, _ in there])
    terms.insert(connection, there)
    connection.executemany(
        "UPDATE chunk SET length = ?, analyser = ? WHERE id = ?",
        [(len(own), analyser, number) for number, own in there],
    )
    for memory in dict.fromkeys(number for number in found.values() if number is not None):
        memories.update_digest(connection, memory)
        memories.record_change(connection, workspace, memory, "analysed")


def _switch(connection: apsw.Connection, workspace: str, identity: EmbedderIdentity) -> None:
    """Let this embedder's vectors serve in a workspace; inside a transaction."""
    embedder = vectors.register_embedder(connection, identity)
    left = one(connection, _COUNT, workspace, _shift(embedder))
    if left:
        raise EmbedderMismatchError(
            f"{left} {'chunk has' if left == 1 else 'chunks have'} no vector by {vectors.describe(identity)} yet."
        )
    vectors.set_serving(connection, workspace, embedder)
    memories.record_reload(connection, workspace)


def _delete_some(connection: apsw.Connection, workspace: str) -> bool:
    """Delete some vectors of a workspace by embedders that do not serve it; False when there are none."""
    serving = vectors.serving(connection, workspace)
    for embedder in vectors.all_embedders(connection):
        if embedder == serving:
            continue
        numbers = integers(one(connection, _OTHERS, workspace, _shift(embedder), BATCH))
        if len(numbers):
            vectors.delete_numbered(connection, numbers)
            return True
    vectors.delete_unused_embedders(connection)
    return False


def _shift(embedder: vectors.Embedder | None) -> int:
    return embedder.vector_number(0) if embedder else 0
