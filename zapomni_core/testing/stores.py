"""What the contracts of stores have in common: a store, a second one on the same memories, and ways to look into them."""

from collections.abc import AsyncIterator
from pathlib import Path
from types import EllipsisType
from typing import Any

import pytest_asyncio

from zapomni_core.testing.samples import EMBEDDER, WORKSPACE, sample_memory, sample_vector
from zapomni_db.arrays import Vector
from zapomni_db.filters import NO_FILTER, Filter
from zapomni_db.records import Added, Candidates, Change, EmbedderIdentity, Memory, NewMemory, Question
from zapomni_db.store import MemoryStore


class StoreContract:
    """Gives its tests the store that a subclass makes."""

    async def make_store(self, tmp_path: Path) -> Any:
        """A store that is empty the first time a directory is given; the next one for it keeps the same memories."""
        raise NotImplementedError

    @pytest_asyncio.fixture
    async def store(self, tmp_path: Path) -> AsyncIterator[Any]:
        """The store under test."""
        store = await self.make_store(tmp_path)
        yield store
        await store.close()

    @pytest_asyncio.fixture
    async def other(self, tmp_path: Path) -> AsyncIterator[Any]:
        """The same memories through another store, as another process sees them."""
        store = await self.make_store(tmp_path)
        yield store
        await store.close()


async def put(store: MemoryStore, memory: NewMemory, workspace: str = WORKSPACE) -> Added:
    """What became of one memory that was added."""
    (added,) = await store.add(workspace, [memory])
    return added


async def delete(store: MemoryStore, memory_id: str, workspace: str = WORKSPACE) -> Memory | None:
    """The memory, if it was not deleted before."""
    return await store.change(workspace, memory_id, Change(deleted=True))


async def restore(store: MemoryStore, memory_id: str, workspace: str = WORKSPACE) -> Memory | None:
    """The memory that was brought back, if there was one to bring back."""
    return await store.change(workspace, memory_id, Change(deleted=False))


async def problems(store: Any) -> list[str]:
    """What a store finds wrong with itself, if it can look."""
    return list(await store.check()) if hasattr(store, "check") else []


async def purge_deleted(store: MemoryStore, workspace: str = WORKSPACE) -> int:
    """Remove for good whatever is deleted; how many memories."""
    page = await store.list_memories(workspace, state="deleted")
    return await store.purge(workspace, [one.id for one in page.memories])


async def add(store: MemoryStore, text: str, workspace: str = WORKSPACE, **fields: Any) -> str:
    """The id of a memory that was added."""
    return (await put(store, sample_memory(text, **fields), workspace)).memory_id


async def kept(store: MemoryStore, memory_id: str) -> Memory:
    """A memory that must be there."""
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
    """What a store proposes for some words and their vector, or for another vector or none."""
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
