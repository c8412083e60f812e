"""Memories that were kept elsewhere: written as they were there, and read with all that they bring along."""

from collections.abc import Sequence

import apsw

from zapomni_db.records import Added, NewMemory, Origin
from zapomni_db.sqlite import documents, memories, sessions
from zapomni_db.sqlite.add import add, insert, require_embedder
from zapomni_db.sqlite.graph import record
from zapomni_db.sqlite.memories import Row
from zapomni_db.values import from_micros, from_micros_or_none


def add_all(connection: apsw.Connection, workspace: str, new: Sequence[NewMemory]) -> list[Added]:
    """Add memories, those with an origin as it says; all of them or none, inside a transaction."""
    return [
        _bring(connection, workspace, memory, memory.origin) if memory.origin else add(connection, workspace, memory)
        for memory in new
    ]


def read(connection: apsw.Connection, workspace: str, uids: Sequence[str]) -> list[Origin]:
    """The origins of those of these memories that are there."""
    found = [memories.find(connection, workspace, uid) for uid in uids]
    return [_read(connection, row) for row in found if row]


def _bring(connection: apsw.Connection, workspace: str, memory: NewMemory, origin: Origin) -> Added:
    embedder = require_embedder(connection, workspace, memory)
    there = _find(connection, workspace, memory, origin)
    if there:
        if there.uid != origin.id:
            memories.redirect(connection, workspace, origin.id, there.uid)
        return Added(there.uid, there.chunks, "existing")
    conversation = memory.conversation
    row = insert(connection, workspace, memory, embedder, origin, kind=memory.kind, conversation=conversation)
    if origin.role:
        sessions.append(connection, row, origin.role)
    if origin.vector is not None:
        documents.insert_vector(connection, row.id, origin.vector)
    for extraction in origin.extractions:
        record.bring(connection, row, memory.text, extraction)
    return Added(row.uid, row.chunks, "stored")


def _find(connection: apsw.Connection, workspace: str, memory: NewMemory, origin: Origin) -> Row | None:
    """The memory of this id, else of this key, unless the new one was replaced: a replaced one leaves its key to others."""
    row = memories.find(connection, workspace, origin.id)
    if row is None and memory.key and origin.replaced_by is None:
        return memories.find_by_key(connection, workspace, memory.key)
    return row


def _read(connection: apsw.Connection, row: Row) -> Origin:
    return Origin(
        id=row.uid,
        created_at=from_micros(row.created_at),
        deleted_at=from_micros_or_none(row.deleted_at),
        replaced_by=row.replaced_by,
        role=memories.role_of(connection, row.id),
        vector=documents.read_vector(connection, row.id),
        extractions=record.extractions(connection, row.id),
        events=tuple(memories.history(connection, row.id)),
    )
