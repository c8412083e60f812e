"""Keeps what follows from mentions and evidence: how many live memories speak of an entity, and when a relation was true."""

from array import array
from collections.abc import Iterable, Sequence
from typing import Any

import apsw

from zapomni_db.facts import NOTHING, Contribution, contribution_of
from zapomni_db.sqlite.connection import rows
from zapomni_db.timeline import Period, Statement, timeline
from zapomni_db.values import from_json

_MENTIONS = """
SELECT entity, spelling, spans FROM mention CROSS JOIN spelling ON spelling.id = mention.spelling WHERE memory = ?
"""
_COUNT_SPELLING = "UPDATE spelling SET live = live + ?, places = places + ? WHERE id = ?"
# The name: the spelling that most places have. The type: the first that says more than that there is something.
_COUNT_ENTITY = """
UPDATE entity SET memories = memories + ?, mentions = mentions + ?,
    name = coalesce((SELECT name FROM spelling WHERE entity = entity.id AND live > 0
        GROUP BY name ORDER BY sum(places) DESC, min(id) LIMIT 1), name),
    type = coalesce((SELECT type FROM spelling WHERE entity = entity.id AND live > 0
        ORDER BY type IN ('name', 'thing'), id LIMIT 1), type)
WHERE id = ?
"""

# Of relations, the subjects and types in which one replaces others.
_GROUPS = """
SELECT DISTINCT x.subject, x.type FROM carray(?) w CROSS JOIN relation r ON r.id = w.value
    CROSS JOIN relation x ON x.subject = r.subject AND x.type = r.type AND x.replaces = 1
"""
_GROUP = "SELECT id FROM relation WHERE subject = ? AND type = ?"
_STATEMENTS = """
SELECT e.relation, e.valid_from, e.valid_until, m.timestamp, m.created_at, m.id, e.id, e.stated_at, e.replaces
FROM carray(?) w CROSS JOIN evidence e ON e.relation = w.value CROSS JOIN memory m ON m.id = e.memory
WHERE m.deleted_at IS NULL AND m.replaced_by IS NULL
"""
_CURRENT = """
SELECT r.id FROM carray(?) w CROSS JOIN relation r ON r.id = w.value
WHERE r.evidence > 0 AND (r.valid_until IS NULL OR r.valid_until > ?)
"""
_HIDE = """
UPDATE relation SET evidence = 0, latest = 0, begin = NULL, valid_from = NULL, valid_until = NULL, ended_by = NULL
WHERE id = ?
"""
_SHOW = """
UPDATE relation SET evidence = ?, latest = ?, begin = ?, valid_from = ?, valid_until = ?, ended_by = ? WHERE id = ?
"""


def bound(numbers: Iterable[int]) -> Any:
    """Numbers of rows for `carray(?)`, in this order; 0, which no row has, where there are none: it refuses an empty one."""
    return apsw.carray(array("q", numbers) or array("q", [0]))


def show(connection: apsw.Connection, memory: int) -> None:
    """Show what a memory says that is live again."""
    count(connection, NOTHING, contribution(connection, memory))
    update(connection, _relations_of(connection, memory))


def hide(connection: apsw.Connection, memory: int) -> None:
    """Hide what a memory says that is live no more."""
    count(connection, contribution(connection, memory), NOTHING)
    update(connection, _relations_of(connection, memory))


def contribution(connection: apsw.Connection, memory: int) -> Contribution:
    """The contribution of a memory if it is live."""
    return contribution_of((*which, from_json(spans)) for *which, spans in rows(connection, _MENTIONS, memory))


def count(connection: apsw.Connection, before: Contribution, after: Contribution) -> None:
    """Count what a memory adds now instead of what it added before."""
    spellings = before.live.keys() | after.live.keys()
    connection.executemany(
        _COUNT_SPELLING,
        [
            (after.live[one] - before.live[one], after.places[one] - before.places[one], one)
            for one in sorted(spellings)
        ],
    )
    entities = before.memories.keys() | after.memories.keys()
    connection.executemany(
        _COUNT_ENTITY,
        [
            (after.memories[one] - before.memories[one], after.mentions[one] - before.mentions[one], one)
            for one in sorted(entities)
        ],
    )


def update(connection: apsw.Connection, relations: Iterable[int]) -> None:
    """Compute again when relations were true, and those that replace them or are replaced by them."""
    numbers = set(relations)
    if not numbers:
        return
    groups = _groups(connection, numbers)
    lines = [*groups, *({number} for number in numbers - set().union(*groups))]
    said: dict[int, list[Statement]] = {number: [] for line in lines for number in line}
    for row in rows(connection, _STATEMENTS, bound(sorted(said))):
        said[row[0]].append(Statement(*row))
    connection.execute("DELETE FROM period WHERE relation IN (SELECT value FROM carray(?))", (bound(said),))
    connection.executemany(_HIDE, [(number,) for number, statements in said.items() if not statements])
    _keep(connection, said, [period for line in lines for period in timeline(one for n in line for one in said[n])])


def with_competing(connection: apsw.Connection, relations: set[int]) -> set[int]:
    """These relations, and those of the same subject and type where one may replace the others."""
    return relations.union(*_groups(connection, relations))


def current(connection: apsw.Connection, relations: Iterable[int], now: int) -> set[int]:
    """Those of these relations that are not over."""
    return {number for (number,) in rows(connection, _CURRENT, bound(relations), now)}


def _groups(connection: apsw.Connection, numbers: set[int]) -> list[set[int]]:
    groups = list(rows(connection, _GROUPS, bound(numbers)))
    return [{number for (number,) in rows(connection, _GROUP, *group)} for group in groups]


def _keep(connection: apsw.Connection, said: dict[int, list[Statement]], periods: Sequence[Period]) -> None:
    last = {period.relation: period for period in periods}
    connection.executemany(_SHOW, [(*_strength(said[one]), *_times(last[one]), one) for one in last])
    earlier = [(one.relation, *_times(one)) for one in periods if one is not last[one.relation]]
    connection.executemany("INSERT INTO period VALUES(?, ?, ?, ?, ?)", earlier)


def _strength(statements: Sequence[Statement]) -> tuple[int, int]:
    return len({one.memory for one in statements}), max(one.moment for one in statements)


def _times(period: Period) -> tuple[int | None, ...]:
    return period.begin, period.since, period.until, period.ended_by


def _relations_of(connection: apsw.Connection, memory: int) -> set[int]:
    return {number for (number,) in rows(connection, "SELECT relation FROM evidence WHERE memory = ?", memory)}
