"""Adds a memory with all that is derived from it, or finds that it is there already."""

import time
from collections.abc import Sequence
from typing import Literal, NamedTuple

import apsw

from zapomni_db.arrays import Vector
from zapomni_db.records import Added, NewMemory
from zapomni_db.sqlite import chunks, embedders, memories, values
from zapomni_db.sqlite.bodies import keep_bodies
from zapomni_db.sqlite.changes import record_all
from zapomni_db.sqlite.chunks import ChunkRow
from zapomni_db.sqlite.embedders import Embedder
from zapomni_db.sqlite.facets import facets_of, keep_facets
from zapomni_db.sqlite.graph.record import move_facts, record_row
from zapomni_db.sqlite.hiding import replace, restore_row
from zapomni_db.sqlite.ids import new_id
from zapomni_db.sqlite.memories import Row
from zapomni_db.sqlite.queue import Enqueuing
from zapomni_db.sqlite.terms import keep_terms

Outcome = Literal["stored", "existing", "restored"]


class Addition(NamedTuple):
    """A memory to be kept, and what it is there: of which kind and conversation, whatever it says of that itself.

    Without `created_at` it is created now.
    """

    workspace: str
    memory: NewMemory
    kind: str
    conversation: str
    created_at: int | None = None


def add(connection: apsw.Connection, workspace: str, new: Sequence[NewMemory]) -> list[Added]:
    """Keep memories, or find that they are there; all of them or none, inside a transaction."""
    return [_add(connection, Addition(workspace, memory, memory.kind, memory.conversation)) for memory in new]


def _add(connection: apsw.Connection, addition: Addition) -> Added:
    memory = addition.memory
    embedders_of, enqueuing = _embedders(connection, [addition]), Enqueuing(connection)
    row = memories.find_by_key(connection, addition.workspace, memory.key) if memory.key else None
    if row is None:
        (row,) = _insert(connection, [addition], embedders_of)
        return _followed(connection, memory, row, "stored", enqueuing)
    outcome: Outcome = "restored" if restore_row(connection, row, memory.by) else "existing"
    return _followed(connection, memory, row, outcome, enqueuing)


def add_all(connection: apsw.Connection, additions: Sequence[Addition]) -> list[tuple[int, Added]]:
    """Keep memories that are not there yet; the number of each, and what became of it. All or nothing, inside a transaction."""
    rows, enqueuing = _insert(connection, additions, _embedders(connection, additions)), Enqueuing(connection)
    return [
        (row.id, _followed(connection, addition.memory, row, "stored", enqueuing))
        for row, addition in zip(rows, additions, strict=True)
    ]


def _embedders(connection: apsw.Connection, additions: Sequence[Addition]) -> list[Embedder]:
    """The embedder of each memory, which must be the one that serves; asked for before anything is written."""
    for addition in additions:
        values.check_text("workspace", addition.workspace)
    asked = dict.fromkeys((one.workspace, one.memory.embedder) for one in additions)
    found = {one: embedders.require(connection, *one) for one in asked}
    return [found[one.workspace, one.memory.embedder] for one in additions]


def _followed(
    connection: apsw.Connection, memory: NewMemory, row: Row, outcome: Outcome, enqueuing: Enqueuing
) -> Added:
    """What became of a memory, once what comes with it is done too."""
    moved = dropped = 0
    if memory.replaces is not None and memory.replaces != row.uid:
        old = replace(connection, memory.replaces, row, memory.by)
        moved, dropped = move_facts(connection, old, row, memory.text) if old else (0, 0)
    if memory.extraction is not None:
        record_row(connection, row, memory.text, memory.extraction)
    jobs = enqueuing.enqueue_for(row.workspace, row.uid, memory.jobs)
    return Added(row.uid, row.chunks, outcome, jobs, facts_moved=moved, facts_dropped=dropped)


