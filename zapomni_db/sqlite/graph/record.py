"""Keeps what extractors read in memories and what agents state, and forgets it when a memory is purged."""

import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import apsw

from zapomni_db import facts as given
from zapomni_db import values
from zapomni_db.entity_names import words_of
from zapomni_db.evidence import Text
from zapomni_db.facts import NOTHING, QUOTE, Named, Said, Stated, entity_uid, relation_uid
from zapomni_db.records import STATED, Extraction, FactsStated, NewFact
from zapomni_db.sqlite import memories, texts
from zapomni_db.sqlite.connection import one, rows
from zapomni_db.sqlite.graph import query, timeline
from zapomni_db.sqlite.graph.timeline import bound
from zapomni_db.sqlite.memories import Row, record_change


class Dropped(NamedTuple):
    """The spellings, with their entities, and the relations that lost mentions or evidence, by number."""

    spellings: dict[int, int]
    relations: set[int]


# Facts that agents state.


def state_facts(
    connection: apsw.Connection, workspace: str, memory_id: str, facts: Sequence[NewFact], by: str
) -> FactsStated:
    """Add facts with a live memory as their evidence; inside a transaction."""
    values.check_text("by", by)
    row = _live(connection, workspace, memory_id)
    text = Text(texts.read(connection, row.id).decode())
    now = time.time_ns() // 1000
    checked = given.checked_facts(text, facts, now, lambda uid: one(connection, _KNOWN, uid, row.workspace))
    before = timeline.contribution(connection, row.id)
    relations: list[int] = []
    new: set[int] = set()
    for fact in checked:
        number = _keep_stated(connection, row, text, fact)
        relations.append(number)
        if not one(connection, "SELECT evidence FROM relation WHERE id = ?", number):
            new.add(number)
    timeline.count(connection, before, timeline.contribution(connection, row.id))
    competing = timeline.with_competing(connection, set(relations))
    were_current = timeline.current(connection, competing, now)
    timeline.update(connection, relations)
    record_change(connection, row.workspace, row.id, "read", by)
    return FactsStated(
        new=len(new),
        known=len(facts) - len(new),
        ended=len(were_current - timeline.current(connection, competing, now)),
        also_current=tuple(query.also_current(connection, set(relations), now)),
    )


def move_facts(connection: apsw.Connection, old: Row, new: Row, text: str) -> tuple[int, int]:
    """Copy what was stated of a memory to the one that replaces it, where its text holds both names.

    How many facts were moved and how many were not. The evidence is searched again in the new text; the old memory keeps its own.
    """
    stated = list(rows(connection, _STATED_OF, old.id))
    if not stated:
        return 0, 0
    before = timeline.contribution(connection, new.id)
    old_text, new_text = texts.read(connection, old.id).decode(), Text(text)
    moved: dict[int, int] = {}
    for number, start, end, *columns in stated:
        subject, target = Named(*columns[:3]), Named(*columns[3:6])
        said = Said(subject.key, columns[6], target.key, "stated", (start, end), *columns[7:])
        fact = given.moved(new_text, Stated((subject, target), said), old_text[start:end])
        if fact:
            moved[number] = _keep_stated(connection, new, new_text, fact)
    timeline.count(connection, before, timeline.contribution(connection, new.id))
    timeline.update(connection, moved.values())
    return len(moved), len({number for number, *_ in stated} - moved.keys())


_STATED_OF = """
SELECT r.id, e.start, e.end, s.key, s.name, s.type, o.key, o.name, o.type, r.type,
    e.replaces, e.valid_from, e.valid_until, e.stated_at
FROM evidence e CROSS JOIN relation r ON r.id = e.relation
    CROSS JOIN entity s ON s.id = r.subject CROSS JOIN entity o ON o.id = r.object
WHERE e.memory = ? AND e.stated_at IS NOT NULL ORDER BY e.id
"""
_KNOWN = "SELECT key, name FROM entity WHERE uid = ? AND workspace = ?"
_STATED_BEFORE = """
SELECT 1 FROM evidence WHERE relation = ? AND memory = ? AND stated_at IS NOT NULL
    AND valid_from IS ? AND valid_until IS ? AND replaces = ?
"""


def _live(connection: apsw.Connection, workspace: str, memory_id: str) -> Row:
    row = memories.find(connection, workspace, memory_id)
    if row is None:
        raise given.unknown_memory(memory_id)
    given.check_live(row.uid, is_deleted=row.deleted_at is not None, replaced_by=row.replaced_by)
    return row


