"""Relations as they are given back: with their entities, the time in which they were true, and quotes that say it."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

import apsw

from zapomni_db.records import Entity, Evidence, Relation
from zapomni_db.sqlite.bodies import CUT, FIRST_PART, cut_body
from zapomni_db.sqlite.connections import rows
from zapomni_db.sqlite.graph.numbers import bound
from zapomni_db.sqlite.values import from_micros

MOST_EVIDENCE = 10
"""Pieces of evidence that are given with a relation: those of the newest memories."""

_TIMES = """
{0}.valid_from, {0}.valid_until, {0}.learned_at,
(SELECT rival.uid FROM relation rival WHERE rival.id = {0}.superseded_by), {0}.superseded_at
"""
_ENTITY = "lower(hex({0}.uid)), {0}.name, {0}.type, {0}.mentions, {0}.memories"  # as its record has them
_RELATIONS = f"""
SELECT r.id, r.evidence, {_ENTITY.format("s")}, {_ENTITY.format("o")}, r.uid, r.type, {_TIMES.format("r")}
FROM carray(?) w CROSS JOIN relation r ON r.id = w.value
    CROSS JOIN entity s ON s.id = r.subject CROSS JOIN entity o ON o.id = r.object
"""  # noqa: S608 - ours
_PERIODS = f"""
SELECT p.relation, {_TIMES.format("p")}
FROM carray(:relations) w CROSS JOIN period p ON p.relation = w.value
WHERE p.begin <= :at AND p.valid_until > :at
"""  # noqa: S608 - ours
_PIECE = f"c.relation, c.memory, c.first_byte, c.last_byte, {CUT}, m.uid, c.start, c.end, c.extractor, c.basis"
_SAID = f"""
CROSS JOIN memory m ON m.id = c.memory LEFT JOIN body ON body.id = {FIRST_PART}
WHERE m.deleted_at IS NULL AND m.replaced_by IS NULL
"""
_EVIDENCE = f"SELECT {_PIECE} FROM carray(?) w CROSS JOIN evidence c ON {{which}} {_SAID}"  # noqa: S608 - ours
_BEGIN = "coalesce(c.valid_from, min(m.moment, coalesce(c.valid_until, m.moment)))"  # as periods.Statement has it
# Evidence of the period that holds a moment: what is said of a time within it, or of its end.
_EVIDENCE_THEN = f"""
WITH held(relation, begin, until) AS (
    SELECT r.id, r.begin, r.valid_until FROM carray(:relations) w CROSS JOIN relation r ON r.id = w.value
    WHERE r.begin <= :at AND (r.valid_until IS NULL OR r.valid_until > :at)
    UNION ALL
    SELECT p.relation, p.begin, p.valid_until FROM carray(:same) w CROSS JOIN period p ON p.relation = w.value
    WHERE p.begin <= :at AND p.valid_until > :at
)
SELECT {_PIECE} FROM held CROSS JOIN evidence c ON c.relation = held.relation {_SAID}
    AND {_BEGIN} >= held.begin AND (held.until IS NULL OR c.valid_until = held.until OR {_BEGIN} < held.until)
"""  # noqa: S608 - ours
_MEMORY = itemgetter(1)  # of a row
_TIMED = 14  # where the times of a relation's row begin
_record = tuple.__new__  # one of its fields, at half of what it takes to call its class: there may be hundreds
_NEWEST = """
c.id IN (
    SELECT x.id FROM evidence x CROSS JOIN memory y ON y.id = x.memory
    WHERE x.relation = w.value AND y.deleted_at IS NULL AND y.replaced_by IS NULL
    ORDER BY x.memory DESC, x.id LIMIT {most}
)
"""
_ALL_EVIDENCE = _EVIDENCE.format(which="c.relation = w.value")
_NEWEST_EVIDENCE = _EVIDENCE.format(which=_NEWEST.format(most=MOST_EVIDENCE))


def read(connection: apsw.Connection, numbers: Sequence[int], at: int | None) -> list[Relation]:
    """Relations in this order, each with its last period, or the one that holds a moment."""
    if not numbers:
        return []
    found = list(rows(connection, _RELATIONS, bound(numbers)))
    evidence = _evidence(connection, {row[0]: row[1] for row in found})
    if at is not None:
        then = _periods(connection, numbers, at)
        found = [row[:_TIMED] + then.get(row[0], row[_TIMED:]) for row in found]
        evidence.update(_evidence_then(connection, numbers, at))
    return [_relation(row, evidence[row[0]]) for row in found]


def _relation(row: tuple[Any, ...], evidence: list[Evidence]) -> Relation:
    uid, kind, valid_from, valid_until, learned_at, rival, superseded_at = row[12:]
    return _record(
        Relation,
        (
            uid.hex(),
            _record(Entity, row[2:7]),
            kind,
            _record(Entity, row[7:12]),
            None if valid_from is None else from_micros(valid_from),
            None if valid_until is None else from_micros(valid_until),
            from_micros(learned_at),
            None if rival is None else rival.hex(),
            None if superseded_at is None else from_micros(superseded_at),
            tuple(evidence[:MOST_EVIDENCE]),
        ),
    )


def _periods(connection: apsw.Connection, numbers: Sequence[int], at: int) -> Mapping[int, tuple[Any, ...]]:
    """The times of relations in an earlier period that holds a moment."""
    found = connection.execute(_PERIODS, {"relations": bound(numbers), "at": at})
    return {row[0]: row[1:] for row in found}


def _evidence(connection: apsw.Connection, memories: Mapping[int, int]) -> dict[int, list[Evidence]]:
    """The newest evidence of each relation, of which it is known how many memories say it.

    That of the newest memory comes first, in the order of its text.
    """
    few = [number for number, count in memories.items() if count <= MOST_EVIDENCE]
    many = [number for number, count in memories.items() if count > MOST_EVIDENCE]
    found = [
        row
        for statement, numbers in ((_ALL_EVIDENCE, few), (_NEWEST_EVIDENCE, many))
        for row in (rows(connection, statement, bound(numbers)) if numbers else ())
    ]
    return _by_relation(connection, found)


def _evidence_then(connection: apsw.Connection, numbers: Sequence[int], at: int) -> dict[int, list[Evidence]]:
    """The evidence of each relation that speaks of the period that holds a moment."""
    asked = {"relations": bound(numbers), "same": bound(numbers), "at": at}
    return _by_relation(connection, connection.execute(_EVIDENCE_THEN, asked).fetchall())


def _by_relation(connection: apsw.Connection, found: list[Any]) -> dict[int, list[Evidence]]:
    evidence: defaultdict[int, list[Evidence]] = defaultdict(list)
    found.sort(key=_MEMORY, reverse=True)  # those of one memory stay as they are: in the order of its text
    for relation, memory, first, last, cut, memory_id, start, end, extractor, basis in found:
        if cut is None or len(cut) < last - first:  # it is in two parts of a long text
            cut = cut_body(connection, memory, first, last)  # noqa: PLW2901  # the whole of it
        evidence[relation].append(_record(Evidence, (memory_id, cut.decode(), start, end, extractor, basis)))
    return evidence
