"""Forgets what was read in a memory, and the entities and relations that nothing speaks of any more."""

from typing import NamedTuple

import apsw

from zapomni_db.names import words_of
from zapomni_db.sqlite.connections import one, rows
from zapomni_db.sqlite.graph import vectors
from zapomni_db.sqlite.graph.numbers import bound


class Dropped(NamedTuple):
    """What mentions and evidence were dropped of: numbers of spellings, with their entities, and of relations."""

    spellings: dict[int, int]
    relations: set[int]


def drop_reading(connection: apsw.Connection, memory: int, extractor: str) -> Dropped:
    """Drop what one extractor read in a memory; what nothing speaks of is still there."""
    gone = list(
        rows(connection, "DELETE FROM reading WHERE (memory, extractor) = (?, ?) RETURNING 1", memory, extractor)
    )
    return _drop(connection, "(memory, extractor) = (?, ?)", memory, extractor) if gone else Dropped({}, set())


def forget_memory(connection: apsw.Connection, memory: int) -> None:
    """Drop all that was read in a memory that is not live, and what only it spoke of; inside a transaction."""
    if not list(rows(connection, "DELETE FROM reading WHERE memory = ? RETURNING 1", memory)):
        return
    dropped = _drop(connection, "memory = ?", memory)
    drop_unused(connection, dropped)


def drop_unused(connection: apsw.Connection, dropped: Dropped) -> None:
    """Drop those that have no mention and no evidence any more, of hidden memories neither."""
    relations = "SELECT value FROM carray(?) WHERE value NOT IN (SELECT relation FROM evidence WHERE relation = value)"
    for number in _those(connection, relations, dropped.relations):
        connection.execute("DELETE FROM relation WHERE id = ?", (number,))
        connection.execute("DELETE FROM period WHERE relation = ?", (number,))
    connection.executemany(
        "DELETE FROM spelling WHERE id = ? AND uses = 0", [(number,) for number in dropped.spellings]
    )
    entities = "SELECT value FROM carray(?) WHERE value NOT IN (SELECT entity FROM spelling WHERE entity = value)"
    for number in _those(connection, entities, set(dropped.spellings.values())):
        _drop_entity(connection, number)


def _drop(connection: apsw.Connection, which: str, *values: int | str) -> Dropped:
    mentions = list(rows(connection, f"DELETE FROM mention WHERE {which} RETURNING spelling", *values))  # noqa: S608 - ours
    evidence = list(rows(connection, f"DELETE FROM evidence WHERE {which} RETURNING relation", *values))  # noqa: S608 - ours
    unused = "UPDATE spelling SET uses = uses - 1 WHERE id = ? RETURNING entity"
    spellings = {number: one(connection, unused, number) for (number,) in mentions}
    return Dropped(spellings, {number for (number,) in evidence})


def _drop_entity(connection: apsw.Connection, number: int) -> None:
    gone = "DELETE FROM entity WHERE id = ? RETURNING workspace, key"
    for workspace, key in list(rows(connection, gone, number)):
        words = [(workspace, word, number) for word in words_of(key)]
        connection.executemany("DELETE FROM entity_word WHERE (workspace, word, entity) = (?, ?, ?)", words)
    vectors.drop(connection, number)


def _those(connection: apsw.Connection, statement: str, numbers: set[int]) -> list[int]:
    if not numbers:
        return []
    return [number for (number,) in list(rows(connection, statement, bound(numbers)))]
