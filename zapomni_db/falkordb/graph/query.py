"""Answers questions about the graph in Cypher: entities by name and by words, relations around them, how much there is."""

import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from zapomni_db.entity_names import SHORTEST_BEGINNING, key_of, name_score, words_of
from zapomni_db.errors import InvalidInputError
from zapomni_db.facts import MOST_ALSO_CURRENT, MOST_EVIDENCE, entity_uid, uid_of
from zapomni_db.falkordb.client import FalkorDBClient
from zapomni_db.falkordb.cypher import limited, name_of
from zapomni_db.falkordb.graph.subgraph import BLOCK, block_of, indexed_beginning, indexed_word
from zapomni_db.falkordb.memories import state_of
from zapomni_db.falkordb.transaction import read_workspace, workspace_id
from zapomni_db.records import MENTIONED_WITH, Direction, Entity, Evidence, GraphCounts, Relation, Surroundings
from zapomni_db.values import check_text, checked_micros, from_json, from_micros_or_none, is_text


def _entity(name: str) -> str:
    """The columns of an entity, as its record has them."""
    return ", ".join(
        f"{name}.{column} AS {name}_{column}" for column in ("uid", "name", "type", "mentions", "memories")
    )


# Entities.

_NAMED = f"UNWIND $uids AS uid MATCH (e:Entity {{uid: uid}}) WHERE e.ws = $ws AND e.memories > 0 RETURN {_entity('e')}"
_MENTIONED = f"""
MATCH (m:Memory {{uid: $uid}})-[x:MENTIONS]->(e:Entity) WHERE m.state = $live RETURN x.spans, {_entity("e")}
"""


async def entities(client: FalkorDBClient, workspace: str, names: Sequence[str]) -> list[Entity]:
    """The live entities of these names or ids."""
    if not is_text(workspace):
        return []
    uids = [uid for name in names for uid in _uids(workspace, name)]
    found = await client.read(_NAMED, {"uids": uids, "ws": workspace_id(workspace)}) if uids else []
    by_uid = {row[0]: Entity(*row) for row in found}
    return [by_uid[uid] for uid in dict.fromkeys(uids) if uid in by_uid]


async def entities_of(client: FalkorDBClient, workspace: str, memory_id: str) -> list[Entity]:
    """The entities of a live memory in the order of its text; last those that it does not name literally."""
    if not (is_text(workspace) and is_text(memory_id)):
        return []
    asked = {"uid": name_of("memory", workspace, memory_id), "live": state_of(workspace_id(workspace), "live")}
    first: dict[Entity, float] = {}
    for spans, *columns in await client.read(_MENTIONED, asked):
        entity = Entity(*columns)
        start = min((start for start, _ in from_json(spans)), default=float("inf"))
        first[entity] = min(start, first.get(entity, start))
    return sorted(first, key=lambda one: (first[one], one.name))


def _uids(workspace: str, name: str) -> list[str]:
    if not is_text(name):
        return []
    return [entity_uid(workspace, key_of(name)).hex(), *([name] if uid_of(name) else [])]


# Entities by the words of their names.

_LONGEST_TEXT = 10_000
_MOST_WORDS = 64
_MOST_OF_A_WORD = 1000
_MOST_TOGETHER = 5000

# Hidden entities are left out before the bound: however many there are, they take no place.
_HOLDING = "MATCH (e:Entity) WHERE $word IN e.words AND e.memories > 0 RETURN e.uid LIMIT $most"
_FOUND = f"UNWIND $uids AS uid MATCH (e:Entity {{uid: uid}}) RETURN e.key, {_entity('e')}"


async def find(client: FalkorDBClient, workspace: str, text: str, limit: int) -> list[tuple[Entity, float]]:
    """The best entities with a score from 0 to 1, best first."""
    check_text("workspace", workspace)
    asked = words_of(key_of(check_text("text", text[:_LONGEST_TEXT])))[:_MOST_WORDS]
    candidates = sorted(await _by_words(client, workspace_id(workspace), asked))
    found = await client.read(_FOUND, {"uids": candidates}) if candidates else []
    scored = [(Entity(*columns), name_score(words_of(key), asked)) for key, *columns in found]
    return sorted(scored, key=lambda pair: (-pair[1], -pair[0].memories, pair[0].name))[: max(0, limit)]


