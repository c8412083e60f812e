"""Adds a memory with all that is derived from it, or finds that it is there already."""

import time
from typing import Literal

import apsw

from zapomni_db import values
from zapomni_db.records import Added, Event, NewMemory, Origin
from zapomni_db.sqlite import filter_index, memories, terms, texts, vectors
from zapomni_db.sqlite.graph.record import move_facts, record_row
from zapomni_db.sqlite.jobs import enqueue_for
from zapomni_db.sqlite.memories import Row
from zapomni_db.sqlite.vectors import Embedder

Outcome = Literal["stored", "existing", "restored"]


def add_new(
    connection: apsw.Connection,
    workspace: str,
    memory: NewMemory,
    *,
    kind: str,
    conversation: str,
    created_at: int | None = None,
) -> tuple[int, Added]:
    """Add a memory of this kind that is not there yet; its number, and what became of it. Inside a transaction."""
    embedder = require_embedder(connection, workspace, memory)
    origin = _beginning(memory, created_at)
    row = insert(connection, workspace, memory, embedder, origin, kind=kind, conversation=conversation)
    return row.id, _finish(connection, memory, row, "stored")


def add(connection: apsw.Connection, workspace: str, memory: NewMemory) -> Added:
    """Add a memory, or find that it is there; inside a transaction."""
    embedder = require_embedder(connection, workspace, memory)
    row = memories.find_by_key(connection, workspace, memory.key) if memory.key else None
    if row is None:
        origin = _beginning(memory)
        row = insert(
            connection, workspace, memory, embedder, origin, kind=memory.kind, conversation=memory.conversation
        )
        return _finish(connection, memory, row, "stored")
    outcome: Outcome = "restored" if memories.restore_row(connection, row, memory.by) else "existing"
    return _finish(connection, memory, row, outcome)


def _beginning(memory: NewMemory, created_at: int | None = None) -> Origin:
    """The origin of a memory that begins now, or at another moment."""
    micros = time.time_ns() // 1000 if created_at is None else created_at
    moment = values.from_micros(micros)
    return Origin(id=values.new_id(micros), created_at=moment, events=(Event(moment, "added", memory.by),))


def require_embedder(connection: apsw.Connection, workspace: str, memory: NewMemory) -> Embedder | None:
    """The embedder of a memory, which must be the one that serves; asked for before anything is written."""
    values.check_text("workspace", workspace)
    return vectors.require_embedder(connection, workspace, memory.embedder) if memory.embedder else None


def _finish(connection: apsw.Connection, memory: NewMemory, row: Row, outcome: Outcome) -> Added:
    """Do what comes with a memory: replace another, keep an extraction, enqueue jobs."""
    moved = dropped = 0
    if memory.replaces is not None and memory.replaces != row.uid:
        old = memories.replace(connection, memory.replaces, row, memory.by)
        moved, dropped = move_facts(connection, old, row, memory.text) if old else (0, 0)
    if memory.extraction is not None:
        record_row(connection, row, memory.text, memory.extraction)
    jobs = enqueue_for(connection, row.workspace, row.uid, memory.jobs)
    return Added(row.uid, row.chunks, outcome, jobs, facts_moved=moved, facts_dropped=dropped)


def insert(
    connection: apsw.Connection,
    workspace: str,
    memory: NewMemory,
    embedder: Embedder | None,
    origin: Origin,
    *,
    kind: str,
    conversation: str,
) -> Row:
    """Write a memory with its text, chunks, terms, vectors, filter entries and history."""
    number, first_chunk = memories.next_numbers(connection)
    text = values.encode("text", memory.text)
    chunks = texts.chunk_rows(memory.text, memory.chunks, memory.analyser)
    deleted_at = None if origin.deleted_at is None else values.checked_micros("deleted_at", origin.deleted_at)
    replaced_by = None if origin.replaced_by is None else values.check_text("replaced_by", origin.replaced_by)
    fixed = (
        values.check_text("id", origin.id),
        workspace,
        values.check_text("kind", kind),
        values.check_text("source", memory.source),
        values.check_text("author", memory.author),
        values.check_text("conversation", conversation),
        values.to_json("tags", memory.tags) if memory.tags else "[]",
        values.to_json("metadata", dict(memory.metadata)),
        None if memory.timestamp is None else values.checked_micros("timestamp", memory.timestamp),
        values.checked_micros("created_at", origin.created_at),
        number,
        first_chunk,
        len(chunks),
    )
    key = values.check_text("key", memory.key) or None
    row = Row(*fixed, key, memories.digest_of(fixed, key, text, chunks), deleted_at, replaced_by)
    memories.insert(connection, row)
    texts.insert(connection, number, text)
    filter_index.insert(connection, number, row.filter_entries)
    texts.insert_chunks(connection, number, first_chunk, chunks)
    terms.insert(connection, [(chunk, new.terms) for chunk, new in enumerate(memory.chunks, first_chunk)])
    for event in origin.events:
        memories.record_event(connection, workspace, number, event)
    embedded = [(n, new.vector) for n, new in enumerate(memory.chunks, first_chunk) if new.vector is not None]
    if embedder:
        vectors.insert_vectors(connection, embedder, embedded)
    return row
