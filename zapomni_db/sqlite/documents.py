"""Documents: memories that may have a vector of the caller's own, in single precision, and the search by it.

The search compares every document that meets the filter: 20,000 vectors of 1,536 dimensions take about a tenth of a second.
"""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from zapomni_db import values
from zapomni_db.arrays import Rows, Vector, check_own_vector, length_of
from zapomni_db.filters import Filter
from zapomni_db.records import Added, DocumentRecord, NewMemory
from zapomni_db.sqlite import memories
from zapomni_db.sqlite.add import add_new
from zapomni_db.sqlite.connection import one, rows
from zapomni_db.sqlite.texts import WHOLE_MEMORY
from zapomni_db.sqlite.vectors import checksum

_SELECT = f"SELECT v.value, {WHOLE_MEMORY} FROM "  # noqa: S608 - columns of ours
_THESE = "carray(?) wanted CROSS JOIN memory m ON m.id = wanted.value LEFT JOIN document_vector v ON v.memory = m.id"
_LIVE = "m.kind = 'document' AND m.deleted_at IS NULL AND m.replaced_by IS NULL"
_NAMED = f"""
carray(?) wanted CROSS JOIN memory m ON m.uid = wanted.value LEFT JOIN document_vector v ON v.memory = m.id
WHERE {_LIVE} AND m.workspace = ?
"""
_BETWEEN = f"""
memory m INDEXED BY memory_documents LEFT JOIN document_vector v ON v.memory = m.id
WHERE {_LIVE} AND m.created_at BETWEEN ? AND ? AND """
_NEWEST_FIRST = " ORDER BY m.created_at DESC, m.id DESC LIMIT ?"
_VECTORS = f"""
SELECT m.id, v.length, v.value FROM memory m INDEXED BY memory_documents CROSS JOIN document_vector v ON v.memory = m.id
WHERE {_LIVE} AND v.dimension = ? AND """  # noqa: S608 - ours
_BLOCK = 128  # vectors compared at once


def add(connection: apsw.Connection, workspace: str, memory: NewMemory, vector: Vector | None) -> Added:
    """Add a document; inside a transaction."""
    number, added = add_new(connection, workspace, memory, kind="document", conversation=memory.conversation)
    if vector is not None:
        insert_vector(connection, number, vector)
    return added


def insert_vector(connection: apsw.Connection, number: int, vector: Vector) -> None:
    """Write a document's own vector."""
    check_own_vector(vector)
    value = np.ascontiguousarray(vector, np.float32)
    row = (number, len(value), value.tobytes(), length_of(value), checksum(value.tobytes()))
    connection.execute("INSERT INTO document_vector VALUES(?, ?, ?, ?, ?)", row)


def read_vector(connection: apsw.Connection, number: int) -> Vector | None:
    """A document's own vector, if it has one."""
    value = one(connection, "SELECT value FROM document_vector WHERE memory = ?", number)
    return None if value is None else np.frombuffer(value, np.float32)


def find(connection: apsw.Connection, workspace: str, uids: Sequence[str]) -> list[DocumentRecord]:
    """Live documents by their ids, in this order."""
    known = tuple(filter(values.is_text, uids))
    if not known or not values.is_text(workspace):
        return []
    return _records(rows(connection, _SELECT + _NAMED, apsw.carray(known), workspace))


def between(
    connection: apsw.Connection, workspace: str, start: int, end: int, wanted: Filter, *, limit: int | None = None
) -> list[DocumentRecord]:
    """Live documents that were created within these moments, newest first."""
    which, bound = memories.conditions(workspace, wanted)
    most = -1 if limit is None else limit  # -1: all of them
    statement = _SELECT + _BETWEEN + " AND ".join(which) + _NEWEST_FIRST
    return _records(rows(connection, statement, start, end, *bound, most))


def nearest(
    connection: apsw.Connection, workspace: str, vector: Vector, limit: int, wanted: Filter
) -> list[tuple[DocumentRecord, float]]:
    """The live documents whose own vectors are nearest, with their cosines; of equal ones the newest first."""
    check_own_vector(vector)
    which, bound = memories.conditions(workspace, wanted)
    numbers, cosines = _cosines(rows(connection, _VECTORS + " AND ".join(which), len(vector), *bound), vector)
    best = np.lexsort((-numbers, -cosines))[:limit]
    documents = _records(rows(connection, _SELECT + _THESE, apsw.carray(numbers[best]))) if len(best) else []
    return list(zip(documents, cosines[best].tolist(), strict=True))


def _cosines(found: Iterable[Any], vector: Vector) -> tuple[Rows, NDArray[np.float64]]:
    """Numbers of documents and the cosine of each with a vector; 0 where one has no length.

    Each is computed by itself, so that equal vectors have equal cosines wherever they stand.
    """
    unit = (np.asarray(vector, np.float64) / (length_of(vector) or 1.0)).astype(np.float32)
    numbers: list[int] = []
    cosines = [np.empty(0)]
    cursor = iter(found)
    while block := list(islice(cursor, _BLOCK)):
        matrix = np.frombuffer(b"".join(value for _, _, value in block), np.float32).reshape(len(block), len(unit))
        cosines.append(np.vecdot(matrix, unit) / np.array([length or 1.0 for _, length, _ in block]))
        numbers += [number for number, _, _ in block]
    return np.array(numbers, np.int64), np.concatenate(cosines)


def _records(found: Iterable[Any]) -> list[DocumentRecord]:
    return [
        DocumentRecord(
            id=uid,
            text=text.decode(),
            metadata=values.from_json(metadata),
            vector=None if value is None else np.frombuffer(value, np.float32),
            created_at=values.from_micros(created_at),
        )
        for value, uid, metadata, created_at, text in found
    ]
