"""Keeps what extractors read in memories and what agents state, and forgets it when a memory is purged.

Within a transaction this changes the subgraph that it touches; `timeline.settle` writes it.
"""

from collections.abc import Sequence

from zapomni_db import facts as given
from zapomni_db import values
from zapomni_db.evidence import Text
from zapomni_db.facts import Named, Said, Stated
from zapomni_db.falkordb.client import FalkorDBClient
from zapomni_db.falkordb.graph.subgraph import Piece, Speech, Subgraph, read_speech, subgraph_of
from zapomni_db.falkordb.graph.timeline import settle
from zapomni_db.falkordb.memories import Row, memories_of
from zapomni_db.falkordb.transaction import Transaction
from zapomni_db.records import STATED, Extraction, FactsStated, NewFact

_TEXT = "MATCH (m:Memory {uid: $uid}) RETURN m.text"


# Facts that agents state.


async def state_facts(
    tx: Transaction, memory_id: str, facts: Sequence[NewFact], by: str
) -> tuple[FactsStated, list[str]]:
    """Add facts with a live memory as their evidence; what became of them, and the uids of their relations."""
    values.check_text("by", by)
    row = await _live(tx, memory_id)
    graph = subgraph_of(tx)
    speech = await graph.speech(row)
    text = Text(await _text(tx, row))
    relations = [await _keep_stated(graph, speech, text, fact) for fact in await _checked(graph, text, facts)]
    await graph.look_up_relations(relations)
    new = {uid for uid in relations if not graph.relations[uid].evidence}
    ended = await settle(tx, [])
    return FactsStated(len(new), len(facts) - len(new), ended, ()), relations


async def move_facts(tx: Transaction, old: Row, new: Row, text: str) -> tuple[int, int]:
    """Copy what was stated of a memory to the one that replaces it, where its text holds both names.

    How many facts were moved and how many were not. The evidence is searched again in the new text; the old memory keeps its own.
    """
    graph = subgraph_of(tx)
    before = await graph.speech(old)
    stated = before.evidence.get(STATED, [])
    if not stated:
        return 0, 0
    after = await graph.speech(new)
    old_text, new_text = await _text(tx, old), Text(text)
    await graph.look_up(uid for piece in stated for uid in (piece.subject, piece.object))
    moved = set()
    for piece in stated:
        ends = [graph.entities[uid] for uid in (piece.subject, piece.object)]
        subject, target = (Named(one.key, one.name, one.type) for one in ends)
        times = (piece.replaces, piece.since, piece.until, piece.stated_at)
        said = Said(subject.key, piece.type, target.key, "stated", (piece.start, piece.end), *times)
        fact = given.moved(new_text, Stated((subject, target), said), old_text[piece.start : piece.end])
        if fact:
            moved.add(await _keep_stated(graph, after, new_text, fact))
    return len(moved), len({piece.relation for piece in stated} - moved)


async def _live(tx: Transaction, memory_id: str) -> Row:
    row = await memories_of(tx).by_id(memory_id)
    if row is None:
        raise given.unknown_memory(memory_id)
    given.check_live(row.id, is_deleted=row.deleted_at is not None, replaced_by=row.replaced_by)
    return row


async def _checked(graph: Subgraph, text: Text, facts: Sequence[NewFact]) -> list[Stated]:
    uids = [uid.hex() for fact in facts for name in (fact.subject, fact.object) if (uid := given.uid_of(name))]
    await graph.look_up(uids)

    def known(uid: bytes) -> tuple[str, str] | None:
        found = graph.entities.get(uid.hex())
        return (found.key, found.name) if found else None

    return given.checked_facts(text, facts, graph.tx.now, known)


async def _keep_stated(graph: Subgraph, speech: Speech, text: Text, fact: Stated) -> str:
    """Keep a stated fact, unless the memory states it already; the uid of the relation."""
    entities = await graph.keep_entities(fact.entities)
    said = fact.said
    relation = graph.relation(entities[said.subject], said.type, entities[said.object])
    same = (relation.uid, said.replaces, said.valid_from, said.valid_until)
    stated = speech.evidence.get(STATED, [])
    if same not in [(one.relation, one.replaces, one.since, one.until) for one in stated]:
        for named in fact.entities:
            speech.mention(STATED, entities[named.key], given.placed(text, named))
        speech.say(STATED, relation, said, text.text)
    return relation.uid


# Results of extractors.


async def record(tx: Transaction, memory_id: str, extraction: Extraction) -> bool:
    """Store what was extracted from a memory; False for an unknown memory."""
    row = await memories_of(tx).by_id(memory_id)
    if row is None:
        return False
    await record_row(tx, row, await _text(tx, row), extraction)
    return True


async def record_row(tx: Transaction, row: Row, text: str, extraction: Extraction) -> None:
    """Keep what was read in a memory of this text, instead of what the extractor had read there before."""
    given.check_extractor(extraction)
    await bring(tx, row, text, extraction)


async def bring(tx: Transaction, row: Row, text: str, extraction: Extraction) -> None:
    """Keep what was read in a memory of this text, or stated of it."""
    entities, relations = given.checked_extraction(text, extraction)
    extractor = extraction.extractor
    graph = subgraph_of(tx)
    speech = await graph.speech(row)
    speech.forget(extractor)
    if extractor != STATED and extractor not in speech.readers:
        speech.readers.append(extractor)
    nodes = await graph.keep_entities(entities)
    for entity in entities:
        speech.mention(extractor, nodes[entity.key], entity)
    for said in relations:
        speech.say(extractor, graph.relation(nodes[said.subject], said.type, nodes[said.object]), said, text)


async def extractions(client: FalkorDBClient, uid: str) -> tuple[Extraction, ...]:
    """The results of extractors for a memory of this uid and, as the extractor STATED, the facts that agents stated."""
    readers, mentions, said = await read_speech(client, uid)
    fields = slice(Piece._fields.index("subject"), Piece._fields.index("number"))  # as `extractions_of` takes them
    return given.extractions_of(readers, mentions, [(extractor, *tuple(one)[fields]) for extractor, one in said])


async def forget_memory(tx: Transaction, row: Row) -> None:
    """Drop all that was said in a memory that is not live, and what only it spoke of."""
    speech = await subgraph_of(tx).speech(row)
    speech.is_gone = True
    for extractor in {*speech.mentions, *speech.evidence}:
        speech.forget(extractor)


async def _text(tx: Transaction, row: Row) -> str:
    text: str = (await tx.read(_TEXT, uid=row.uid))[0][0]
    return text
