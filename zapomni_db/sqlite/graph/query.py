"""Answers questions about the graph: entities by name and by words, relations around them, how much there is."""

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from operator import itemgetter
from typing import Any

import apsw

from zapomni_db.entity_names import SHORTEST_BEGINNING, key_of, name_score, words_of
from zapomni_db.errors import InvalidInputError
from zapomni_db.facts import MOST_ALSO_CURRENT, MOST_EVIDENCE, entity_uid, uid_of
from zapomni_db.records import MENTIONED_WITH, Direction, Entity, Evidence, Relation, Surroundings
from zapomni_db.sqlite.connection import one, rows
from zapomni_db.sqlite.graph.timeline import bound
from zapomni_db.sqlite.texts import CUT, FIRST_PART
from zapomni_db.sqlite.texts import cut as cut_text
from zapomni_db.values import (
    check_text,
    checked_micros,
    from_json,
    from_micros_or_none,
    is_text,
)

_ENTITY = "lower(hex({0}.uid)), {0}.name, {0}.type, {0}.mentions, {0}.memories"  # as its record has them


# Entities.

_NAMED = f"SELECT id, {_ENTITY.format('entity')} FROM entity WHERE uid = ? AND workspace = ? AND memories > 0"  # noqa: S608 - ours
_MENTIONED = f"""
SELECT spans, {_ENTITY.format("entity")}
FROM memory CROSS JOIN mention ON mention.memory = memory.id CROSS JOIN spelling ON spelling.id = mention.spelling
    CROSS JOIN entity ON entity.id = spelling.entity
WHERE memory.uid = ? AND memory.workspace = ? AND deleted_at IS NULL AND replaced_by IS NULL
"""  # noqa: S608 - ours


def entities(connection: apsw.Connection, workspace: str, names: Sequence[str]) -> dict[int, Entity]:
    """The live entities of these names or ids, by number."""
    if not is_text(workspace):
        return {}
    uids = [uid for name in names for uid in _uids(workspace, name)]
    return {row[0]: Entity(*row[1:]) for uid in uids for row in rows(connection, _NAMED, uid, workspace)}


def entities_of(connection: apsw.Connection, workspace: str, memory_id: str) -> list[Entity]:
    """The entities of a live memory in the order of its text; last those that it does not name literally."""
    if not (is_text(workspace) and is_text(memory_id)):
        return []
    first: dict[Entity, float] = {}
    for spans, *columns in rows(connection, _MENTIONED, memory_id, workspace):
        entity = Entity(*columns)
        start = min((start for start, _ in from_json(spans)), default=float("inf"))
        first[entity] = min(start, first.get(entity, start))
    return sorted(first, key=lambda one: (first[one], one.name))


def _uids(workspace: str, name: str) -> list[bytes]:
    if not is_text(name):
        return []
    uid = uid_of(name)
    return [entity_uid(workspace, key_of(name))] + ([uid] if uid else [])


# Entities by the words of their names.

_LONGEST_TEXT = 10_000
_MOST_WORDS = 64
_MOST_OF_A_WORD = 1000
_MOST_TOGETHER = 5000

# Hidden entities are left out before the bound: however many there are, they take no place.
_LIVE = (
    "SELECT e.id FROM entity_word w CROSS JOIN entity e ON e.id = w.entity AND e.memories > 0 WHERE w.workspace = ? "
)
_EXACT = _LIVE + "AND w.word = ? LIMIT ?"
_BEGINNING = _LIVE + "AND w.word > ? AND w.word < ? LIMIT ?"
_FOUND = f"""
SELECT key, {_ENTITY.format("entity")} FROM carray(?) wanted CROSS JOIN entity ON entity.id = wanted.value
"""  # noqa: S608 - ours


def find(connection: apsw.Connection, workspace: str, text: str, limit: int) -> list[tuple[Entity, float]]:
    """The best entities with a score from 0 to 1, best first."""
    check_text("workspace", workspace)
    asked = words_of(key_of(check_text("text", text[:_LONGEST_TEXT])))[:_MOST_WORDS]
    candidates = sorted(_by_words(connection, workspace, asked))
    scored = [
        (Entity(*columns), name_score(words_of(key), asked))
        for key, *columns in rows(connection, _FOUND, bound(candidates))
    ]
    return sorted(scored, key=lambda pair: (-pair[1], -pair[0].memories, pair[0].name))[:limit]


def _by_words(connection: apsw.Connection, workspace: str, words: Iterable[str]) -> set[int]:
    """Numbers of entities with one of these words; those with rare words first, for there is a bound."""
    by_word = []
    for word in words:
        found = [number for (number,) in rows(connection, _EXACT, workspace, word, _MOST_OF_A_WORD)]
        if len(word) >= SHORTEST_BEGINNING:
            last = word + "\U0010ffff"
            beginning = rows(connection, _BEGINNING, workspace, word, last, _MOST_OF_A_WORD - len(found))
            found += [number for (number,) in beginning]
        by_word.append(found)
    together: set[int] = set()
    for found in sorted(by_word, key=len):
        if len(together) < _MOST_TOGETHER:
            together.update(found)
    return together