async def _by_words(client: FalkorDBClient, ws: str, words: Sequence[str]) -> set[str]:
    """Uids of entities with one of these words; those with rare words first, for there is a bound."""
    by_word = []
    for word in words:
        found = await client.read(_HOLDING, {"word": indexed_word(ws, word), "most": _MOST_OF_A_WORD})
        if len(word) >= SHORTEST_BEGINNING:
            most = _MOST_OF_A_WORD - len(found)
            found += await client.read(_HOLDING, {"word": indexed_beginning(ws, word), "most": most})
        by_word.append({uid for (uid,) in found})
    together: set[str] = set()
    for uids in sorted(by_word, key=len):
        if len(together) < _MOST_TOGETHER:
            together |= uids
    return together


# Relations around entities.


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which relations are walked along and given back."""

    depth: int = 1
    direction: Direction = "both"
    types: Sequence[str] = ()
    at: datetime | None = None
    ended: bool = False
    limit: int = 50


_RELATION = f"""
x.uid AS uid, x.type AS type, x.begin, x.since, x.until, x.ended_by, x.earlier, x.evidence AS evidence, x.latest AS latest,
x.number AS number, {_entity("s")}, {_entity("o")}
"""
_IS_CURRENT = "(x.until IS NULL OR x.until > $now)"
_WAS_TRUE = """
(x.begin <= $at AND (x.until IS NULL OR x.until > $at)
    OR any(n IN range(0, coalesce(size(x.begins), 0) - 1) WHERE x.begins[n] <= $at AND x.untils[n] > $at))
