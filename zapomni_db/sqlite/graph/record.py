"""Keeps what extractors read in memories and what agents state, and forgets it when a memory is purged."""

import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import apsw

from zapomni_db import values
from zapomni_db.entity_names import key_of, shown, snake_case, words_of
from zapomni_db.errors import InvalidInputError, MemoryNotFoundError
from zapomni_db.evidence import Span, Text
from zapomni_db.records import (
    MENTIONED_WITH,
    STATED,
    Basis,
    Extraction,
    FactsStated,
    NewEntity,
    NewFact,
    NewRelation,
)
from zapomni_db.sqlite import memories, texts
from zapomni_db.sqlite.connection import one, rows
from zapomni_db.sqlite.graph import query, timeline
from zapomni_db.sqlite.graph.query import entity_uid, uid_of
from zapomni_db.sqlite.graph.timeline import NOTHING, bound
from zapomni_db.sqlite.memories import Row, record_change

QUOTE = 300
"""Characters of a quote that are shown."""

_LONGEST = {
    "entity name": 1000,
    "entity type": 100,
    "relation type": 200,
    "extractor": 200,
    "subject": 1000,
    "object": 1000,
    "relation": 100,
    "subject_type": 100,
    "object_type": 100,
}
_LONGEST_QUOTE = 10_000
_UNTYPED = "thing"


class Named(NamedTuple):
    """One spelling of an entity with its places in a text."""

    key: str
    name: str
    type: str
    spans: tuple[Span, ...] = ()


class Said(NamedTuple):
    """A relation of two entities, given by their keys, and its place in a memory. Without `stated_at` an extractor found it."""

    subject: str
    type: str
    object: str
    basis: Basis
    span: Span
    replaces: bool
    valid_from: int | None
    valid_until: int | None
    stated_at: int | None = None


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
    checked = _checked(connection, row, text, facts)
    now = time.time_ns() // 1000
    before = timeline.contribution(connection, row.id)
    relations: list[int] = []
    new: set[int] = set()
    for entities, said in checked:
        number = _keep_stated(connection, row, text, entities, said)
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
        if new_text.places(subject.key) and new_text.places(target.key):
            quote = old_text[start:end] if end - start <= _LONGEST_QUOTE else ""
            span = _evidence(new_text, subject, target, quote)
            said = Said(subject.key, columns[6], target.key, "stated", span, *columns[7:])
            moved[number] = _keep_stated(connection, new, new_text, (subject, target), said)
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
_STATED_BEFORE = """
SELECT 1 FROM evidence WHERE relation = ? AND memory = ? AND stated_at IS NOT NULL
    AND valid_from IS ? AND valid_until IS ? AND replaces = ?
"""


def _live(connection: apsw.Connection, workspace: str, memory_id: str) -> Row:
    row = memories.find(connection, workspace, memory_id)
    if row is None:
        raise MemoryNotFoundError(f"there is no memory {memory_id[:100]!a} in this workspace")
    if row.deleted_at is not None:
        raise MemoryNotFoundError(f"memory {row.uid} is deleted; restore it to state facts of it")
    if row.replaced_by is not None:
        raise MemoryNotFoundError(f"memory {row.uid} was replaced by {row.replaced_by}; state facts of that one")
    return row


def _checked(
    connection: apsw.Connection, row: Row, text: Text, facts: Sequence[NewFact]
) -> list[tuple[tuple[Named, Named], Said]]:
    """The facts as they are kept; InvalidInputError begins with the number of the fact."""
    now = time.time_ns() // 1000
    checked = []
    for number, fact in enumerate(facts, 1):
        try:
            checked.append(_stated(connection, row, text, fact, now))
        except InvalidInputError as error:
            raise InvalidInputError(f"fact {number}: {error}") from None
    return checked


def _stated(
    connection: apsw.Connection, row: Row, text: Text, fact: NewFact, now: int
) -> tuple[tuple[Named, Named], Said]:
    subject = _entity_named(connection, row.workspace, "subject", fact.subject, fact.subject_type)
    target = _entity_named(connection, row.workspace, "object", fact.object, fact.object_type)
    if subject.key == target.key:
        raise InvalidInputError("subject and object must be two different entities")
    relation, quote = _relation_of(fact), _quote_of(text, fact)
    since, until = _since_and_until(fact)
    span = _evidence(text, subject, target, quote)
    return (subject, target), Said(subject.key, relation, target.key, "stated", span, fact.replaces, since, until, now)


def _entity_named(connection: apsw.Connection, workspace: str, field: str, name: str, kind: str) -> Named:
    """The entity of this id, else of this name."""
    kind = snake_case(_plain(f"{field}_type", kind)) if kind else ""
    uid = uid_of(_plain(field, name))
    statement = "SELECT key, name FROM entity WHERE uid = ? AND workspace = ?"
    known = one(connection, statement, uid, workspace) if uid else None
    key, name = known or (key_of(name), shown(name))
    return Named(key, name, kind or _UNTYPED)


def _relation_of(fact: NewFact) -> str:
    relation = snake_case(_plain("relation", fact.relation))
    if not relation:
        raise InvalidInputError("relation must be a verb phrase, such as works_at")
    if relation == MENTIONED_WITH:
        raise InvalidInputError(f"relation must say more than {MENTIONED_WITH}, which is noted without being stated")
    return relation


def _quote_of(text: Text, fact: NewFact) -> str:
    quote = values.check_text("quote", fact.quote)
    if len(quote) > _LONGEST_QUOTE:
        raise InvalidInputError(f"quote must have at most {_LONGEST_QUOTE:,} characters")
    if quote.strip() and not text.quote(quote):
        raise InvalidInputError("the quote does not occur in the memory's text; copy it exactly, or leave it out")
    return quote


