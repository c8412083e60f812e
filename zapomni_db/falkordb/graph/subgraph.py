"""The part of a graph that a transaction touches: read when it is first needed, changed here, and written at the end."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from zapomni_db import values
from zapomni_db.entity_names import SHORTEST_BEGINNING, words_of
from zapomni_db.evidence import Span
from zapomni_db.facts import NOTHING, QUOTE, Contribution, Named, Said, contribution_of, entity_uid, relation_uid
from zapomni_db.falkordb.client import FalkorDBClient
from zapomni_db.falkordb.cypher import name_of
from zapomni_db.falkordb.memories import Row, memories_of
from zapomni_db.falkordb.transaction import Transaction
from zapomni_db.records import MENTIONED_WITH

Spelling = tuple[str, str, str]  # uid of the entity, name, type


@dataclass(slots=True)
class Uses:
    """The uses of a spelling: mentions, those of live memories, and their places."""

    uses: int = 0
    live: int = 0
    places: int = 0


@dataclass(slots=True)
class EntityNode:
    """An entity. Its spellings come in the order in which they were met; `replacing` names the types of its relations in
    which one may replace the others.
    """

    uid: str
    key: str
    name: str
    type: str
    mentions: int = 0
    memories: int = 0
    spellings: dict[tuple[str, str], Uses] = field(default_factory=dict)
    replacing: list[str] = field(default_factory=list)
    is_new: bool = True

    def rename(self) -> None:
        """Take the name that most places have, and the first type that says more than that there is something."""
        live = {spelled: uses for spelled, uses in self.spellings.items() if uses.live}
        places: defaultdict[str, int] = defaultdict(int)
        for (name, _), uses in live.items():
            places[name] += uses.places
        if places:
            self.name = max(places, key=lambda name: places[name])  # of equal ones the first
            types = [kind for _, kind in live]
            self.type = next((kind for kind in types if kind not in ("name", "thing")), types[0])

    def properties(self, tx: Transaction) -> dict[str, Any]:
        """The properties of its node."""
        kept = {"name": self.name, "type": self.type, "mentions": self.mentions, "memories": self.memories}
        spellings = [[*spelled, one.uses, one.live, one.places] for spelled, one in self.spellings.items()]
        kept |= {"spellings": values.to_json("spellings", spellings), "replacing": self.replacing}
        if self.is_new:
            kept |= {"ws": tx.ws, "key": self.key, "words": indexed_words(tx.ws, self.key)}
        return kept


class Piece(NamedTuple):
    """Evidence of a relation in a memory; the entities are given by their uids."""

    relation: str
    subject: str
    object: str
    type: str
    basis: str
    start: int
    end: int
    replaces: bool
    since: int | None
    until: int | None
    stated_at: int | None
    number: int
    quote: str


@dataclass(slots=True)
class RelationNode:
    """A relation, as it is kept: `uses` counts all evidence, `evidence` the live memories that have some."""

    uid: str
    subject: str
    type: str
    object: str
    uses: int = 0
    evidence: int = 0
    until: int | None = None
    is_new: bool = True

    @property
    def is_together(self) -> bool:
        """Whether it only says that both are mentioned together."""
        return self.type == MENTIONED_WITH

    def is_current(self, now: int) -> bool:
        """Whether it is shown and not over."""
        return self.evidence > 0 and (self.until is None or self.until > now)


@dataclass(slots=True)
class Speech:
    """The contents of one memory, by extractor, and its contribution to the graph before the transaction."""

    row: Row
    was_live: bool = False
    is_gone: bool = False
    readers: list[str] = field(default_factory=list)
    mentions: dict[str, dict[Spelling, Sequence[Span]]] = field(default_factory=dict)
    evidence: dict[str, list[Piece]] = field(default_factory=dict)
    changed: set[str] = field(default_factory=set)
    spoke: Contribution = NOTHING
    uses_before: Contribution = NOTHING
    pieces_before: list[Piece] = field(default_factory=list)
    kept_before: set[str] = field(default_factory=set)
    readers_before: list[str] = field(default_factory=list)

    def remember(self, *, was_live: bool) -> None:
        """Note what it adds before anything changes."""
        self.was_live = was_live
        self.kept_before, self.readers_before = {*self.mentions, *self.evidence}, list(self.readers)
        self.uses_before = self.uses()
        self.spoke = self.uses_before if was_live else NOTHING
        self.pieces_before = self.pieces()

    @property
    def is_touched(self) -> bool:
        """Whether the graph has to follow it."""
        return bool(self.changed) or self.was_live != self.row.is_live

    def speaks(self) -> Contribution:
        """Its contribution now."""
        return self.uses() if self.row.is_live and not self.is_gone else NOTHING

    def pieces(self) -> list[Piece]:
        """All its evidence."""
        return [piece for pieces in self.evidence.values() for piece in pieces]

    def mention(self, extractor: str, entity: EntityNode, named: Named) -> None:
        """Note that it names an entity, once for each spelling."""
        self.changed.add(extractor)
        self.mentions.setdefault(extractor, {}).setdefault((entity.uid, named.name, named.type), named.spans)

    def say(self, extractor: str, relation: RelationNode, said: Said, text: str) -> None:
        """Note that it is evidence of a relation."""
        self.changed.add(extractor)
        start, end = said.span
        number = max((piece.number for piece in self.pieces()), default=0) + 1
        piece = Piece(
            *(relation.uid, relation.subject, relation.object, relation.type, said.basis, start, end),
            *(said.replaces, said.valid_from, said.valid_until, said.stated_at, number),
            text[start : min(end, start + QUOTE)],
        )
        self.evidence.setdefault(extractor, []).append(piece)

    def forget(self, extractor: str) -> None:
        """Drop what an extractor read in it."""
        self.changed.add(extractor)
        self.mentions.pop(extractor, None)
        self.evidence.pop(extractor, None)

    def uses(self) -> Contribution:
        """Its mentions now, live or not."""
        return contribution_of(
            (spelling[0], spelling, spans) for named in self.mentions.values() for spelling, spans in named.items()
        )


_PIECE = ", ".join(f"v.{name} AS {name}" for name in Piece._fields)
_MENTIONS = """
MATCH (m:Memory {uid: $uid}) OPTIONAL MATCH (m)-[x:MENTIONS]->(e:Entity)
RETURN m.readers, x.extractor, e.uid AS entity, x.name, x.type, x.spans, x.number AS number ORDER BY number
"""
_PIECES = f"MATCH (v:Evidence {{memory: $uid}}) RETURN v.extractor, {_PIECE} ORDER BY number"
_ENTITIES = """
UNWIND $uids AS uid MATCH (e:Entity {uid: uid}) WHERE e.ws = $ws
RETURN e.uid, e.key, e.name, e.type, e.mentions, e.memories, e.spellings, e.replacing
"""
_RELATION = "x.uid AS uid, startNode(x).uid AS subject, x.type, endNode(x).uid AS object, x.uses, x.evidence, x.until"
_RELATIONS = f"UNWIND $uids AS uid MATCH ()-[x:REL {{uid: uid}}]->() RETURN {_RELATION}"
_GROUP = f"MATCH (s:Entity {{uid: $subject}})-[x:REL]->() WHERE x.type = $type RETURN {_RELATION}"


class Subgraph:
    """The part of the graph that a transaction has read."""

    def __init__(self, tx: Transaction) -> None:
        self.tx = tx
        self.entities: dict[str, EntityNode] = {}
        self.relations: dict[str, RelationNode] = {}
        self.speeches: dict[str, Speech] = {}
        self._asked: set[str] = set()  # uids that were looked up

    async def speech(self, row: Row) -> Speech:
        """The contents of a memory."""
        if row.uid in self.speeches:
            return self.speeches[row.uid]
        speech = self.speeches[row.uid] = Speech(row)
        if row.uid not in memories_of(self.tx).inserted:
            speech.readers, mentions, said = await read_speech(self.tx.client, row.uid)
            for extractor, entity, name, kind, places in mentions:
                speech.mentions.setdefault(extractor, {})[entity, name, kind] = places
            for extractor, piece in said:
                speech.evidence.setdefault(extractor, []).append(piece)
        speech.remember(was_live=memories_of(self.tx).was_live(row))
        return speech

    async def look_up(self, uids: Iterable[str]) -> None:
        """Read those entities of these that are there."""
        wanted = sorted(set(uids) - self._asked)
        self._asked.update(wanted)
        for uid, key, name, kind, mentions, memories, spellings, replacing in (
            await self.tx.read(_ENTITIES, uids=wanted) if wanted else ()
        ):
            known = {(spelled, of): Uses(*uses) for spelled, of, *uses in values.from_json(spellings)}
            self.entities[uid] = EntityNode(uid, key, name, kind, mentions, memories, known, replacing, is_new=False)

    async def keep_entities(self, named: Iterable[Named]) -> dict[str, EntityNode]:
        """The entities of these keys, by key."""
        first = {one.key: one for one in reversed(list(named))}
        uids = {key: entity_uid(self.tx.name, key).hex() for key in first}
        await self.look_up(uids.values())
        return {
            key: self.entities.setdefault(uids[key], EntityNode(uids[key], key, one.name, one.type))
            for key, one in first.items()
        }

    def relation(self, subject: EntityNode, kind: str, target: EntityNode) -> RelationNode:
        """A relation, which may be new; `look_up_relations` knows."""
        uid = relation_uid(bytes.fromhex(subject.uid), kind, bytes.fromhex(target.uid)).hex()
        return self.relations.setdefault(uid, RelationNode(uid, subject.uid, kind, target.uid))

    async def look_up_relations(self, uids: Iterable[str]) -> None:
        """Read those relations of these that are there."""
        wanted = sorted(set(uids))
        self._take(await self.tx.read(_RELATIONS, uids=wanted) if wanted else [])

    async def look_up_group(self, subject: str, kind: str) -> None:
        """Read the relations of a subject and type."""
        self._take(await self.tx.read(_GROUP, subject=subject, type=kind))

    def _take(self, found: Iterable[Sequence[Any]]) -> None:
        for uid, subject, kind, target, uses, evidence, until in found:
            if uid not in self.relations or self.relations[uid].is_new:
                self.relations[uid] = RelationNode(uid, subject, kind, target, uses, evidence, until, is_new=False)


Mention = tuple[str, str, str, str, list[Span]]  # extractor, entity, name, type, places


async def read_speech(client: FalkorDBClient, uid: str) -> tuple[list[str], list[Mention], list[tuple[str, Piece]]]:
    """The extractors that have read a memory, its mentions, and its evidence."""
    found = await client.read(_MENTIONS, {"uid": uid})
    readers = found[0][0] if found else None
    mentions = [
        (extractor, entity, name, kind, [(start, end) for start, end in values.from_json(spans)])
        for _, extractor, entity, name, kind, spans, _ in found
        if entity
    ]
    pieces = await client.read(_PIECES, {"uid": uid})
    return list(readers or ()), mentions, [(extractor, Piece(*piece)) for extractor, *piece in pieces]


def subgraph_of(tx: Transaction) -> Subgraph:
    """The part of the graph that a transaction has read."""
    if "graph" not in tx.state:
        tx.state["graph"] = Subgraph(tx)
    found: Subgraph = tx.state["graph"]
    return found


BLOCK = 1000  # facts whose numbers make one block


def block_of(ws: str, number: int) -> str:
    """The block of facts that a number is in, as it is indexed: pages of facts are read by blocks."""
    return f"{ws}/{number // BLOCK}"


def indexed_words(ws: str, key: str) -> list[str]:
    """The words by which an entity is found: each word of its key, and each beginning of one."""
    found = []
    for word in words_of(key):
        found.append(indexed_word(ws, word))
        found += [indexed_beginning(ws, word[:length]) for length in range(SHORTEST_BEGINNING, len(word))]
    return list(dict.fromkeys(found))


def indexed_word(ws: str, word: str) -> str:
    """A word as it is indexed."""
    return name_of("word", ws, word, size=8)


def indexed_beginning(ws: str, beginning: str) -> str:
    """The beginning of a longer word as it is indexed."""
    return name_of("beginning", ws, beginning, size=8)
