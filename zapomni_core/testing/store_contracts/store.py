"""The base of the store contracts: a store, and a second one on the same memories."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest_asyncio


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
