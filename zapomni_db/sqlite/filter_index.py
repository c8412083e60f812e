"""The entries of memories for filters: one narrow table that answers every part of a filter but the dates."""

from collections.abc import Iterable, Sequence

import apsw

from zapomni_db.arrays import Rows
from zapomni_db.sqlite.connection import one
from zapomni_db.values import integers

HOLDING = "EXISTS (SELECT 1 FROM carray(?) asked CROSS JOIN filter_entry ON digest = asked.value AND filter_entry.memory = m.id)"
"""A condition on the memory m: it has one of the entries of a group."""


def insert(connection: apsw.Connection, memory: int, entries: Iterable[bytes]) -> None:
    """Add entries for a memory."""
    connection.executemany("INSERT INTO filter_entry VALUES(?, ?)", [(entry, memory) for entry in entries])


def delete(connection: apsw.Connection, memory: int, entries: Iterable[bytes]) -> None:
    """Remove entries of a memory."""
    connection.executemany(
        "DELETE FROM filter_entry WHERE digest = ? AND memory = ?", [(entry, memory) for entry in entries]
    )


def has_all(connection: apsw.Connection, memory: int, entries: set[bytes]) -> bool:
    """Whether a memory has all of these entries."""
    statement = "SELECT count(*) FROM carray(?) CROSS JOIN filter_entry ON digest = carray.value AND memory = ?"
    return not entries or one(connection, statement, apsw.carray(tuple(entries)), memory) == len(entries)


def holding(connection: apsw.Connection, group: Sequence[bytes]) -> Rows:
    """The memories that have an entry of the group, hidden ones too, in no order."""
    if not group:
        return integers(None)
    return integers(
        one(
            connection,
            "SELECT group_concat(memory) FROM carray(?) CROSS JOIN filter_entry ON digest = carray.value",
            apsw.carray(tuple(group)),
        )
    )
