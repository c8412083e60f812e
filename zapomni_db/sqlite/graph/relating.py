"""Walks along relations from entities outwards, breadth first."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

import apsw

from zapomni_db.records import MENTIONED_WITH, Direction, Surroundings
from zapomni_db.sqlite.graph.entities import by_name
from zapomni_db.sqlite.graph.numbers import bound
from zapomni_db.sqlite.graph.relations import read
from zapomni_db.sqlite.values import check_text, checked_micros

# A row begins with its strength: that something is said, evidence, the newest, the one that was met last.
_NEXT = """
SELECT x.type != :mentioned, x.evidence, x.latest, x.id, x.subject, x.object
FROM carray(:{end}s) w CROSS JOIN relation x ON x.{end} = w.value AND x.evidence > 0 {which}
"""
# Sorted there, so that of a hub only those are fetched that may be given back: a relation can be among them twice, once at each end.
_STRONGEST = " ORDER BY 1 DESC, 2 DESC, 3 DESC, 4 DESC LIMIT 2 * :limit"
_EITHER_WAY = " AND x.type = :mentioned"  # who is mentioned with whom has no direction
_ENDS: dict[Direction, list[tuple[str, str]]] = {
    "out": [("subject", ""), ("object", _EITHER_WAY)],
    "in": [("object", ""), ("subject", _EITHER_WAY)],
    "both": [("subject", ""), ("object", "")],
}
_TRUE_THEN = """
AND (x.begin <= :at AND (x.valid_until IS NULL OR x.valid_until > :at)
    OR EXISTS (SELECT 1 FROM period p WHERE p.relation = x.id AND p.begin <= :at AND p.valid_until > :at))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which relations are walked along and given back."""

    depth: int = 1
    direction: Direction = "both"
    types: Sequence[str] = ()
    at: datetime | None = None
    superseded: bool = False
    limit: int = 50


def related(connection: apsw.Connection, workspace: str, names: Sequence[str], wanted: Wanted) -> Surroundings:
    """Relations with their distance: the nearest first, mere mentions after the rest, most evidence, then the newest."""
    about = by_name(connection, check_text("workspace", workspace), names)
    distances = _walk(connection, about, wanted)
    found = read(connection, list(distances), None if wanted.at is None else checked_micros("at", wanted.at))
    return Surroundings(list(about.values()), list(zip(distances.values(), found, strict=True)))


def _walk(connection: apsw.Connection, start: Iterable[int], wanted: Wanted) -> dict[int, int]:
    """The numbers of relations with their distance, in order. A level is left only when all of it was taken."""
    which, values = _conditions(wanted)
    taken: dict[int, int] = {}
    seen = frontier = set(start)
    for distance in range(1, wanted.depth + 1):
        if not frontier or len(taken) >= wanted.limit:
            break
        values |= {end: bound(sorted(frontier)) for end in ("subjects", "objects")}
        level = []
        for row in connection.execute(_next(wanted.direction, which), values):
            if row[3] not in taken:
                taken[row[3]] = distance
                level.append(row)
                if len(taken) >= wanted.limit:
                    break
        frontier = {end for row in level for end in row[4:]} - seen
        seen = seen | frontier
    return taken


@lru_cache(maxsize=64)
def _next(direction: Direction, which: str) -> str:
    """A statement for the strongest relations of the entities of one level, some of them twice."""
    ends = [_NEXT.format(end=end, which=which + more) for end, more in _ENDS[direction]]
    return " UNION ALL ".join(ends) + _STRONGEST


def _conditions(wanted: Wanted) -> tuple[str, dict[str, Any]]:
    """Which relations are walked along, and the values of the statement."""
    values: dict[str, Any] = {"limit": max(0, wanted.limit), "mentioned": MENTIONED_WITH}
    which = ""
    if wanted.at is not None:
        which += _TRUE_THEN
        values["at"] = checked_micros("at", wanted.at)
    elif not wanted.superseded:
        which += (
            "AND (x.superseded_by IS NULL OR x.valid_until > :now) "  # what comes later has not taken its place yet
        )
        values["now"] = time.time_ns() // 1000
    if wanted.types:
        which += "AND x.type IN (SELECT value FROM carray(:types))"
        values["types"] = apsw.carray(tuple(check_text("types", one) for one in wanted.types))
    return which, values
