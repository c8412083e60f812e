"""Sample memories and entities for tests of stores, and short ways to store and find them."""

import hashlib
from dataclasses import replace
from datetime import datetime
from types import EllipsisType
from typing import Any

import numpy as np

from zapomni_db.arrays import Vector
from zapomni_db.filters import NO_FILTER, Filter
from zapomni_db.records import (
    Added,
    Candidates,
    Change,
    EmbedderIdentity,
    Entity,
    Extraction,
    Memory,
    NewChunk,
    NewEntity,
    NewMemory,
    NewRelation,
    Question,
    Relation,
)
from zapomni_db.store import GraphStore, MemoryStore

WORKSPACE = "default"
EMBEDDER = EmbedderIdentity("samples", "words", 96)
EXTRACTOR = "samples"


def sample_vector(text: str, dimension: int = EMBEDDER.dimension) -> Vector:
    """A unit vector; texts that share words have similar ones."""
    total = np.zeros(dimension)
    for word in text.split() or [text]:
        seed = hashlib.blake2b(word.encode(), digest_size=8).digest()
        total += np.random.default_rng(list(seed)).standard_normal(dimension)
    return np.asarray(total / np.linalg.norm(total), np.float32)


def sample_chunk(text: str, start: int = 0, end: int | None = None, **fields: Any) -> NewChunk:
    """A chunk of a text, with its words as terms."""
    stop = len(text) if end is None else end
    part = text[start:stop]
    made: dict[str, Any] = {
        "heading": "",
        "terms": tuple(part.split()),
        "vector": sample_vector(part.encode(errors="replace").decode()),
    }
    return NewChunk(start=start, end=stop, **(made | fields))


def sample_memory(text: str, *chunks: NewChunk, **fields: Any) -> NewMemory:
    """A memory with one chunk, or with these."""
    defaults: dict[str, Any] = {"metadata": {}, "embedder": EMBEDDER}
    fields = defaults | fields
    key = repr((text, sorted(fields["metadata"].items(), key=repr), fields.get("kind")))
    name = hashlib.blake2b(key.encode(errors="replace"), digest_size=16).hexdigest()
    return NewMemory(text=text, chunks=chunks or (sample_chunk(text),), **({"key": name} | fields))


async def put(store: MemoryStore, memory: NewMemory, workspace: str = WORKSPACE) -> Added:
    """Add one memory."""
    (added,) = await store.add(workspace, [memory])
    return added


async def delete(store: MemoryStore, memory_id: str, workspace: str = WORKSPACE) -> Memory | None:
    """Delete a memory; None if it was deleted already."""
    return await store.change(workspace, memory_id, Change(deleted=True))


async def restore(store: MemoryStore, memory_id: str, workspace: str = WORKSPACE) -> Memory | None:
    """Restore a deleted memory; None if there was none."""
    return await store.change(workspace, memory_id, Change(deleted=False))


async def problems(store: Any) -> list[str]:
    """The problems that the store's own check finds, if it has one."""
    return list(await store.check()) if hasattr(store, "check") else []


async def purge_deleted(store: MemoryStore, workspace: str = WORKSPACE) -> int:
    """Purge all deleted memories; returns their number."""
    page = await store.list_memories(workspace, state="deleted")
    return await store.purge(workspace, [one.id for one in page.memories])


async def add(store: MemoryStore, text: str, workspace: str = WORKSPACE, **fields: Any) -> str:
    """Add a text; returns the memory's id."""
    return (await put(store, sample_memory(text, **fields), workspace)).memory_id


async def kept(store: MemoryStore, memory_id: str) -> Memory:
    """Get a memory that must exist."""
    memory = await store.get(WORKSPACE, memory_id)
    assert memory is not None
    return memory


async def ask(
    store: MemoryStore,
    words: str,
    *,
    workspace: str = WORKSPACE,
    terms: tuple[str, ...] | None = None,
    vector: Vector | EllipsisType | None = ...,
    embedder: EmbedderIdentity = EMBEDDER,
    **fields: Any,
) -> Candidates:
    """The candidates for some words and their vector, or another vector, or none."""
    asked = tuple(words.split()) if terms is None else terms
    counts = await store.term_counts(workspace, asked)
    near = sample_vector(words) if vector is ... else vector
    return await store.candidates(
        workspace, Question(terms=asked, counts=counts, vector=near, embedder=embedder, **fields)
    )


async def searchable(store: MemoryStore, workspace: str = WORKSPACE, wanted: Filter = NO_FILTER) -> list[str]:
    """The texts of all chunks with a vector that a search finds, in the order of insertion."""
    proposed = await ask(store, "", workspace=workspace, vector=sample_vector("any"), wanted=wanted, by_vector=10_000)
    return [one.text for one in await store.chunks(workspace, [one.chunk for one in proposed.found if one.meets])]


class Graphed(MemoryStore):
    """A store that has a graph."""

    graph: GraphStore


def entity_in(text: str, name: str, kind: str = "thing") -> NewEntity:
    """An entity at every place where its name stands in the text."""
    places = [place for place in range(len(text)) if name and text.startswith(name, place)]
    return NewEntity(name=name, type=kind, spans=tuple((place, place + len(name)) for place in places))


def said(text: str, *triple: str, extractor: str = EXTRACTOR, **fields: Any) -> Extraction:
    """An extraction with one relation (subject, type, object) and the whole text as its evidence."""
    subject, kind, target = triple
    relation = NewRelation(subject=subject, type=kind, object=target, basis="extracted", start=0, end=len(text))
    entities = tuple(entity_in(text, name) for name in dict.fromkeys((subject, target)))
    return Extraction(extractor=extractor, entities=entities, relations=(replace(relation, **fields),))


def named(text: str, *names: str, kind: str = "thing", extractor: str = EXTRACTOR) -> Extraction:
    """An extraction with these entities and no relations."""
    return Extraction(extractor=extractor, entities=tuple(entity_in(text, name, kind) for name in names))


async def extract(
    store: Graphed, *triple: str, when: datetime | None = None, workspace: str = WORKSPACE, **fields: Any
) -> str:
    """Add a memory with one extracted relation; returns its id."""
    text = " ".join(triple)
    memory = sample_memory(text, timestamp=when, key="", extraction=said(text, *triple, **fields))
    return (await put(store, memory, workspace)).memory_id


async def mention(store: Graphed, text: str, *names: str, kind: str = "thing", workspace: str = WORKSPACE) -> str:
    """Add a memory with some extracted entities; returns its id."""
    memory = sample_memory(text, key="", extraction=named(text, *names, kind=kind))
    return (await put(store, memory, workspace)).memory_id


async def the(store: Graphed, name: str, workspace: str = WORKSPACE) -> Entity:
    """Get the entity of a name, which must exist."""
    (found,) = await store.graph.entities(workspace, [name])
    return found


async def relations_of(
    store: Graphed, name: str, workspace: str = WORKSPACE, **wanted: Any
) -> list[tuple[int, Relation]]:
    """The relations around an entity, with their distance; none if it does not exist."""
    return (await store.graph.related(workspace, [name], **wanted)).relations


async def triples(store: Graphed, name: str, workspace: str = WORKSPACE, **wanted: Any) -> list[str]:
    """The relations around an entity as text, in order."""
    found = await relations_of(store, name, workspace, **wanted)
    return [f"{one.subject.name} {one.type} {one.object.name}" for _, one in found]