# Relations around entities.

# A row begins with its strength: evidence, the newest, the one that was met last.
_NEXT = """
SELECT x.evidence, x.latest, x.id, x.subject, x.object
FROM carray(:{end}s) w CROSS JOIN relation x ON x.{end} = w.value AND x.evidence > 0 {which}
"""
# Sorted there, so that of a hub only those are fetched that may be given back: a relation can be among them twice, once at each end.
_STRONGEST = " ORDER BY 1 DESC, 2 DESC, 3 DESC LIMIT 2 * :limit"
_EITHER_WAY = " AND x.type = :mentioned"  # who is mentioned with whom has no direction
_ENDS: dict[Direction, list[tuple[str, str]]] = {
    "out": [("subject", ""), ("object", _EITHER_WAY)],
    "in": [("object", ""), ("subject", _EITHER_WAY)],
    "both": [("subject", ""), ("object", "")],
}
IS_CURRENT = "(x.valid_until IS NULL OR x.valid_until > :now)"
_WAS_TRUE = """
(x.begin <= :at AND (x.valid_until IS NULL OR x.valid_until > :at)
    OR EXISTS (SELECT 1 FROM period p WHERE p.relation = x.id AND p.begin <= :at AND p.valid_until > :at))
"""
_FACTS = """
SELECT r.id FROM relation r JOIN entity s ON s.id = r.subject AND s.workspace = :workspace
WHERE r.id > :after AND r.evidence > 0 AND r.type != :mentioned ORDER BY r.id LIMIT :limit
"""
_NUMBER = """
SELECT r.id FROM relation r JOIN entity s ON s.id = r.subject AND s.workspace = ? WHERE r.uid = ?
"""
_ALSO_CURRENT = f"""
SELECT DISTINCT x.id FROM carray(:facts) w CROSS JOIN relation r ON r.id = w.value
    CROSS JOIN relation x ON x.subject = r.subject AND x.type = r.type
WHERE x.evidence > 0 AND {IS_CURRENT} AND (r.valid_until IS NULL OR r.valid_until > :now)
    AND x.id NOT IN (SELECT value FROM carray(:same))
ORDER BY x.evidence DESC, x.latest DESC, x.id DESC LIMIT :limit
"""  # noqa: S608 - ours


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which relations are walked along and given back."""

    depth: int = 1
    direction: Direction = "both"
    types: Sequence[str] = ()
    at: datetime | None = None
    ended: bool = False
    limit: int = 50


def related(connection: apsw.Connection, workspace: str, names: Sequence[str], wanted: Wanted) -> Surroundings:
    """Relations with their distance: the nearest first, then those with most evidence, then the newest."""
    about = entities(connection, check_text("workspace", workspace), names)
    distances = _walk(connection, about, wanted)
    found = _read(connection, list(distances), None if wanted.at is None else checked_micros("at", wanted.at))
    return Surroundings(list(about.values()), list(zip(distances.values(), found, strict=True)))


def facts(connection: apsw.Connection, workspace: str, after: str, limit: int) -> list[Relation]:
    """Relations other than co-mentions, in the order in which they were first met."""
    uid = uid_of(after)
    start = one(connection, _NUMBER, check_text("workspace", workspace), uid) if uid else None
    if after and start is None:
        raise InvalidInputError("after must be the id of the last fact of the page before")
    asked = {"workspace": workspace, "after": start or 0, "mentioned": MENTIONED_WITH, "limit": max(0, limit)}
    return _read(connection, [number for (number,) in connection.execute(_FACTS, asked)], None)


def also_current(connection: apsw.Connection, relations: set[int], now: int) -> list[Relation]:
    """Other current relations with the subject and type of one of these, where that is current."""
    asked = {"facts": bound(relations), "same": bound(relations), "now": now, "limit": MOST_ALSO_CURRENT}
    return _read(connection, [number for (number,) in connection.execute(_ALSO_CURRENT, asked)], None)


def _walk(connection: apsw.Connection, start: Iterable[int], wanted: Wanted) -> dict[int, int]:
    """The numbers of relations with their distance, in order. A level is left only when all of it was taken."""
    which, asked = _conditions(wanted)
    taken: dict[int, int] = {}
    seen = frontier = set(start)
    for distance in range(1, wanted.depth + 1):
        if not frontier or len(taken) >= wanted.limit:
            break
        asked |= {end: bound(sorted(frontier)) for end in ("subjects", "objects")}
        level = []
        for row in connection.execute(_next(wanted.direction, which), asked):
            if row[2] not in taken:
                taken[row[2]] = distance
                level.append(row)
                if len(taken) >= wanted.limit:
                    break
        frontier = {end for row in level for end in row[3:]} - seen
        seen = seen | frontier
    return taken


@lru_cache(maxsize=64)
def _next(direction: Direction, which: str) -> str:
    """A statement for the strongest relations of the entities of one level, some of them twice."""
    ends = [_NEXT.format(end=end, which=which + more) for end, more in _ENDS[direction]]
    return " UNION ALL ".join(ends) + _STRONGEST


def _conditions(wanted: Wanted) -> tuple[str, dict[str, Any]]:
    """Which relations are walked along, and the values of the statement."""
    asked: dict[str, Any] = {"limit": max(0, wanted.limit), "mentioned": MENTIONED_WITH}
    which = "AND x.type != :mentioned "
    if wanted.types:
        which = "AND x.type IN (SELECT value FROM carray(:types)) "
        asked["types"] = apsw.carray(tuple(check_text("types", one) for one in wanted.types))
    if wanted.at is not None:
        which += f"AND {_WAS_TRUE}"
        asked["at"] = checked_micros("at", wanted.at)
    elif not wanted.ended:
        which += f"AND {IS_CURRENT}"
        asked["now"] = time.time_ns() // 1000
    return which, asked


# Relations as they are given back.

_TIMES = "{0}.valid_from, {0}.valid_until, (SELECT uid FROM memory WHERE memory.id = {0}.ended_by)"
_RELATIONS = f"""
SELECT r.id, r.evidence, {_ENTITY.format("s")}, {_ENTITY.format("o")}, lower(hex(r.uid)), r.type, {_TIMES.format("r")}
FROM carray(?) w CROSS JOIN relation r ON r.id = w.value
    CROSS JOIN entity s ON s.id = r.subject CROSS JOIN entity o ON o.id = r.object
