"""Documents: memories that may have a vector of the caller's own, in single precision, and the exact search by it."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from zapomni_db import values
from zapomni_db.arrays import Vector, check_own_vector, length_of
from zapomni_db.falkordb.add import add_new
from zapomni_db.falkordb.client import FalkorDBClient
from zapomni_db.falkordb.cypher import limited, name_of
from zapomni_db.falkordb.filters import conditions
from zapomni_db.falkordb.memories import state_of
from zapomni_db.falkordb.transaction import Transaction, workspace_id
from zapomni_db.filters import Filter
from zapomni_db.records import Added, DocumentRecord, NewMemory

# `own` is the vector as it was given; `unit` has its direction, where it has one.
_KEEP_VECTOR = "MATCH (m:Memory {uid: r.uid}) SET m.own = vecf32(r.own), m.dimension = r.dimension"
_KEEP_UNIT = "MATCH (m:Memory {uid: r.uid}) SET m.unit = vecf32(r.unit)"
_RECORD = "m.id AS id, m.text AS text, m.metadata AS metadata, m.own AS own, m.created_at AS created_at"
_LIVE = "m.state = $live AND m.kind = 'document'"
_NAMED = f"UNWIND $uids AS uid MATCH (m:Memory {{uid: uid}}) WHERE {_LIVE} RETURN {_RECORD}"
_BETWEEN = f"MATCH (m:Memory) WHERE {_LIVE} AND m.created_at >= $first AND m.created_at <= $last"
_NEWEST = f"WITH m ORDER BY m.created_at DESC, m.seq DESC LIMIT $limit RETURN {_RECORD}, m.seq AS seq ORDER BY created_at DESC, seq DESC"
_WITH_VECTOR = f"MATCH (m:Memory) WHERE {_LIVE} AND m.dimension = $dimension"
_NEAREST = f"""
WITH m, CASE WHEN m.unit IS NULL OR NOT $directed THEN 1.0 ELSE vec.cosineDistance(m.unit, vecf32($unit)) END AS distance
ORDER BY distance, m.seq DESC LIMIT $limit
RETURN {_RECORD}, distance, m.seq AS seq ORDER BY distance, seq DESC
"""


async def add(tx: Transaction, memory: NewMemory, vector: Vector | None) -> Added:
    """Add a document."""
    if vector is not None:
        check_own_vector(vector)
    added = await add_new(tx, memory, kind="document", conversation=memory.conversation)
    if vector is not None:
        keep_vector(tx, name_of("memory", tx.name, added.memory_id), vector)
    return added


def keep_vector(tx: Transaction, uid: str, vector: Vector) -> None:
    """Write the own vector of a document, given by the uid of its memory."""
    value = np.ascontiguousarray(vector, np.float32)
    tx.write(_KEEP_VECTOR, {"uid": uid, "own": value, "dimension": len(value)})
    unit = _unit(value)
    if unit is not None:
        tx.write(_KEEP_UNIT, {"uid": uid, "unit": unit})


async def find(client: FalkorDBClient, workspace: str, ids: Sequence[str]) -> list[DocumentRecord]:
    """Live documents by their ids, in this order."""
    known = list(filter(values.is_text, ids))
    if not known or not values.is_text(workspace):
        return []
    uids = [name_of("memory", workspace, one) for one in known]
    found = await client.read(_NAMED, {"uids": uids, "live": _live(workspace)})
    by_id = {row[0]: _record(row) for row in found}
    return [by_id[one] for one in known if one in by_id]


async def between(
    client: FalkorDBClient, workspace: str, first: int, last: int, wanted: Filter, *, limit: int | None
) -> list[DocumentRecord]:
    """Live documents that were created within these moments, newest first."""
    which, asked = _conditions(workspace, wanted)
    bounds = {"first": first, "last": last, "limit": limited(sys.maxsize if limit is None else limit)}
    return [_record(row) for row in await client.read(f"{_BETWEEN}{which} {_NEWEST}", asked | bounds)]


async def nearest(
    client: FalkorDBClient, workspace: str, vector: Vector, limit: int, wanted: Filter
) -> list[tuple[DocumentRecord, float]]:
    """The live documents whose own vectors are nearest, with their cosines; of equal ones the newest first."""
    check_own_vector(vector)
    which, asked = _conditions(workspace, wanted)
    unit = _unit(vector)
    asked |= {"dimension": len(vector), "limit": limited(limit), "directed": unit is not None}
    asked["unit"] = np.zeros(len(vector), np.float32) if unit is None else unit
    found = await client.read(f"{_WITH_VECTOR}{which} {_NEAREST}", asked)
    return [(_record(row), 1.0 - float(row[5])) for row in found]


def _conditions(workspace: str, wanted: Filter) -> tuple[str, dict[str, Any]]:
    """The conditions of a filter; the kind among them, which the index knows."""
    which, asked = conditions(workspace, wanted if wanted.kinds else replace(wanted, kinds=("document",)), "m")
    return which, asked | {"live": _live(workspace)}


def _live(workspace: str) -> str:
    return state_of(workspace_id(workspace), "live")


def _unit(vector: Vector) -> Vector | None:
    """The same direction with the length 1; None where there is none."""
    length = length_of(vector)
    return np.asarray(np.asarray(vector, np.float64) / length, np.float32) if length else None


def _record(row: Sequence[Any]) -> DocumentRecord:
    memory_id, text, metadata, own, created_at = row[:5]
    return DocumentRecord(
        id=memory_id,
        text=text,
        metadata=values.from_json(metadata),
        vector=None if own is None else np.array(own, np.float32),
        created_at=values.from_micros(created_at),
    )