def _since_and_until(fact: NewFact) -> tuple[int | None, int | None]:
    since, until = _micros("since", fact.since), _micros("until", fact.until)
    if since is not None and until is not None and until < since:
        raise InvalidInputError("until must not be before since")
    return since, until


def _evidence(text: Text, subject: Named, target: Named, quote: str) -> Span:
    place = text.quote(quote) if quote.strip() else None
    return place or text.sentence(subject.key, target.key)


def _keep_stated(connection: apsw.Connection, row: Row, text: Text, entities: Iterable[Named], said: Said) -> int:
    """Keep a stated fact, unless the memory states it already; the number of the relation."""
    numbers = {entity.key: _keep_entity(connection, row.workspace, entity) for entity in entities}
    number = _keep_relation(connection, numbers, said)
    same = (said.valid_from, said.valid_until, said.replaces)
    if one(connection, _STATED_BEFORE, number, row.id, *same) is None:
        for entity in entities:
            placed = entity._replace(spans=tuple(text.places(entity.key)))
            _keep_mention(connection, row, STATED, numbers[entity.key][0], placed)
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
    if extraction.extractor == STATED:
        raise InvalidInputError(f"extractor must not be '{STATED}', which stands for what agents state")
    bring(connection, row, text, extraction)


def bring(connection: apsw.Connection, row: Row, text: str, extraction: Extraction) -> None:
    """Keep what was read in a memory of this text, or stated of it; inside a transaction."""
    extractor = _plain("extractor", extraction.extractor)
    entities = _entities_of(text, extraction)
    relations = _relations_of(text, extraction, {entity.key for entity in entities})
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


def _entities_of(text: str, extraction: Extraction) -> list[Named]:
    """The entities, equal spellings as one."""
    spans: dict[tuple[str, str, str], set[Span]] = {}
    for entity in extraction.entities:
        spans.setdefault(_spelled(entity), set()).update(_within(text, "entity spans", entity.spans))
    return [Named(*spelling, tuple(sorted(places))) for spelling, places in spans.items()]


def _spelled(entity: NewEntity) -> tuple[str, str, str]:
    name = shown(_plain("entity name", entity.name))
    return key_of(name), name, _plain("entity type", entity.type)


def _relations_of(text: str, extraction: Extraction, known: set[str]) -> list[Said]:
    """The relations, each piece of evidence once; those that were read in the order of the text, stated ones in their own."""
    _within(text, "relation quotes", [(relation.start, relation.end) for relation in extraction.relations])
    said = list(dict.fromkeys([_said(relation, known) for relation in extraction.relations]))
    is_stated = extraction.extractor == STATED
    if any((one.stated_at is None) is is_stated for one in said):
        raise InvalidInputError(f"relations must have a stated_at if, and only if, their extractor is '{STATED}'")
    return said if is_stated else sorted(said, key=lambda one: one.span[0])


def _said(relation: NewRelation, known: set[str]) -> Said:
    subject, target = key_of(relation.subject), key_of(relation.object)
    if not {subject, target} <= known:
        raise InvalidInputError("the subject and the object of a relation must be among the entities")
    return Said(
        subject,
        _plain("relation type", relation.type),
        target,
        relation.basis,
        (relation.start, relation.end),
        relation.replaces,
        _micros("valid_from", relation.valid_from),
        _micros("valid_until", relation.valid_until),
        _micros("stated_at", relation.stated_at),
    )


def _within(text: str, what: str, spans: Sequence[Span]) -> Sequence[Span]:
    if not all(0 <= start <= end <= len(text) for start, end in spans):
        raise InvalidInputError(f"{what} must lie within the memory's text")
    return spans


def _plain(field: str, text: str) -> str:
    """A text that can be kept, shown on a line and compared."""
    values.check_text(field, text)
    if not text.strip() or "\0" in text or len(text) > _LONGEST[field]:
        raise InvalidInputError(f"{field} must have 1 to {_LONGEST[field]:,} characters, and no NUL among them")
    return text


def _micros(field: str, moment: datetime | None) -> int | None:
    return None if moment is None else values.checked_micros(field, moment)


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
    """What extractors read in a memory and, as the extractor STATED, what agents stated of it."""
    entities: dict[str, list[NewEntity]] = {name: [] for (name,) in rows(connection, _READ_BY, memory)}
    relations: dict[str, list[NewRelation]] = {}
    names: dict[tuple[str, int], str] = {}
    for extractor, entity, name, kind, spans in rows(connection, _MENTIONED, memory):
        found = NewEntity(name=name, type=kind, spans=tuple((start, end) for start, end in values.from_json(spans)))
        entities.setdefault(extractor, []).append(found)
        names.setdefault((extractor, entity), name)
    for extractor, subject, target, *rest in rows(connection, _SAID, memory):
        relation = _relation(names[extractor, subject], names[extractor, target], *rest)
        relations.setdefault(extractor, []).append(relation)
    return tuple(
        Extraction(extractor=one, entities=tuple(found), relations=tuple(relations.get(one, ())))
        for one, found in entities.items()
    )


def _relation(subject: str, target: str, *columns: Any) -> NewRelation:
    kind, basis, start, end, replaces, *moments = columns
    valid_from, valid_until, stated_at = map(values.from_micros_or_none, moments)
    return NewRelation(
        subject=subject,
        type=kind,
        object=target,
        basis=basis,
        start=start,
        end=end,
        replaces=bool(replaces),
        valid_from=valid_from,
        valid_until=valid_until,
        stated_at=stated_at,
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
    uid = query.relation_uid(subject_uid, said.type, target_uid)
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