"""  # noqa: S608 - ours
_TIMED = 14  # where the times begin
_PERIODS = f"""
SELECT p.relation, {_TIMES.format("p")}
FROM carray(:relations) w CROSS JOIN period p ON p.relation = w.value
WHERE p.begin <= :at AND p.valid_until > :at
"""  # noqa: S608 - ours
_EVIDENCE = f"""
SELECT c.relation, c.memory, c.first_byte, c.last_byte, {CUT}, m.uid, c.start, c.end, c.extractor, c.basis
FROM carray(?) w CROSS JOIN evidence c ON {{which}}
    CROSS JOIN memory m ON m.id = c.memory LEFT JOIN body ON body.id = {FIRST_PART}
WHERE m.deleted_at IS NULL AND m.replaced_by IS NULL
"""  # noqa: S608 - ours
_ALL_EVIDENCE = _EVIDENCE.format(which="c.relation = w.value")
_NEWEST_EVIDENCE = _EVIDENCE.format(
    which=f"""
c.id IN (
    SELECT x.id FROM evidence x CROSS JOIN memory y ON y.id = x.memory
    WHERE x.relation = w.value AND y.deleted_at IS NULL AND y.replaced_by IS NULL
    ORDER BY x.memory DESC, x.id LIMIT {MOST_EVIDENCE}
)
"""  # noqa: S608 - ours
)


def _read(connection: apsw.Connection, numbers: Sequence[int], at: int | None) -> list[Relation]:
    """Relations in this order, each with its last period, or the one that holds a moment."""
    if not numbers:
        return []
    found = list(rows(connection, _RELATIONS, bound(numbers)))
    then = {} if at is None else _periods(connection, numbers, at)
    evidence = _evidence(connection, {row[0]: row[1] for row in found})
    return [_relation(row[:_TIMED] + then.get(row[0], row[_TIMED:]), evidence[row[0]]) for row in found]


def _relation(row: tuple[Any, ...], evidence: list[Evidence]) -> Relation:
    uid, kind, valid_from, valid_until, ended_by = row[12:]
    return Relation(
        id=uid,
        subject=Entity(*row[2:7]),
        type=kind,
        object=Entity(*row[7:12]),
        valid_from=from_micros_or_none(valid_from),
        valid_until=from_micros_or_none(valid_until),
        ended_by=ended_by,
        evidence=tuple(evidence[:MOST_EVIDENCE]),
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
    found.sort(key=itemgetter(1), reverse=True)  # those of one memory stay as they are: in the order of its text
    evidence: defaultdict[int, list[Evidence]] = defaultdict(list)
    for relation, memory, first, last, cut, memory_id, start, end, extractor, basis in found:
        if cut is None or len(cut) < last - first:  # it is in two parts of a long text
            cut = cut_text(connection, memory, first, last)  # noqa: PLW2901  # the whole of it
        piece = Evidence(memory_id, cut.decode(), start, end, extractor, basis)
        if piece not in evidence[relation]:  # stated with other dates
            evidence[relation].append(piece)
    return evidence
