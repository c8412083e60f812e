"""Adds a memory with all that is derived from it, or finds that it is there already."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from zapomni_db import values
from zapomni_db.errors import EmbedderMismatchError, InvalidInputError
from zapomni_db.falkordb.chunks import chunk_uid
from zapomni_db.falkordb.cypher import name_of
from zapomni_db.falkordb.filters import second_of
from zapomni_db.falkordb.graph.record import move_facts, record_row
from zapomni_db.falkordb.jobs import enqueue_for
from zapomni_db.falkordb.memories import (
    Row,
    entries_of,
    key_name,
    memories_of,
    memory_uid,
    replace_by,
    restore_row,
    talk_of,
)
from zapomni_db.falkordb.transaction import Transaction
from zapomni_db.records import Added, EmbedderIdentity, Event, NewChunk, NewMemory, Origin

_LARGEST = 65_000.0  # squares of which add up in single precision

Outcome = Literal["stored", "existing", "restored"]

_EMBEDDED = "MATCH (c:Chunk) WHERE c.pending = r.ws AND c.{} IS NOT NULL SET c.pending = NULL"
_CREATE_CHUNK = "CREATE (c:Chunk) SET c = r.properties"
_CREATE_EMBEDDED = "CREATE (c:Chunk) SET c = r.properties, c.v{} = vecf32(r.vector)"


async def add(tx: Transaction, memory: NewMemory) -> Added:
    """Add a memory, or find that it is there."""
    require_embedder(tx, memory)
    values.check_text("key", memory.key)
    row = await memories_of(tx).by_key(key_name(tx.name, memory.key)) if memory.key else None
    if row is None:
        origin = _beginning(memory, tx.now)
        row = insert(tx, memory, origin, kind=memory.kind, conversation=memory.conversation)
        return await _finish(tx, memory, row, "stored")
    outcome: Outcome = "restored" if restore_row(tx, row, memory.by) else "existing"
    return await _finish(tx, memory, row, outcome)


async def add_new(
    tx: Transaction, memory: NewMemory, *, kind: str, conversation: str, created_at: int | None = None, role: str = ""
) -> Added:
    """Add a memory of this kind that is not there yet."""
    require_embedder(tx, memory)
    origin = _beginning(memory, tx.now if created_at is None else created_at, role)
    row = insert(tx, memory, origin, kind=kind, conversation=conversation)
    return await _finish(tx, memory, row, "stored")


def _beginning(memory: NewMemory, created_at: int, role: str = "") -> Origin:
    """The origin of a memory that begins at a moment."""
    moment = values.from_micros(created_at)
    return Origin(
        id=values.new_id(created_at), created_at=moment, role=role, events=(Event(moment, "added", memory.by),)
    )


async def _finish(tx: Transaction, memory: NewMemory, row: Row, outcome: Outcome) -> Added:
    """Do what comes with a memory: replace another, keep an extraction, enqueue jobs."""
    moved = dropped = 0
    if memory.replaces is not None and memory.replaces != row.id:
        old = await replace_by(tx, memory.replaces, row, memory.by)
        moved, dropped = await move_facts(tx, old, row, memory.text) if old else (0, 0)
    if memory.extraction is not None:
        await record_row(tx, row, memory.text, memory.extraction)
    jobs = await enqueue_for(tx, row.id, memory.jobs)
    return Added(row.id, row.chunks, outcome, jobs, facts_moved=moved, facts_dropped=dropped)


def require_embedder(tx: Transaction, memory: NewMemory) -> None:
    """EmbedderMismatchError if another embedder than the memory's serves in the workspace. The first one settles it."""
    current, identity = tx.workspace.embedder, memory.embedder
    if identity is None or current == identity:
        return
    if current is not None:
        raise EmbedderMismatchError(
            f"The vectors of workspace '{tx.name}' were made by {describe(current)}, not by {describe(identity)}."
            " Use that embedder, or run `zapomni reindex` to embed everything again."
        )
    serve(tx, tx.workspace.register(identity))


def serve(tx: Transaction, number: int) -> None:
    """Let the vectors of the embedder of this number serve."""
    tx.workspace.serving = number
    tx.write(_EMBEDDED.format(tx.workspace.vector), {"ws": tx.ws})


def describe(identity: EmbedderIdentity) -> str:
    """An embedder's name for people."""
    return f"{identity.name} ({identity.model}, {identity.dimension} dimensions)"


