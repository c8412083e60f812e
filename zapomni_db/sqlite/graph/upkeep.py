"""Keeps what follows from mentions and evidence: how many live memories speak of an entity, and when a relation was true."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import apsw

from zapomni_db.periods import Period, Statement, timeline
from zapomni_db.sqlite.connections import one, rows
from zapomni_db.sqlite.graph.numbers import bound
from zapomni_db.sqlite.values import from_json


class Contribution(NamedTuple):
    """What a live memory adds: to entities, to the uses of spellings, and to their places."""

    memories: Counter[int]
    mentions: Counter[int]
    live: Counter[int]
    places: Counter[int]


NOTHING = Contribution(Counter(), Counter(), Counter(), Counter())

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

_GROUPS = """
SELECT r.id, r.subject, r.type FROM carray(?) w CROSS JOIN relation r ON r.id = w.value AND r.exclusive = 1
"""
_GROUP = "SELECT id FROM relation WHERE subject = ? AND type = ? AND exclusive = 1"
_STATEMENTS = """
SELECT e.relation, e.valid_from, e.valid_until, m.timestamp, m.created_at, m.id, e.start, e.exclusive
FROM carray(?) w CROSS JOIN evidence e ON e.relation = w.value CROSS JOIN memory m ON m.id = e.memory
WHERE m.deleted_at IS NULL AND m.replaced_by IS NULL
"""
_HIDE = """
UPDATE relation SET evidence = 0, latest = 0, begin = NULL, valid_from = NULL, valid_until = NULL, learned_at = NULL,
    superseded_by = NULL, superseded_at = NULL
WHERE id = ?
"""
_TELL = """
UPDATE relation SET evidence = ?, latest = ?, begin = ?, valid_from = ?, valid_until = ?, learned_at = ?,
    superseded_by = ?, superseded_at = ?
WHERE id = ?
"""


def is_live(connection: apsw.Connection, memory: int) -> bool:
    """Whether what a memory says is shown."""
    live = "SELECT 1 FROM memory WHERE id = ? AND deleted_at IS NULL AND replaced_by IS NULL"
    return one(connection, live, memory) is not None


def show(connection: apsw.Connection, memory: int) -> None:
    """Show what a memory says that is live again."""
    if _is_read(connection, memory):
        apply(connection, NOTHING, contribution(connection, memory))
        retell(connection, _relations_of(connection, memory))


def hide(connection: apsw.Connection, memory: int) -> None:
    """Hide what a memory says that is live no more."""
    if _is_read(connection, memory):
        apply(connection, contribution(connection, memory), NOTHING)
        retell(connection, _relations_of(connection, memory))


def contribution(connection: apsw.Connection, memory: int) -> Contribution:
    """What a memory adds if it is live. Two extractors that name the same place name one place."""
    spans: dict[int, set[tuple[int, ...]]] = {}
    live: Counter[int] = Counter()
    places: Counter[int] = Counter()
    for entity, spelling, kept in rows(connection, _MENTIONS, memory):
        named = {tuple(span) for span in from_json(kept)}
        spans.setdefault(entity, set()).update(named)
        live[spelling] += 1
        places[spelling] += len(named)
    mentions = Counter({entity: len(named) for entity, named in spans.items()})
    return Contribution(Counter(dict.fromkeys(spans, 1)), mentions, live, places)


def apply(connection: apsw.Connection, before: Contribution, after: Contribution) -> None:
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


def retell(connection: apsw.Connection, relations: Iterable[int]) -> None:
    """Tell anew when relations were true, and those that exclude them, or are excluded by them."""
    numbers, groups = _with_rivals(connection, set(relations))
    if not numbers:
        return
    said: dict[int, list[Statement]] = {number: [] for number in numbers}
    exclusive: set[int] = set()
    for *statement, alone in rows(connection, _STATEMENTS, bound(sorted(numbers))):
        said[statement[0]].append(Statement(*statement))
        exclusive.update(statement[:1] if alone else ())
    connection.execute("DELETE FROM period WHERE relation IN (SELECT value FROM carray(?))", (bound(numbers),))
    connection.executemany(_HIDE, [(number,) for number, statements in said.items() if not statements])
    _keep(connection, said, [timeline(line) for line in _lines(groups, said, exclusive)])


def _lines(
    groups: dict[int, tuple[int, str]], said: dict[int, list[Statement]], exclusive: set[int]
) -> Iterator[list[Statement]]:
    """The statements of each timeline: of a relation, or of all that exclude each other."""
    shared: dict[tuple[int, str], list[Statement]] = {}
    for number, statements in said.items():
        if number in exclusive:
            shared.setdefault(groups[number], []).extend(statements)
        elif statements:
            yield statements
    yield from shared.values()


def _with_rivals(connection: apsw.Connection, numbers: set[int]) -> tuple[set[int], dict[int, tuple[int, str]]]:
    """These relations and all that share an exclusive subject and type with one of them; and who shares what."""
    found = list(rows(connection, _GROUPS, bound(numbers))) if numbers else []
    groups: dict[int, tuple[int, str]] = {}
    for shared in {(subject, kind) for _, subject, kind in found}:
        groups.update({number: shared for (number,) in rows(connection, _GROUP, *shared)})
    return numbers | groups.keys(), groups


def _keep(connection: apsw.Connection, said: dict[int, list[Statement]], lines: list[list[Period]]) -> None:
    last = {period.relation: period for line in lines for period in line}
    connection.executemany(_TELL, [_told(said[number], period) for number, period in last.items()])
    earlier = [period for line in lines for period in line if period is not last[period.relation]]
    connection.executemany(
        "INSERT INTO period VALUES(?, ?, ?, ?, ?, ?, ?)", [(one.relation, *_columns(one)) for one in earlier]
    )


def _told(statements: list[Statement], period: Period) -> tuple[int | None, ...]:
    memories = len({one.memory for one in statements})
    return memories, max(one.said for one in statements), *_columns(period), period.relation


def _columns(period: Period) -> tuple[int | None, ...]:
    return (
        period.begin,
        period.valid_from,
        period.valid_until,
        period.learned_at,
        period.superseded_by,
        period.superseded_at,
    )


def _is_read(connection: apsw.Connection, memory: int) -> bool:
    return one(connection, "SELECT 1 FROM reading WHERE memory = ? LIMIT 1", memory) is not None


def _relations_of(connection: apsw.Connection, memory: int) -> set[int]:
    return {number for (number,) in rows(connection, "SELECT relation FROM evidence WHERE memory = ?", memory)}