def _insert(connection: apsw.Connection, additions: Sequence[Addition], embedders_of: Sequence[Embedder]) -> list[Row]:
    """Keep memories, one after the other; their rows."""
    batch = _Batch(*memories.next_numbers(connection))
    for addition in additions:
        batch.take(addition)
    batch.write(connection)
    for addition, row, embedder in zip(additions, batch.rows, embedders_of, strict=True):
        embedders.keep_vectors(connection, embedder, _vectors(addition.memory, row))
    return batch.rows


class _Batch:
    """What is written of new memories: gathered first, then one statement for each table."""

    def __init__(self, number: int, first_chunk: int) -> None:
        self._number = number
        self._first_chunk = first_chunk
        self.rows: list[Row] = []
        self._bodies: list[tuple[int, bytes]] = []
        self._facets: list[tuple[bytes, int]] = []
        self._chunks: list[tuple[int, int, ChunkRow]] = []
        self._terms: list[tuple[int, tuple[str, ...]]] = []
        self._by: dict[str, list[Row]] = {}

    def take(self, addition: Addition) -> None:
        """Gather a memory."""
        memory, number = addition.memory, self._number
        text, parts = values.encode("text", memory.text), chunks.rows_of(memory.text, memory.chunks, memory.analyser)
        row = _row(addition, number, self._first_chunk, text, parts)
        self.rows.append(row)
        self._by.setdefault(values.check_text("by", memory.by), []).append(row)
        self._bodies.append((number, text))
        self._facets += [(facet, number) for facet in _facets(row, memory)]
        for chunk, (part, new) in enumerate(zip(parts, memory.chunks, strict=True), self._first_chunk):
            self._chunks.append((chunk, number, part))
            self._terms.append((chunk, new.terms))
        self._number, self._first_chunk = number + 1, self._first_chunk + len(parts)

    def write(self, connection: apsw.Connection) -> None:
        """Write what was gathered."""
        memories.insert(connection, self.rows)
        keep_bodies(connection, self._bodies)
        keep_facets(connection, self._facets)
        chunks.insert(connection, self._chunks)
        keep_terms(connection, self._terms)
        for by, rows in self._by.items():
            record_all(connection, [(row.workspace, row.id) for row in rows], "added", by)


def _vectors(memory: NewMemory, row: Row) -> list[tuple[int, Vector]]:
    """The vectors of a memory's chunks that have one, by number."""
    numbered = enumerate(memory.chunks, row.first_chunk)
    return [(number, chunk.vector) for number, chunk in numbered if chunk.vector is not None]


def _row(addition: Addition, number: int, first_chunk: int, text: bytes, parts: list[ChunkRow]) -> Row:
    memory = addition.memory
    created_at = time.time_ns() // 1000 if addition.created_at is None else addition.created_at
    fixed = (
        new_id(created_at),
        addition.workspace,
        values.check_text("kind", addition.kind),
        values.check_text("source", memory.source),
        values.check_text("author", memory.author),
        values.check_text("conversation", addition.conversation),
        values.to_json("tags", memory.tags) if memory.tags else "[]",
        values.to_json("metadata", dict(memory.metadata)),
        None if memory.timestamp is None else values.checked_micros("timestamp", memory.timestamp),
        created_at,
        number,
        first_chunk,
        len(parts),
    )
    key = values.check_text("key", memory.key) or None
    return Row(*fixed, key, memories.seal_of(fixed, key, text, parts))


def _facets(row: Row, memory: NewMemory) -> set[bytes]:
    """What a new memory can be filtered by. Its JSON is not read again, unless that may change a key."""
    if any(isinstance(value, dict) or not isinstance(key, str) for key, value in memory.metadata.items()):
        return row.facets
    return facets_of(
        row.workspace,
        kind=row.kind,
        source=row.source,
        author=row.author,
        conversation=row.conversation,
        tags=memory.tags,
        metadata=memory.metadata,
    )
