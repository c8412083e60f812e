"""What the contracts of stores have in common: a store, a second one on the same memories, and ways to look into them."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest_asyncio

from zapomni_core.testing.samples import EMBEDDER, WORKSPACE, sample_memory
from zapomni_db.records import Memory
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


async def add(store: MemoryStore, text: str, workspace: str = WORKSPACE, **fields: Any) -> str:
    """The id of a memory that was added."""
    return (await store.add(workspace, sample_memory(text, **fields), EMBEDDER)).memory_id


async def kept(store: MemoryStore, memory_id: str) -> Memory:
    """A memory that must be there."""
    memory = await store.get(WORKSPACE, memory_id)
    assert memory is not None
    return memory


async def searchable(store: MemoryStore, workspace: str = WORKSPACE) -> list[str]:
    """The texts of all chunks that a search sees."""
    return await store.read(
        workspace, lambda snapshot: [one.text for one in snapshot.found(np.arange(snapshot.chunks))]
    )
