"""Results of extractors and facts of agents, checked and in the form in which every store keeps them. Pure."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from zapomni_db import values
from zapomni_db.entity_names import key_of, shown, snake_case
from zapomni_db.errors import InvalidInputError, MemoryNotFoundError
from zapomni_db.evidence import Span, Text
from zapomni_db.records import MENTIONED_WITH, STATED, Basis, Extraction, NewEntity, NewFact, NewRelation

QUOTE = 300
"""Characters of a quote that are shown."""
MOST_EVIDENCE = 10
"""Pieces of evidence that are given with a relation: those of the newest memories."""
MOST_ALSO_CURRENT = 10

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
_UID_BYTES = 16


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


class Stated(NamedTuple):
    """A fact that an agent states, and the two entities that it names."""

    entities: tuple[Named, Named]
    said: Said


# Ids: digests of what makes entities and relations what they are.


def entity_uid(workspace: str, key: str) -> bytes:
    """The id of an entity, as it is kept."""
    return values.digest(workspace.encode(), key.encode())


def relation_uid(subject: bytes, kind: str, target: bytes) -> bytes:
    """The id of a relation between the ids of two entities, as it is kept."""
    return values.digest(subject, kind.encode(), target)


def uid_of(identifier: str) -> bytes | None:
    """An id that was given out, as it is kept; None for what cannot be one."""
    try:
        uid = bytes.fromhex(identifier)
    except ValueError:
        return None
    return uid if len(uid) == _UID_BYTES and uid.hex() == identifier else None


# Facts that agents state.


def unknown_memory(memory_id: str) -> MemoryNotFoundError:
    """The error where there is no such memory to state facts of."""
    return MemoryNotFoundError(f"there is no memory {memory_id[:100]!a} in this workspace")


def check_live(memory_id: str, *, is_deleted: bool, replaced_by: str | None) -> None:
    """MemoryNotFoundError where a memory is there and not live."""
    if is_deleted:
        raise MemoryNotFoundError(f"memory {memory_id} is deleted; restore it to state facts of it")
    if replaced_by is not None:
        raise MemoryNotFoundError(f"memory {memory_id} was replaced by {replaced_by}; state facts of that one")


def checked_facts(
    text: Text, facts: Sequence[NewFact], now: int, known: Callable[[bytes], tuple[str, str] | None]
) -> list[Stated]:
    """The facts as they are kept; InvalidInputError begins with the number of the fact.

    `known` gives the key and the name of the entity of an id.
    """
    checked = []
    for number, fact in enumerate(facts, 1):
        try:
            checked.append(_stated(text, fact, now, known))
        except InvalidInputError as error:
            raise InvalidInputError(f"fact {number}: {error}") from None
    return checked


def evidence_of(text: Text, subject: str, target: str, quote: str) -> Span:
    """The place in a text that states a fact of two entities, given by their keys."""
    place = text.quote(quote) if quote.strip() else None
    return place or text.sentence(subject, target)


def moved(text: Text, stated: Stated, quote: str) -> Stated | None:
    """A stated fact as the text of another memory says it; None where that does not hold both names."""
    subject, target = stated.entities
    if not (text.places(subject.key) and text.places(target.key)):
        return None
    span = evidence_of(text, subject.key, target.key, quote if len(quote) <= _LONGEST_QUOTE else "")
    return stated._replace(said=stated.said._replace(span=span))


def placed(text: Text, entity: Named) -> Named:
    """An entity with its places in a text."""
    return entity._replace(spans=tuple(text.places(entity.key)))


def _stated(text: Text, fact: NewFact, now: int, known: Callable[[bytes], tuple[str, str] | None]) -> Stated:
    subject = _entity_named("subject", fact.subject, fact.subject_type, known)
    target = _entity_named("object", fact.object, fact.object_type, known)
    if subject.key == target.key:
        raise InvalidInputError("subject and object must be two different entities")
    relation, quote = _relation_of(fact), _quote_of(text, fact)
    since, until = _since_and_until(fact)
    span = evidence_of(text, subject.key, target.key, quote)
    said = Said(subject.key, relation, target.key, "stated", span, fact.replaces, since, until, now)
    return Stated((subject, target), said)


def _entity_named(field: str, name: str, kind: str, known: Callable[[bytes], tuple[str, str] | None]) -> Named:
    """The entity of this id, else of this name."""
    kind = snake_case(_plain(f"{field}_type", kind)) if kind else ""
    uid = uid_of(_plain(field, name))
    key, shown_name = (known(uid) if uid else None) or (key_of(name), shown(name))
    return Named(key, shown_name, kind or _UNTYPED)


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


# Results of extractors.


def check_extractor(extraction: Extraction) -> None:
    """InvalidInputError where an extractor has the name that stands for agents."""
    if extraction.extractor == STATED:
        raise InvalidInputError(f"extractor must not be '{STATED}', which stands for what agents state")


def checked_extraction(text: str, extraction: Extraction) -> tuple[list[Named], list[Said]]:
    """The entities, equal spellings as one, and the relations, each piece of evidence once.

    Those that were read come in the order of the text, stated ones in their own.
    """
    _plain("extractor", extraction.extractor)
    entities = _entities_of(text, extraction)
    return entities, _relations_of(text, extraction, {entity.key for entity in entities})


def _entities_of(text: str, extraction: Extraction) -> list[Named]:
    spans: dict[tuple[str, str, str], set[Span]] = {}
    for entity in extraction.entities:
        spans.setdefault(_spelled(entity), set()).update(_within(text, "entity spans", entity.spans))
    return [Named(*spelling, tuple(sorted(places))) for spelling, places in spans.items()]


def _spelled(entity: NewEntity) -> tuple[str, str, str]:
    name = shown(_plain("entity name", entity.name))
    return key_of(name), name, _plain("entity type", entity.type)


def _relations_of(text: str, extraction: Extraction, known: set[str]) -> list[Said]:
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


# What memories say, as they can bring it elsewhere.


def extractions_of(
    readers: Iterable[str], mentions: Iterable[Sequence[Any]], said: Iterable[Sequence[Any]]
) -> tuple[Extraction, ...]:
    """The results of extractors for a memory and, as the extractor STATED, the facts that agents stated.

    A mention is an extractor, an entity, a name, a type and spans; a relation is an extractor, two entities, and the other
    fields of `NewRelation` with moments in microseconds.
    """
    entities: dict[str, list[NewEntity]] = {name: [] for name in readers}
    relations: dict[str, list[NewRelation]] = {}
    names: dict[tuple[str, Any], str] = {}
    for extractor, entity, name, kind, spans in mentions:
        found = NewEntity(name=name, type=kind, spans=tuple((start, end) for start, end in spans))
        entities.setdefault(extractor, []).append(found)
        names.setdefault((extractor, entity), name)
    for extractor, subject, target, *rest in said:
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


# What live memories add up to.


class Contribution(NamedTuple):
    """The contribution of a live memory: to entities, to the uses of spellings, and to their places."""

    memories: Counter[Any]
    mentions: Counter[Any]
    live: Counter[Any]
    places: Counter[Any]


NOTHING = Contribution(Counter(), Counter(), Counter(), Counter())


def contribution_of(mentions: Iterable[tuple[Any, Any, Iterable[Sequence[int]]]]) -> Contribution:
    """The contribution of these mentions of a memory: each is an entity, a spelling of it, and its places.

    Two extractors that name the same place name one place.
    """
    spans: dict[Any, set[tuple[int, ...]]] = {}
    live: Counter[Any] = Counter()
    places: Counter[Any] = Counter()
    for entity, spelling, kept in mentions:
        named = {tuple(span) for span in kept}
        spans.setdefault(entity, set()).update(named)
        live[spelling] += 1
        places[spelling] += len(named)
    counted = Counter({entity: len(named) for entity, named in spans.items()})
    return Contribution(Counter(dict.fromkeys(spans, 1)), counted, live, places)