def _keep_stated(connection: apsw.Connection, row: Row, text: Text, fact: Stated) -> int:
    """Keep a stated fact, unless the memory states it already; the number of the relation."""
    entities, said = fact
    numbers = {entity.key: _keep_entity(connection, row.workspace, entity) for entity in entities}
    number = _keep_relation(connection, numbers, said)
    same = (said.valid_from, said.valid_until, said.replaces)
    if one(connection, _STATED_BEFORE, number, row.id, *same) is None:
        for entity in entities:
            _keep_mention(connection, row, STATED, numbers[entity.key][0], given.placed(text, entity))
        _keep_evidence(connection, row, STATED, text.text, {said: number})
    return number


# Results of extractors.


def record(connection: apsw.Connection, workspace: str, memory_id: str, extraction: Extraction) -> bool:
    """Store what was extracted from a memory; False for an unknown memory. Inside a transaction."""
    row = memories.find(connection, workspace, memory_id)
    if row is None:
        return False
    record_row(connection, row, texts.read(connection, row.id).decode(), extraction)
    return True


def record_row(connection: apsw.Connection, row: Row, text: str, extraction: Extraction) -> None:
    """Keep what was read in a memory of this text; inside a transaction."""
    given.check_extractor(extraction)
    bring(connection, row, text, extraction)


def bring(connection: apsw.Connection, row: Row, text: str, extraction: Extraction) -> None:
    """Keep what was read in a memory of this text, or stated of it; inside a transaction."""
    entities, relations = given.checked_extraction(text, extraction)
    extractor = extraction.extractor
    is_shown = _is_live(connection, row.id)
    before = timeline.contribution(connection, row.id) if is_shown else NOTHING
    dropped = _drop_reading(connection, row.id, extractor)
    if extractor != STATED:
        connection.execute("INSERT INTO reading VALUES(?, ?)", (row.id, extractor))
    numbers: dict[str, tuple[int, bytes]] = {}
    for entity in entities:
        if entity.key not in numbers:
            numbers[entity.key] = _keep_entity(connection, row.workspace, entity)
        _keep_mention(connection, row, extractor, numbers[entity.key][0], entity)
    said = {relation: _keep_relation(connection, numbers, relation) for relation in relations}
    _keep_evidence(connection, row, extractor, text, said)
    after = timeline.contribution(connection, row.id) if is_shown else NOTHING
    timeline.count(connection, before, after)
    timeline.update(connection, dropped.relations.union(said.values()))
    _drop_unused(connection, dropped)
    record_change(connection, row.workspace, row.id, "read")


def _is_live(connection: apsw.Connection, memory: int) -> bool:
    live = "SELECT 1 FROM memory WHERE id = ? AND deleted_at IS NULL AND replaced_by IS NULL"
    return one(connection, live, memory) is not None


# What memories say, as they can bring it elsewhere.

_READ_BY = "SELECT extractor FROM reading WHERE memory = ?"
_MENTIONED = """
SELECT extractor, entity, name, type, spans FROM mention CROSS JOIN spelling ON spelling.id = mention.spelling
WHERE memory = ? ORDER BY spelling.id
"""
_SAID = """
SELECT e.extractor, r.subject, r.object, r.type, e.basis, e.start, e.end, e.replaces, e.valid_from, e.valid_until, e.stated_at
FROM evidence e CROSS JOIN relation r ON r.id = e.relation WHERE e.memory = ? ORDER BY e.id
"""


def extractions(connection: apsw.Connection, memory: int) -> tuple[Extraction, ...]:
    """The results of extractors for a memory and, as the extractor STATED, the facts that agents stated."""
    return given.extractions_of(
        (name for (name,) in rows(connection, _READ_BY, memory)),
        ((*which, values.from_json(spans)) for *which, spans in rows(connection, _MENTIONED, memory)),
        rows(connection, _SAID, memory),
    )


# Rows.


def _keep_entity(connection: apsw.Connection, workspace: str, entity: Named) -> tuple[int, bytes]:
    """The number and the id of an entity."""
    uid = entity_uid(workspace, entity.key)
    number = one(connection, "SELECT id FROM entity WHERE uid = ?", uid)
    if number is None:
        connection.execute(
            "INSERT INTO entity(uid, workspace, key, name, type, mentions, memories) VALUES(?, ?, ?, ?, ?, 0, 0)",
            (uid, workspace, entity.key, entity.name, entity.type),
        )
        number = connection.last_insert_rowid()
        connection.executemany(
            "INSERT INTO entity_word VALUES(?, ?, ?)", [(workspace, word, number) for word in words_of(entity.key)]
        )
    return number, uid


