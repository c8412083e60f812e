"""What an extractor read, checked and merged, as it is going to be kept."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from zapomni_db.errors import InvalidInputError
from zapomni_db.names import key_of, shown
from zapomni_db.records import Extraction, NewEntity, NewRelation
from zapomni_db.sqlite import values

QUOTE = 300
"""Characters of a quote that are shown."""

_LONGEST = {"entity name": 1000, "entity type": 100, "relation type": 200, "extractor": 200}


class Named(NamedTuple):
    """One spelling of an entity with all its places."""

    key: str
    name: str
    type: str
    spans: tuple[tuple[int, int], ...]


class Said(NamedTuple):
    """A relation by the keys of its entities, with its evidence."""

    subject: str
    type: str
    object: str
    basis: str
    start: int
    end: int
    first_byte: int
    last_byte: int
    exclusive: bool
    valid_from: int | None
    valid_until: int | None


def check_extractor(name: str) -> str:
    """The same name, if it can be one."""
    return _plain("extractor", name)


def entities_of(text: str, extraction: Extraction) -> list[Named]:
    """The entities, equal spellings as one; InvalidInputError says what is wrong."""
    spans: dict[tuple[str, str, str], set[tuple[int, int]]] = {}
    for entity in extraction.entities:
        spans.setdefault(_spelling(entity), set()).update(_within(text, "entity spans", entity.spans))
    return [Named(*spelling, tuple(sorted(places))) for spelling, places in spans.items()]


def relations_of(text: str, extraction: Extraction, entities: Sequence[Named]) -> list[Said]:
    """The relations, each piece of evidence once, in the order of the text; InvalidInputError says what is wrong."""
    known = {entity.key for entity in entities}
    _within(text, "relation quotes", [(relation.start, relation.end) for relation in extraction.relations])
    places = {place for one in extraction.relations for place in (one.start, _shown_end(one))}
    byte = values.byte_offsets(text, places)
    said = [_said(relation, known, byte) for relation in extraction.relations]
    return sorted(dict.fromkeys(said), key=lambda one: one.start)


def _spelling(entity: NewEntity) -> tuple[str, str, str]:
    name = shown(_plain("entity name", entity.name))
    return key_of(name), name, _plain("entity type", entity.type)


def _said(relation: NewRelation, known: set[str], byte: dict[int, int]) -> Said:
    subject, target = key_of(relation.subject), key_of(relation.object)
    if not {subject, target} <= known:
        raise InvalidInputError("the subject and the object of a relation must be among the entities")
    return Said(
        subject,
        _plain("relation type", relation.type),
        target,
        relation.basis,
        relation.start,
        relation.end,
        byte[relation.start],
        byte[_shown_end(relation)],
        relation.exclusive,
        _micros("valid_from", relation.valid_from),
        _micros("valid_until", relation.valid_until),
    )


def _shown_end(relation: NewRelation) -> int:
    return min(relation.end, relation.start + QUOTE)


def _micros(field: str, moment: datetime | None) -> int | None:
    return None if moment is None else values.checked_micros(field, moment)


def _plain(field: str, text: str) -> str:
    """A text that can be kept, shown on a line and compared."""
    values.check_text(field, text)
    if not text.strip() or "\0" in text or len(text) > _LONGEST[field]:
        raise InvalidInputError(f"{field} must have 1 to {_LONGEST[field]:,} characters, and no NUL among them")
    return text


def _within(text: str, what: str, spans: Sequence[tuple[int, int]]) -> Sequence[tuple[int, int]]:
    if not all(0 <= start <= end <= len(text) for start, end in spans):
        raise InvalidInputError(f"{what} must lie within the memory's text")
    return spans
