"""Adds a memory with all that is derived from it, or finds that it is there already."""

import time
from typing import Literal
from uuid import uuid4

import apsw

from zapomni_db.records import Added, EmbedderIdentity, NewMemory
from zapomni_db.sqlite import chunks, embedders, memories, values
from zapomni_db.sqlite.bodies import keep_body
from zapomni_db.sqlite.changes import record
from zapomni_db.sqlite.chunks import ChunkRow
from zapomni_db.sqlite.embedders import Embedder
from zapomni_db.sqlite.facets import keep_facets
from zapomni_db.sqlite.graph.recording import record_row
from zapomni_db.sqlite.hiding import restore_row, supersede
from zapomni_db.sqlite.memories import Row
from zapomni_db.sqlite.queue import enqueue_for
from zapomni_db.sqlite.terms import keep_terms


def add(
    connection: apsw.Connection,
    workspace: str,
    memory: NewMemory,
    identity: EmbedderIdentity,
    *,
    created_at: int | None = None,
) -> Added:
    """Keep a memory; all of it or nothing, inside a transaction. It is created now, unless another moment is given."""
    values.check_text("workspace", workspace)
    embedder = embedders.require(connection, identity)
    content = _content(memory)
    row = memories.find_same(connection, workspace, content) if content else None
    outcome: Literal["stored", "existing", "restored"] = "stored"
    if row is None:
        row = _insert(connection, workspace, memory, content, embedder, created_at=created_at)
    else:
        outcome = "restored" if restore_row(connection, row) else "existing"
    if memory.replaces is not None and memory.replaces != row.uid:
        supersede(connection, workspace, memory.replaces, row)
    if memory.extraction is not None:
        record_row(connection, row, memory.text, memory.extraction)
    return Added(row.uid, row.chunks, outcome, enqueue_for(connection, workspace, row.uid, memory.jobs))


def _content(memory: NewMemory) -> bytes | None:
    """What two memories have in common that are the same; None for one that is like no other."""
    if not memory.merge:
        return None
    metadata = values.to_json("metadata", dict(memory.metadata), canonical=True)
    return values.digest(values.encode("kind", memory.kind), values.encode("text", memory.text), metadata.encode())


def _insert(
    connection: apsw.Connection,
    workspace: str,
    memory: NewMemory,
    content: bytes | None,
    embedder: Embedder,
    *,
    created_at: int | None,
) -> Row:
    parts = chunks.rows_of(values.check_text("text", memory.text), memory.chunks)
    row = _row(connection, workspace, memory, content, parts, created_at=created_at)
    memories.insert(connection, row)
    keep_body(connection, row.id, memory.text.encode())
    keep_facets(connection, row.id, row.facets)
    numbers = row.chunk_numbers
    chunks.insert(connection, row.id, numbers, parts)
    keep_terms(connection, [(number, chunk.terms) for number, chunk in zip(numbers, memory.chunks, strict=True)])
    parts_with_vector = zip(numbers, memory.chunks, strict=True)
    vectors = [(number, part.digest, part.vector) for number, part in parts_with_vector if part.vector is not None]
    embedders.keep_vectors(connection, embedder, vectors)
    record(connection, workspace, row.id, "added")
    return row


def _row(
    connection: apsw.Connection,
    workspace: str,
    memory: NewMemory,
    content: bytes | None,
    parts: list[ChunkRow],
    *,
    created_at: int | None,
) -> Row:
    row = Row(
        uid=str(uuid4()),
        workspace=workspace,
        kind=values.check_text("kind", memory.kind),
        source=values.check_text("source", memory.source),
        author=values.check_text("author", memory.author),
        conversation=values.check_text("conversation", memory.conversation),
        tags=values.to_json("tags", memory.tags),
        metadata=values.to_json("metadata", dict(memory.metadata)),
        timestamp=None if memory.timestamp is None else values.checked_micros("timestamp", memory.timestamp),
        created_at=time.time_ns() // 1000 if created_at is None else created_at,
        id=memories.next_number(connection, "memory"),
        first_chunk=memories.next_number(connection, "chunk"),
        chunks=len(parts),
        content=content,
    )
    return row.sealed(values.encode("text", memory.text), parts)