def _keep_mention(connection: apsw.Connection, row: Row, extractor: str, number: int, entity: Named) -> None:
    """Note that a memory names an entity, once for each spelling."""
    spelling = one(
        connection,
        "INSERT INTO spelling(entity, name, type, uses, live, places) VALUES(?, ?, ?, 0, 0, 0)"
        " ON CONFLICT DO UPDATE SET uses = uses RETURNING id",
        number,
        entity.name,
        entity.type,
    )
    known = "SELECT 1 FROM mention WHERE (memory, extractor, spelling) = (?, ?, ?)"
    if one(connection, known, row.id, extractor, spelling) is None:
        spans = values.to_json("spans", entity.spans)
        connection.execute("INSERT INTO mention VALUES(?, ?, ?, ?)", (row.id, extractor, spelling, spans))
        connection.execute("UPDATE spelling SET uses = uses + 1 WHERE id = ?", (spelling,))


def _keep_relation(connection: apsw.Connection, numbers: Mapping[str, tuple[int, bytes]], said: Said) -> int:
    """The number of a relation between entities of these numbers and ids."""
    (subject, subject_uid), (target, target_uid) = numbers[said.subject], numbers[said.object]
    uid = relation_uid(subject_uid, said.type, target_uid)
    number: int = one(
        connection,
        "INSERT INTO relation(uid, subject, type, object, replaces, evidence, latest) VALUES(?, ?, ?, ?, ?, 0, 0)"
        " ON CONFLICT DO UPDATE SET replaces = max(replaces, excluded.replaces) RETURNING id",
        uid,
        subject,
        said.type,
        target,
        said.replaces,
    )
    return number


def _keep_evidence(
    connection: apsw.Connection, row: Row, extractor: str, text: str, relations: Mapping[Said, int]
) -> None:
    ends = {said: min(said.span[1], said.span[0] + QUOTE) for said in relations}
    byte = values.byte_offsets(text, {place for said in relations for place in (said.span[0], ends[said])})
    connection.executemany(
        "INSERT INTO evidence(relation, memory, extractor, basis, start, end, first_byte, last_byte, replaces,"
        " valid_from, valid_until, stated_at) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (number, row.id, extractor, said.basis, *said.span, byte[said.span[0]], byte[ends[said]], *said[5:])
            for said, number in relations.items()
        ],
    )


def _drop_reading(connection: apsw.Connection, memory: int, extractor: str) -> Dropped:
    """Drop what one extractor read in a memory; what nothing speaks of is still there."""
    connection.execute("DELETE FROM reading WHERE (memory, extractor) = (?, ?)", (memory, extractor))
    return _drop(connection, "(memory, extractor) = (?, ?)", memory, extractor)


def forget_memory(connection: apsw.Connection, memory: int) -> None:
    """Drop all that was said in a memory that is not live, and what only it spoke of; inside a transaction."""
    connection.execute("DELETE FROM reading WHERE memory = ?", (memory,))
    _drop_unused(connection, _drop(connection, "memory = ?", memory))


def _drop(connection: apsw.Connection, which: str, *bindings: int | str) -> Dropped:
    mentions = list(rows(connection, f"DELETE FROM mention WHERE {which} RETURNING spelling", *bindings))  # noqa: S608 - ours
    evidence = list(rows(connection, f"DELETE FROM evidence WHERE {which} RETURNING relation", *bindings))  # noqa: S608 - ours
    unused = "UPDATE spelling SET uses = uses - 1 WHERE id = ? RETURNING entity"
    spellings = {number: one(connection, unused, number) for (number,) in mentions}
    return Dropped(spellings, {number for (number,) in evidence})


def _drop_unused(connection: apsw.Connection, dropped: Dropped) -> None:
    """Drop those that have no mention and no evidence any more, of hidden memories neither."""
    relations = "SELECT value FROM carray(?) WHERE value NOT IN (SELECT relation FROM evidence WHERE relation = value)"
    for (number,) in list(rows(connection, relations, bound(dropped.relations))):
        connection.execute("DELETE FROM relation WHERE id = ?", (number,))
        connection.execute("DELETE FROM period WHERE relation = ?", (number,))
    connection.executemany(
        "DELETE FROM spelling WHERE id = ? AND uses = 0", [(number,) for number in dropped.spellings]
    )
    entities = "SELECT value FROM carray(?) WHERE value NOT IN (SELECT entity FROM spelling WHERE entity = value)"
    for (number,) in list(rows(connection, entities, bound(set(dropped.spellings.values())))):
        _drop_entity(connection, number)


def _drop_entity(connection: apsw.Connection, number: int) -> None:
    gone = "DELETE FROM entity WHERE id = ? RETURNING workspace, key"
    for workspace, key in list(rows(connection, gone, number)):
        words = [(workspace, word, number) for word in words_of(key)]
        connection.executemany("DELETE FROM entity_word WHERE (workspace, word, entity) = (?, ?, ?)", words)
