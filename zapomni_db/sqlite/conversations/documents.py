"""Documents: memories that may have a vector of the caller's own."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import apsw

from zapomni_db.arrays import Rows, Vector
from zapomni_db.filters import Filter
from zapomni_db.records import Added, DocumentRecord, NewMemory
from zapomni_db.sqlite import adding, facets, values
from zapomni_db.sqlite.adding import Addition
from zapomni_db.sqlite.connections import rows
from zapomni_db.sqlite.conversations import vectors
from zapomni_db.sqlite.conversations.texts import COLUMNS

KIND = "document"

_SELECT = f"SELECT v.value, {COLUMNS} FROM "  # noqa: S608 - columns of ours
_THESE = "carray(?) wanted CROSS JOIN memory m ON m.id = wanted.value LEFT JOIN document_vector v ON v.memory = m.id"
_NAMED = """
carray(?) wanted CROSS JOIN memory m ON m.uid = wanted.value LEFT JOIN document_vector v ON v.memory = m.id
WHERE m.kind = 'document' AND m.deleted_at IS NULL AND m.replaced_by IS NULL AND m.workspace = ?
"""
_BETWEEN = """
memory m INDEXED BY memory_documents LEFT JOIN document_vector v ON v.memory = m.id
WHERE m.kind = 'document' AND m.deleted_at IS NULL AND m.replaced_by IS NULL
    AND m.workspace = ? AND m.created_at BETWEEN ? AND ?
"""
_FROM, _TO = " AND m.moment >= ?", " AND m.moment <= ?"
_NEWEST_FIRST = " ORDER BY m.created_at DESC, m.id DESC LIMIT ?"


class NewDocument(NamedTuple):
    """A text to be kept on its own, with the vector that the caller gave with it."""

    workspace: str
    memory: NewMemory
    vector: Vector | None


def add_all(connection: apsw.Connection, new: Sequence[NewDocument]) -> list[Added]:
    """Keep documents; inside a transaction."""
    additions = [Addition(one.workspace, one.memory, KIND, one.memory.conversation) for one in new]
    added = adding.add_all(connection, additions)
    given = [(number, one.vector) for one, (number, _) in zip(new, added, strict=True) if one.vector is not None]
    vectors.keep(connection, given)
    return [one for _, one in added]


def read(connection: apsw.Connection, numbers: Rows) -> list[DocumentRecord]:
    """Documents by their numbers, in this order."""
    return _records(rows(connection, _SELECT + _THESE, apsw.carray(numbers))) if len(numbers) else []


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
    statement, bound = _SELECT + _BETWEEN, [workspace, start, end]
    for moment, condition in ((wanted.date_from, _FROM), (wanted.date_to, _TO)):
        if moment:
            statement, bound = statement + condition, [*bound, values.to_micros(moment)]
    for group in facets.asked(workspace, wanted):
        statement, bound = f"{statement} AND {facets.HOLDING}", [*bound, apsw.carray(group)]
    most = -1 if limit is None else limit  # which SQLite takes for all
    return _records(rows(connection, statement + _NEWEST_FIRST, *bound, most))


def _records(found: Iterable[Any]) -> list[DocumentRecord]:
    return [
        DocumentRecord(
            id=uid,
            text=text.decode(),
            metadata=values.from_json(metadata),
            vector=None if value is None else vectors.read(value),
            created_at=values.from_micros(created_at),
        )
        for value, uid, metadata, created_at, text in found
    ]
