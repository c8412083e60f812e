"""Memories that were kept elsewhere: written as they were there, and read with all that they bring along."""

from collections.abc import Sequence

import numpy as np

from zapomni_db import values
from zapomni_db.arrays import check_own_vector
from zapomni_db.falkordb import documents, memories, sessions
from zapomni_db.falkordb.add import add, insert, require_embedder
from zapomni_db.falkordb.client import FalkorDBClient
from zapomni_db.falkordb.graph.record import bring, extractions
from zapomni_db.falkordb.memories import Row, key_name, memories_of, memory_uid
from zapomni_db.falkordb.transaction import Transaction
from zapomni_db.records import Added, NewMemory, Origin

_ORIGINS = """
UNWIND $uids AS uid MATCH (m:Memory {uid: uid})
RETURN m.uid, m.id, m.created_at, m.deleted_at, m.replaced_by, m.role, m.own
"""


async def add_all(tx: Transaction, new: Sequence[NewMemory]) -> list[Added]:
    """Add memories, those with an origin as it says."""
    return [await (_bring(tx, memory, memory.origin) if memory.origin else add(tx, memory)) for memory in new]


async def read(client: FalkorDBClient, workspace: str, memory_ids: Sequence[str]) -> list[Origin]:
    """The origins of those of these memories that are there."""
    uids = [memory_uid(workspace, memory_id) for memory_id in memory_ids]
    return [
        Origin(
            id=memory_id,
            created_at=values.from_micros(created_at),
            deleted_at=values.from_micros_or_none(deleted_at),
            replaced_by=replaced_by,
            role=role,
            vector=None if own is None else np.asarray(own, np.float32),
            extractions=await extractions(client, uid),
            events=tuple(await memories.history(client, workspace, memory_id)),
        )
        for uid, memory_id, created_at, deleted_at, replaced_by, role, own in await client.read(
            _ORIGINS, {"uids": uids}
        )
    ]


async def _bring(tx: Transaction, memory: NewMemory, origin: Origin) -> Added:
    require_embedder(tx, memory)
    there = await _find(tx, memory, origin)
    if there:
        if there.id != origin.id:
            for replaced in await memories_of(tx).replaced_by(memory_uid(tx.name, origin.id)):
                replaced.replaced_by, replaced.successor = there.id, there.uid
        return Added(there.id, there.chunks, "existing")
    row = insert(tx, memory, origin, kind=memory.kind, conversation=memory.conversation)
    if origin.role:
        await sessions.next_turn(tx, row.conversation, row.created_at)
    if origin.vector is not None:
        check_own_vector(origin.vector)
        documents.keep_vector(tx, row.uid, origin.vector)
    for extraction in origin.extractions:
        await bring(tx, row, memory.text, extraction)
    return Added(row.id, row.chunks, "stored")


async def _find(tx: Transaction, memory: NewMemory, origin: Origin) -> Row | None:
    """The memory of this id, else of this key, unless the new one was replaced: a replaced one leaves its key to others."""
    row = await memories_of(tx).by_id(origin.id)
    if row is None and memory.key and origin.replaced_by is None:
        return await memories_of(tx).by_key(key_name(tx.name, memory.key))
    return row