def insert(tx: Transaction, memory: NewMemory, origin: Origin, *, kind: str, conversation: str) -> Row:
    """Write a memory that is not there yet, and its chunks."""
    key = key_name(tx.name, values.check_text("key", memory.key)) if memory.key else None
    replaced_by = origin.replaced_by and values.check_text("replaced_by", origin.replaced_by)
    workspace = tx.workspace
    workspace.memory_seq += 1
    row = Row(
        uid=memory_uid(tx.name, values.check_text("id", origin.id)),
        id=origin.id,
        ws=tx.ws,
        seq=workspace.memory_seq,
        key=None if replaced_by else key,
        own_key=key,
        key_text=memory.key,
        kind=values.check_text("kind", kind),
        source=values.check_text("source", memory.source),
        author=values.check_text("author", memory.author),
        conversation=values.check_text("conversation", conversation),
        role=values.check_text("role", origin.role),
        tags=values.to_json("tags", memory.tags) if memory.tags else "[]",
        metadata=values.to_json("metadata", dict(memory.metadata)),
        timestamp=None if memory.timestamp is None else values.checked_micros("timestamp", memory.timestamp),
        created_at=values.checked_micros("created_at", origin.created_at),
        first_chunk=workspace.chunk_seq + 1,
        chunks=len(memory.chunks),
        length=sum(len(chunk.terms) for chunk in memory.chunks),
        facets=[],
        deleted_at=None if origin.deleted_at is None else values.checked_micros("deleted_at", origin.deleted_at),
        replaced_by=replaced_by,
        successor=memory_uid(tx.name, replaced_by) if replaced_by else None,
    )
    row.facets = entries_of(tx.name, row)
    second = second_of(row.moment)
    workspace.oldest, workspace.newest = min(workspace.oldest or second, second), max(workspace.newest, second)
    workspace.chunk_seq += row.chunks
    memories_of(tx).insert(row, values.check_text("text", memory.text))
    for event in origin.events:
        memories_of(tx).record_event(row, event)
    for number, chunk in zip(row.chunk_numbers, memory.chunks, strict=True):
        _insert_chunk(tx, memory, row, number, chunk)
    return row


def _insert_chunk(tx: Transaction, memory: NewMemory, row: Row, number: int, chunk: NewChunk) -> None:
    if not 0 <= chunk.start <= chunk.end <= len(memory.text):
        raise InvalidInputError("chunks must lie within their text")
    terms, words = terms_of(tx.name, chunk.terms)
    properties: dict[str, Any] = {
        "uid": chunk_uid(row.ws, number),
        "ws": row.ws,
        "number": number,
        "memory": row.uid,
        "first_chunk": row.first_chunk,
        "memory_id": row.id,
        "text": memory.text[chunk.start : chunk.end],
        "heading": values.check_text("heading", chunk.heading),
        "start": chunk.start,
        "end": chunk.end,
        "analyser": memory.analyser,
        "length": len(chunk.terms),
        "words": words,
        "facets": row.facets,
        "talk": talk_of(tx.name, row),
        "author": row.author,
        "moment": row.moment,
        "second": second_of(row.moment),
        "created_at": row.created_at,
        **({"live": row.ws, "terms": terms} if row.is_live else {"hidden": terms}),
    }
    if chunk.vector is None or memory.embedder is None:
        tx.write(_CREATE_CHUNK, {"properties": {**properties, "pending": row.ws}})
        return
    vector = check_vector(chunk.vector, memory.embedder)
    tx.write(_CREATE_EMBEDDED.format(tx.workspace.serving), {"properties": properties, "vector": vector})


def check_vector(vector: Any, embedder: EmbedderIdentity) -> Any:
    """A vector in single precision; InvalidInputError where it cannot be kept."""
    if np.shape(vector) != (embedder.dimension,):
        raise InvalidInputError(f"a chunk's vector must have {embedder.dimension} dimensions, as its embedder says")
    if not np.abs(vector).max(initial=0) <= _LARGEST:  # which is so for what is not a number too
        raise InvalidInputError(f"a chunk's vector must hold numbers up to {_LARGEST:,.0f}")
    return np.asarray(vector, np.float32)


def term_name(workspace: str, term: str) -> str:
    """A term of a workspace as it is indexed."""
    return name_of(workspace, term, size=8)


def terms_of(workspace: str, terms: Sequence[str]) -> tuple[list[str], str]:
    """The terms of a chunk as they are indexed, and how often each is there."""
    counts = Counter(term_name(workspace, term) for term in terms)
    return list(counts), "".join(f" {name}:{count} " for name, count in counts.items())


def count_in(words: str, name: str) -> int:
    """The number of times that a term occurs in a chunk."""
    at = words.find(f" {name}:")
    return int(words[at + len(name) + 2 : words.index(" ", at + 1)]) if at >= 0 else 0
