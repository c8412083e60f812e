"""What an extractor would read in small texts, for the contract of a graph."""

from dataclasses import replace
from datetime import datetime
from typing import Any

from zapomni_core.testing.samples import WORKSPACE, sample_memory
from zapomni_core.testing.stores import put
from zapomni_db.records import Entity, Extraction, NewEntity, NewRelation, Relation
from zapomni_db.store import GraphStore, MemoryStore

EXTRACTOR = "samples"


class Graphed(MemoryStore):
    """A store that has a graph."""

    graph: GraphStore


def entity_in(text: str, name: str, kind: str = "thing") -> NewEntity:
    """An entity at every place where a text spells it so."""
    places = [place for place in range(len(text)) if name and text.startswith(name, place)]
    return NewEntity(name=name, type=kind, spans=tuple((place, place + len(name)) for place in places))


def said(text: str, *triple: str, extractor: str = EXTRACTOR, **fields: Any) -> Extraction:
    """The whole text says one relation: subject, type and object, which it spells out."""
    subject, kind, target = triple
    relation = NewRelation(subject=subject, type=kind, object=target, basis="extracted", start=0, end=len(text))
    entities = tuple(entity_in(text, name) for name in dict.fromkeys((subject, target)))
    return Extraction(extractor=extractor, entities=entities, relations=(replace(relation, **fields),))


def named(text: str, *names: str, kind: str = "thing", extractor: str = EXTRACTOR) -> Extraction:
    """The text names these entities and says nothing of them."""
    return Extraction(extractor=extractor, entities=tuple(entity_in(text, name, kind) for name in names))


async def extract(
    store: Graphed, *triple: str, when: datetime | None = None, workspace: str = WORKSPACE, **fields: Any
) -> str:
    """The id of a new memory in which an extractor read one relation."""
    text = " ".join(triple)
    memory = sample_memory(text, timestamp=when, key="", extraction=said(text, *triple, **fields))
    return (await put(store, memory, workspace)).memory_id


async def mention(store: Graphed, text: str, *names: str, kind: str = "thing", workspace: str = WORKSPACE) -> str:
    """The id of a new memory that names some entities."""
    memory = sample_memory(text, key="", extraction=named(text, *names, kind=kind))
    return (await put(store, memory, workspace)).memory_id


async def the(store: Graphed, name: str, workspace: str = WORKSPACE) -> Entity:
    """The entity of a name, which must be there."""
    (found,) = await store.graph.entities(workspace, [name])
    return found


async def relations_of(
    store: Graphed, name: str, workspace: str = WORKSPACE, **wanted: Any
) -> list[tuple[int, Relation]]:
    """The relations around the entity of a name, if it is there."""
    return (await store.graph.related(workspace, [name], **wanted)).relations


async def triples(store: Graphed, name: str, workspace: str = WORKSPACE, **wanted: Any) -> list[str]:
    """The same in words, in order."""
    found = await relations_of(store, name, workspace, **wanted)
    return [f"{one.subject.name} {one.type} {one.object.name}" for _, one in found]
