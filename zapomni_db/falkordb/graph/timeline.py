"""Counts what memories add to the graph, computes when relations were true, and writes both at the end of a transaction."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from zapomni_db import values
from zapomni_db.falkordb.graph.subgraph import EntityNode, RelationNode, Speech, Subgraph, Uses, block_of, subgraph_of
from zapomni_db.falkordb.memories import Row, state_of
from zapomni_db.falkordb.transaction import Transaction, Workspace
from zapomni_db.timeline import Period, Statement, timeline

_DROP_MENTIONS = "MATCH (:Memory {uid: r.memory})-[x:MENTIONS]->() WHERE x.extractor = r.extractor DELETE x"
_DROP_EVIDENCE = "MATCH (v:Evidence {memory: r.memory}) WHERE v.extractor = r.extractor DELETE v"
_READ_BY = "MATCH (m:Memory {uid: r.memory}) SET m.readers = r.readers"
_KEEP_ENTITY = "MERGE (e:Entity {uid: r.uid}) SET e += r.set"
_KEEP_MENTION = (
    "MATCH (m:Memory {uid: r.memory}) MATCH (e:Entity {uid: r.entity}) CREATE (m)-[x:MENTIONS]->(e) SET x = r.set"
)
_KEEP_EVIDENCE = "CREATE (v:Evidence) SET v = r"
_CREATE_RELATION = (
    "MATCH (s:Entity {uid: r.subject}) MATCH (o:Entity {uid: r.object}) CREATE (s)-[x:REL]->(o) SET x = r.set"
)
_CHANGE_RELATION = "MATCH ()-[x:REL {uid: r.uid}]->() SET x += r.set"
_DROP_RELATION = "MATCH ()-[x:REL {uid: r.uid}]->() DELETE x"
_DROP_ENTITY = "MATCH (e:Entity {uid: r.uid}) DETACH DELETE e"
# WITH makes the planner look each memory up; it would join with all of them.
_STATEMENTS = """
UNWIND $uids AS uid MATCH (v:Evidence {relation: uid}) WITH v MATCH (m:Memory {uid: v.memory}) WHERE m.state = $live
RETURN v.relation, v.since, v.until, m.timestamp, m.created_at, m.seq, v.number, v.stated_at, v.replaces, m.uid AS memory, m.id
"""


async def settle(tx: Transaction, turned: Iterable[Row]) -> int:
    """Write what a transaction changed in the graph; the memories that turned are live now and were not, or the other way round.

    How many relations were current and are so no more.
    """
    graph = subgraph_of(tx)
    for row in turned:
        await graph.speech(row)
    speeches = [one for one in graph.speeches.values() if one.is_touched]
    if not speeches:
        return 0
    uids = {uid for one in speeches for uid in (*one.uses_before.memories, *one.uses().memories)}
    await graph.look_up(uids)
    _count(graph, speeches)
    lines = await _lines(graph, speeches)
    _drop_speeches(tx, speeches)
    for uid in sorted(uids):
        _write_entity(tx, graph.entities[uid])
    _write_speeches(tx, speeches)
    ended = await _write_relations(graph, speeches, lines)
    for uid in sorted(uids):
        if not graph.entities[uid].spellings:
            tx.write(_DROP_ENTITY, {"uid": uid})
    graph.speeches.clear()
    return ended


def _count(graph: Subgraph, speeches: Iterable[Speech]) -> None:
    """Count what memories add now instead of what they added before."""
    workspace = graph.tx.workspace
    for speech in speeches:
        before, after = speech.spoke, speech.speaks()
        uses_before, uses = speech.uses_before, speech.uses()
        for which in {**uses_before.live, **uses.live}:
            uid, *spelled = which
            spelling = graph.entities[uid].spellings.setdefault((spelled[0], spelled[1]), Uses())
            spelling.uses += uses.live[which] - uses_before.live[which]
            spelling.live += after.live[which] - before.live[which]
            spelling.places += after.places[which] - before.places[which]
        for uid in {**uses_before.memories, **uses.memories}:
            entity = graph.entities[uid]
            was_shown, mentions = entity.memories > 0, after.mentions[uid] - before.mentions[uid]
            entity.memories += after.memories[uid] - before.memories[uid]
            entity.mentions += mentions
            workspace.mentions += mentions
            workspace.entities += (entity.memories > 0) - was_shown


def _write_entity(tx: Transaction, entity: EntityNode) -> None:
    entity.spellings = {spelled: one for spelled, one in entity.spellings.items() if one.uses}
    if entity.spellings:
        entity.rename()
        tx.write(_KEEP_ENTITY, {"uid": entity.uid, "set": entity.properties(tx)})


def _drop_speeches(tx: Transaction, speeches: Iterable[Speech]) -> None:
    for speech in speeches:
        for extractor in sorted(speech.changed & speech.kept_before):
            for body in (_DROP_MENTIONS, _DROP_EVIDENCE):
                tx.write(body, {"memory": speech.row.uid, "extractor": extractor})


def _write_speeches(tx: Transaction, speeches: Iterable[Speech]) -> None:
    for speech in speeches:
        memory = {"memory": speech.row.uid}
        if speech.readers != speech.readers_before and not speech.is_gone:
            tx.write(_READ_BY, {**memory, "readers": speech.readers})
        for extractor in sorted(speech.changed):
            for number, ((entity, name, kind), spans) in enumerate(speech.mentions.get(extractor, {}).items()):
                places = values.to_json("spans", spans)
                kept = {"extractor": extractor, "name": name, "type": kind, "spans": places, "number": number}
                tx.write(_KEEP_MENTION, {**memory, "entity": entity, "set": kept})
            for piece in speech.evidence.get(extractor, []):
                tx.write(_KEEP_EVIDENCE, {**memory, "extractor": extractor, **piece._asdict()})


# When relations were true.


async def _lines(graph: Subgraph, speeches: Iterable[Speech]) -> list[set[str]]:
    """The relations to compute again: each alone, or with those of the same subject and type where one may replace the others."""
    before = Counter(piece.relation for speech in speeches for piece in speech.pieces_before)
    after = Counter(piece.relation for speech in speeches for piece in speech.pieces())
    await graph.look_up_relations(before.keys() | after.keys())
    touched = [graph.relations[uid] for uid in sorted(before.keys() | after.keys())]
    for relation in touched:
        relation.uses += after[relation.uid] - before[relation.uid]
    for speech in speeches:
        for piece in speech.pieces():
            replacing = graph.entities[piece.subject].replacing
            if piece.replaces and piece.type not in replacing:
                replacing.append(piece.type)
    groups = {
        (one.subject, one.type): {one.uid} for one in touched if one.type in graph.entities[one.subject].replacing
    }
    for group, line in groups.items():
        await graph.look_up_group(*group)
        line.update(one.uid for one in graph.relations.values() if (one.subject, one.type) == group)
    return [*groups.values(), *({one.uid} for one in touched if (one.subject, one.type) not in groups)]


async def _write_relations(graph: Subgraph, speeches: Sequence[Speech], lines: Iterable[set[str]]) -> int:
    """Write the relations of these lines; how many of them were current and are so no more."""
    said, memory_ids = await _statements(graph, speeches, {uid for line in lines for uid in line})
    times = {}
    for line in lines:
        numbers = {uid: number for number, uid in enumerate(line)}
        periods = timeline(one._replace(relation=numbers[uid]) for uid in line for one in said[uid])
        for uid, number in numbers.items():
            times[uid] = _times(said[uid], [one for one in periods if one.relation == number], memory_ids)
    relations = [one for one in graph.relations.values() if one.uid in times]  # new ones as they were met
    were_current = [one for one in relations if one.is_current(graph.tx.now)]
    for one in relations:
        was_shown = one.evidence > 0
        one.evidence, one.until = times[one.uid]["evidence"], times[one.uid]["until"]
        _count_relation(graph.tx.workspace, one, (one.evidence > 0) - was_shown)
        _write_relation(graph.tx, one, times[one.uid])
    return sum(not one.is_current(graph.tx.now) for one in were_current)


async def _statements(
    graph: Subgraph, speeches: Iterable[Speech], uids: set[str]
) -> tuple[dict[str, list[Statement]], dict[int, str]]:
    """The evidence of these relations in live memories, and the ids of the memories by number."""
    tx = graph.tx
    said: dict[str, list[Statement]] = {uid: [] for uid in uids}
    memory_ids = {}
    here = {speech.row.uid for speech in speeches}
    kept = sorted(uid for uid in uids if not graph.relations[uid].is_new)
    found = await tx.read(_STATEMENTS, uids=kept, live=state_of(tx.ws, "live")) if kept else []
    for relation, *statement, memory, memory_id in found:
        if memory not in here:
            said[relation].append(Statement(0, *statement))
            memory_ids[statement[4]] = memory_id
    for speech in speeches:
        row = speech.row
        memory_ids[row.seq] = row.id
        for piece in speech.pieces() if row.is_live and not speech.is_gone else ():
            if piece.relation in said:
                times = (piece.since, piece.until, row.timestamp, row.created_at, row.seq)
                said[piece.relation].append(Statement(0, *times, piece.number, piece.stated_at, piece.replaces))
    return said, memory_ids


def _times(statements: Sequence[Statement], periods: Sequence[Period], memory_ids: Mapping[int, str]) -> dict[str, Any]:
    """The properties of a relation that follow from its live evidence: its last period, and those before."""
    spans: list[tuple[Any, ...]] = [
        (one.begin, one.since, one.until, None if one.ended_by is None else memory_ids[one.ended_by]) for one in periods
    ]
    *earlier, last = spans or [(None, None, None, None)]
    return {
        "evidence": len({one.memory for one in statements}),
        "latest": max((one.moment for one in statements), default=0),
        **dict(zip(("begin", "since", "until", "ended_by"), last, strict=True)),
        "earlier": values.to_json("earlier", earlier) if earlier else None,
        "begins": [begin for begin, *_ in earlier] or None,
        "untils": [until for _, _, until, _ in earlier] or None,
    }


def _count_relation(workspace: Workspace, relation: RelationNode, more: int) -> None:
    if relation.is_together:
        workspace.together += more
    else:
        workspace.facts += more


def _write_relation(tx: Transaction, relation: RelationNode, times: Mapping[str, Any]) -> None:
    is_over = relation.evidence > 0 and relation.until is not None
    kept = {"uses": relation.uses, **times, "over": tx.ws if is_over else None}
    if not relation.is_new:
        body = _CHANGE_RELATION if relation.uses else _DROP_RELATION
        tx.write(body, {"uid": relation.uid, "set": kept})
    elif relation.uses:
        kept |= {"uid": relation.uid, "type": relation.type, **_numbered(tx, relation)}
        tx.write(_CREATE_RELATION, {"subject": relation.subject, "object": relation.object, "set": kept})


def _numbered(tx: Transaction, relation: RelationNode) -> dict[str, Any]:
    """Its number: facts and co-mentions are numbered in the order in which they were met, each for themselves."""
    workspace = tx.workspace
    if relation.is_together:
        workspace.together_seq += 1
        return {"number": workspace.together_seq}
    workspace.fact_seq += 1
    return {"number": workspace.fact_seq, "block": block_of(tx.ws, workspace.fact_seq)}
