"""Adds a memory with all that is derived from it, or finds that it is there already."""

import time
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple
from uuid import uuid4

import apsw

from zapomni_db.records import Added, EmbedderIdentity, NewMemory
from zapomni_db.sqlite import chunks, embedders, memories, values
from zapomni_db.sqlite.bodies import keep_body
from zapomni_db.sqlite.changes import record
from zapomni_db.sqlite.chunks import ChunkRow
from zapomni_db.sqlite.embedders import Embedder
from zapomni_db.sqlite.facets import facets_of, keep_facets
from zapomni_db.sqlite.graph.recording import record_row
from zapomni_db.sqlite.hiding import restore_row, supersede
from zapomni_db.sqlite.memories import Row
from zapomni_db.sqlite.queue import enqueue_for
from zapomni_db.sqlite.terms import keep_terms

Outcome = Literal["stored", "existing", "restored"]


class Nature(NamedTuple):
    """What a memory is in the store. Without `content` it is like no other; without `created_at` it is created now."""

    kind: str
    conversation: str
    content: bytes | None = None
    created_at: int | None = None


def find_same(
    connection: apsw.Connection, workspace: str, text: str, metadata: Mapping[str, Any], kind: str
) -> str | None:
    """The id of the memory that another of this text, metadata and kind would be the same as."""
    values.check_text("workspace", workspace)
    row = memories.find_same(connection, workspace, _digest(text, metadata, kind))
    return row.uid if row else None


def add(connection: apsw.Connection, workspace: str, memory: NewMemory, identity: EmbedderIdentity) -> Added:
    """Keep a memory, or find that it is there; all of it or nothing, inside a transaction."""
    values.check_text("workspace", workspace)
    embedder = embedders.require(connection, identity)
    nature = Nature(memory.kind, memory.conversation, _content(memory))
    row = memories.find_same(connection, workspace, nature.content) if nature.content else None
    if row is None:
        row = _insert(connection, workspace, memory, nature, embedder)
        return _followed(connection, memory, row, "stored")
    outcome: Outcome = "restored" if restore_row(connection, row) else "existing"
    return _followed(connection, memory, row, outcome)


def add_as(
    connection: apsw.Connection, workspace: str, memory: NewMemory, identity: EmbedderIdentity, nature: Nature
) -> tuple[int, Added]:
    """Keep a memory that is not there yet, whatever it says of its nature; its number, and what became of it."""
    values.check_text("workspace", workspace)
    embedder = embedders.require(connection, identity)
    row = _insert(connection, workspace, memory, nature, embedder)
    return row.id, _followed(connection, memory, row, "stored")


def _followed(connection: apsw.Connection, memory: NewMemory, row: Row, outcome: Outcome) -> Added:
    """What became of a memory, once what comes with it is done too."""
    if memory.replaces is not None and memory.replaces != row.uid:
        supersede(connection, row.workspace, memory.replaces, row)
    if memory.extraction is not None:
        record_row(connection, row, memory.text, memory.extraction)
    return Added(row.uid, row.chunks, outcome, enqueue_for(connection, row.workspace, row.uid, memory.jobs))


def _content(memory: NewMemory) -> bytes | None:
    """What two memories have in common that are the same; None for one that is like no other."""
    return _digest(memory.text, memory.metadata, memory.kind) if memory.merge else None


def _digest(text: str, metadata: Mapping[str, Any], kind: str) -> bytes:
    said = values.to_json("metadata", dict(metadata), canonical=True)
    return values.digest(values.encode("kind", kind), values.encode("text", text), said.encode())


def _insert(connection: apsw.Connection, workspace: str, memory: NewMemory, nature: Nature, embedder: Embedder) -> Row:
    text = values.encode("text", memory.text)
    parts = chunks.rows_of(memory.text, memory.chunks)
    row = _row(connection, workspace, memory, nature, parts).sealed(text, parts)
    memories.insert(connection, row)
    keep_body(connection, row.id, text)
    keep_facets(connection, row.id, _facets(row, memory))
    numbers = row.chunk_numbers
    chunks.insert(connection, row.id, numbers, parts)
    keep_terms(connection, [(number, chunk.terms) for number, chunk in zip(numbers, memory.chunks, strict=True)])
    parts_with_vector = zip(numbers, memory.chunks, strict=True)
    vectors = [(number, part.digest, part.vector) for number, part in parts_with_vector if part.vector is not None]
    if vectors:
        embedders.keep_vectors(connection, embedder, vectors)
    record(connection, workspace, row.id, "added")
    return row


def _facets(row: Row, memory: NewMemory) -> set[bytes]:
    """What a new memory can be filtered by. Its JSON is not read again, unless that would change a key."""
    if not all(isinstance(key, str) for key in memory.metadata):
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


def _row(connection: apsw.Connection, workspace: str, memory: NewMemory, nature: Nature, parts: list[ChunkRow]) -> Row:
    number, first_chunk = memories.next_numbers(connection)
    return Row(
        uid=str(uuid4()),
        workspace=workspace,
        kind=values.check_text("kind", nature.kind),
        source=values.check_text("source", memory.source),
        author=values.check_text("author", memory.author),
        conversation=values.check_text("conversation", nature.conversation),
        tags=values.to_json("tags", memory.tags) if memory.tags else "[]",
        metadata=values.to_json("metadata", dict(memory.metadata)),
        timestamp=None if memory.timestamp is None else values.checked_micros("timestamp", memory.timestamp),
        created_at=time.time_ns() // 1000 if nature.created_at is None else nature.created_at,
        id=number,
        first_chunk=first_chunk,
        chunks=len(parts),
        content=nature.content,
    )