"""
# Sorted there, so that of a hub only those are fetched that may be given back.
_AROUND = "UNWIND $frontier AS uid MATCH (e:Entity {uid: uid})-[x:REL]-(:Entity) WHERE x.evidence > 0"
_STRONGEST = f"""
WITH DISTINCT x ORDER BY x.evidence DESC, x.latest DESC, x.number DESC LIMIT $limit
WITH x, startNode(x) AS s, endNode(x) AS o
RETURN {_RELATION} ORDER BY evidence DESC, latest DESC, number DESC
"""
_EITHER_WAY = "x.type = $mentioned"  # who is mentioned with whom has no direction
_ENDS: dict[Direction, str] = {
    "out": f" AND (startNode(x) = e OR {_EITHER_WAY})",
    "in": f" AND (endNode(x) = e OR {_EITHER_WAY})",
    "both": "",
}
_ALSO_CURRENT = f"""
UNWIND $uids AS uid MATCH ()-[r:REL {{uid: uid}}]->() WHERE r.until IS NULL OR r.until > $now
WITH DISTINCT startNode(r) AS e, r.type AS type
MATCH (e)-[x:REL]->(o:Entity) WHERE x.type = type AND x.evidence > 0 AND {_IS_CURRENT} AND NOT x.uid IN $uids
WITH x, e AS s, o RETURN {_RELATION} ORDER BY evidence DESC, latest DESC, number DESC LIMIT $limit
"""
_FACTS = f"""
MATCH ()-[x:REL {{block: $block}}]->() WHERE x.number > $after AND x.evidence > 0
WITH x ORDER BY x.number LIMIT $limit WITH x, startNode(x) AS s, endNode(x) AS o RETURN {_RELATION} ORDER BY number
"""
_NUMBER = "MATCH ()-[x:REL {uid: $uid}]->() WHERE startNode(x).ws = $ws RETURN x.number"


async def related(client: FalkorDBClient, workspace: str, names: Sequence[str], wanted: Wanted) -> Surroundings:
    """Relations with their distance: the nearest first, then those with most evidence, then the newest."""
    about = await entities(client, check_text("workspace", workspace), names)
    which, asked = _conditions(wanted)
    taken: dict[str, tuple[int, Sequence[Any]]] = {}
    seen = frontier = {one.id for one in about}
    for distance in range(1, wanted.depth + 1):
        if not frontier or len(taken) >= wanted.limit:
            break
        more = {"frontier": sorted(frontier), "limit": limited(wanted.limit + len(taken))}
        found = await client.read(f"{_AROUND} {which} {_STRONGEST}", asked | more)
        level = [row for row in found if row[0] not in taken]
        for row in level[: wanted.limit - len(taken)]:
            taken[row[0]] = distance, row
        frontier = {uid for row in level for uid in _ends_of(row)} - seen
        seen = seen | frontier
    at = None if wanted.at is None else checked_micros("at", wanted.at)
    relations = await _read(client, workspace, [row for _, row in taken.values()], at)
    return Surroundings(about, list(zip((distance for distance, _ in taken.values()), relations, strict=True)))


async def facts(client: FalkorDBClient, workspace: str, after: str, limit: int) -> list[Relation]:
    """Relations other than co-mentions, in the order in which they were first met."""
    ws = workspace_id(check_text("workspace", workspace))
    start = await client.read(_NUMBER, {"uid": after, "ws": ws}) if uid_of(after) else []
    if after and not start:
        raise InvalidInputError("after must be the id of the last fact of the page before")
    number, last = (start[0][0] if start else 0), (await read_workspace(client, ws)).fact_seq
    found: list[Sequence[Any]] = []
    for first in range(number - number % BLOCK, last + 1, BLOCK):
        asked = {"block": block_of(ws, first), "after": number, "limit": limited(limit - len(found))}
        found += await client.read(_FACTS, asked)
        if len(found) >= limit:
            break
    return await _read(client, workspace, found, None)


async def also_current(client: FalkorDBClient, workspace: str, relations: Sequence[str], now: int) -> list[Relation]:
    """Other current relations with the subject and type of one of these, where that is current."""
    asked = {"uids": list(dict.fromkeys(relations)), "now": now, "limit": MOST_ALSO_CURRENT}
    return await _read(client, workspace, await client.read(_ALSO_CURRENT, asked) if relations else [], None)


def _conditions(wanted: Wanted) -> tuple[str, dict[str, Any]]:
    """Which relations are walked along, and the parameters of the statement."""
    asked: dict[str, Any] = {"mentioned": MENTIONED_WITH}
    which = "AND x.type <> $mentioned"
    if wanted.types:
        which = "AND x.type IN $types"
        asked["types"] = [check_text("types", one) for one in wanted.types]
    if wanted.at is not None:
        which += f" AND {_WAS_TRUE}"
        asked["at"] = checked_micros("at", wanted.at)
    elif not wanted.ended:
        which += f" AND {_IS_CURRENT}"
        asked["now"] = _now()
    return which + _ENDS[wanted.direction], asked


def _now() -> int:
    return time.time_ns() // 1000


# Relations as they are given back.

_COLUMNS = 10  # of a relation, before those of its entities
_NEWEST = 5 * MOST_EVIDENCE  # some may say the same with other dates
# WITH makes the planner look each memory up; it would join with all of them.
_EVIDENCE = f"""
UNWIND $uids AS uid MATCH (v:Evidence {{relation: uid}}) WITH uid, v MATCH (m:Memory {{uid: v.memory}}) WHERE m.state = $live
WITH uid, v, m ORDER BY m.seq DESC, v.number
WITH uid, collect([m.id, v.quote, v.start, v.end, v.extractor, v.basis])[..{_NEWEST}] AS pieces RETURN uid, pieces
"""


def _ends_of(row: Sequence[Any]) -> tuple[str, str]:
    return row[_COLUMNS], row[_COLUMNS + 5]


async def _read(
    client: FalkorDBClient, workspace: str, found: Sequence[Sequence[Any]], at: int | None
) -> list[Relation]:
    """These relations, each with its last period, or the one that holds a moment."""
    if not found:
        return []
    asked = {"uids": [row[0] for row in found], "live": state_of(workspace_id(workspace), "live")}
    evidence: defaultdict[str, Sequence[Any]] = defaultdict(tuple)
    evidence.update({uid: pieces for uid, pieces in await client.read(_EVIDENCE, asked)})  # noqa: C416
    return [_relation(row, evidence[row[0]], at) for row in found]


def _relation(row: Sequence[Any], pieces: Sequence[Sequence[Any]], at: int | None) -> Relation:
    uid, kind, _, *last, earlier = row[:7]
    periods = [one for one in from_json(earlier or "[]") if at is not None and one[0] <= at < one[2]]
    since, until, ended_by = periods[0][1:] if periods else last
    evidence = dict.fromkeys(Evidence(*piece) for piece in pieces)
    return Relation(
        id=uid,
        subject=Entity(*row[_COLUMNS : _COLUMNS + 5]),
        type=kind,
        object=Entity(*row[_COLUMNS + 5 :]),
        valid_from=from_micros_or_none(since),
        valid_until=from_micros_or_none(until),
        ended_by=ended_by,
        evidence=tuple(evidence)[:MOST_EVIDENCE],
    )


# How much there is, and what was read.

_ENDED = "MATCH ()-[x:REL {over: $ws}]->() WHERE x.until <= $now AND x.type <> $mentioned RETURN count(x)"
_READ = "MATCH (m:Memory) WHERE m.state = $live UNWIND m.readers AS extractor RETURN extractor, count(m)"
_UNREAD = """
MATCH (m:Memory) WHERE m.state = $live AND m.seq > $after AND NOT $extractor IN coalesce(m.readers, [])
RETURN m.id ORDER BY m.seq LIMIT $limit
"""
_UNREAD_COUNT = """
MATCH (m:Memory) WHERE m.state = $live AND NOT $extractor IN coalesce(m.readers, []) RETURN count(m)
"""
_SEQ = "MATCH (m:Memory {uid: $uid}) RETURN m.seq"
_READING = """
MATCH (m:Memory {uid: $uid}) WHERE $extractor IN m.readers
OPTIONAL MATCH (m)-[x:MENTIONS]->(e:Entity) WHERE x.extractor = $extractor
WITH m, count(DISTINCT e) AS entities
OPTIONAL MATCH (v:Evidence {memory: m.uid}) WHERE v.extractor = $extractor
RETURN entities, count(DISTINCT v.relation)
"""


async def counts(client: FalkorDBClient, workspace: str) -> GraphCounts:
    """The figures of a workspace."""
    ws = workspace_id(check_text("workspace", workspace))
    here = {"live": state_of(ws, "live")}
    counted = await read_workspace(client, ws)
    ((ended,),) = await client.read(_ENDED, {"ws": ws, "now": _now(), "mentioned": MENTIONED_WITH})
    read = {extractor: count for extractor, count in await client.read(_READ, here)}  # noqa: C416
    return GraphCounts(
        entities=counted.entities,
        facts=counted.facts - ended,
        ended=ended,
        together=counted.together,
        mentions=counted.mentions,
        memories=counted.memories,
        read=read,
    )


async def reading(client: FalkorDBClient, workspace: str, memory_id: str, extractor: str) -> tuple[int, int] | None:
    """The numbers of entities and relations that an extractor found in a memory."""
    if not all(map(is_text, (workspace, memory_id, extractor))):
        return None
    asked = {"uid": name_of("memory", workspace, memory_id), "extractor": extractor}
    found = await client.read(_READING, asked)
    return (found[0][0], found[0][1]) if found else None


async def unread(
    client: FalkorDBClient, workspace: str, extractor: str, limit: int, after: str | None
) -> tuple[list[str], int]:
    """Ids of live memories that an extractor has not read, from after one on, and how many there are in all."""
    check_text("workspace", workspace)
    asked = {
        "live": state_of(workspace_id(workspace), "live"),
        "extractor": check_text("extractor", extractor),
        "after": await _seq(client, workspace, after),
        "limit": limited(limit),
    }
    found = await client.read(_UNREAD, asked)
    ((count,),) = await client.read(_UNREAD_COUNT, asked)
    return [memory_id for (memory_id,) in found], count


async def _seq(client: FalkorDBClient, workspace: str, memory_id: str | None) -> int:
    if memory_id is None or not is_text(memory_id):
        return 0
    found = await client.read(_SEQ, {"uid": name_of("memory", workspace, memory_id)})
    return int(found[0][0]) if found else 0
