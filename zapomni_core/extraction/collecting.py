"""Makes of mentions and of what is said of them one extraction: equal names are one entity, and everything has its place."""

from dataclasses import dataclass, field
from datetime import datetime

from zapomni_core.extraction.mention import Mention
from zapomni_db.records import Basis, Extraction, NewEntity, NewRelation

MOST_MENTIONS = 200_000
MOST_RELATIONS = 100_000
"""What is kept of one text: a book has less, and a store has to write it in one transaction."""

_STRENGTH = {"name": 0, "person": 2}


@dataclass(slots=True)
class _Draft:
    name: str
    type: str
    spans: set[tuple[int, int]] = field(default_factory=set)


class Collection:
    """Entities and relations while a text is read."""

    def __init__(self, extractor: str) -> None:
        self._extractor = extractor
        self._entities: dict[str, _Draft] = {}
        self._relations: dict[tuple[str, str, str, datetime | None], NewRelation] = {}
        self._pairs: set[frozenset[str]] = set()

    def add(self, mention: Mention, offset: int = 0) -> None:
        """Keep a mention, whose place counts from `offset`."""
        draft = self._entities.setdefault(mention.key, _Draft(mention.name, mention.type))
        draft.spans.add((mention.start + offset, mention.end + offset))
        self.type(mention.key, mention.type)

    def type(self, key: str, kind: str) -> None:
        """Say what an entity is; of several types, the one that says most is kept, and the first of equals."""
        draft = self._entities[key]
        draft.type = max(draft.type, kind, key=lambda one: _STRENGTH.get(one, 1))

    def relate(
        self,
        subject: str,
        kind: str,
        thing: str,
        quote: tuple[int, int],
        *,
        basis: Basis,
        exclusive: bool = False,
        valid_from: datetime | None = None,
        valid_until: datetime | None = None,
    ) -> None:
        """Keep what is said of two entities, by their keys: once for each time since when it holds. Nothing is related to itself."""
        if subject == thing or len(self._relations) >= MOST_RELATIONS:
            return
        self._pairs.add(frozenset((subject, thing)))
        self._relations.setdefault(
            (subject, kind, thing, valid_from),
            NewRelation(
                subject=self._entities[subject].name,
                type=kind,
                object=self._entities[thing].name,
                basis=basis,
                start=quote[0],
                end=quote[1],
                replaces=exclusive,
                valid_from=valid_from,
                valid_until=valid_until,
            ),
        )

    def are_related(self, one: str, other: str) -> bool:
        """Whether something is said of the two already, in either direction."""
        return frozenset((one, other)) in self._pairs

    def extraction(self) -> Extraction:
        """Everything, by position."""
        entities = [
            NewEntity(name=draft.name, type=draft.type, spans=tuple(sorted(draft.spans)))
            for draft in self._entities.values()
        ]
        return Extraction(
            extractor=self._extractor,
            entities=tuple(sorted(entities, key=lambda entity: entity.spans[0])),
            relations=tuple(sorted(self._relations.values(), key=lambda one: (one.start, one.end))),
        )
