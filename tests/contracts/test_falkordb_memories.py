"""The FalkorDB store keeps the contract of a memory store."""

import pytest

from zapomni_core.testing.store_contracts import MemoryStoreContract, VectorStoreContract
from zapomni_db.falkordb import FalkorDBClient, FalkorDBStore


class OnFalkorDB:
    """Makes stores on the graph of a test."""

    @pytest.fixture(autouse=True)
    def graph(self, falkordb_url):
        self.url = falkordb_url

    async def make_store(self, tmp_path):
        return FalkorDBStore(FalkorDBClient.from_url(self.url))


class TestFalkorDBMemories(OnFalkorDB, MemoryStoreContract):
    """The contract of stores."""


class TestFalkorDBVectors(OnFalkorDB, VectorStoreContract):
    """The contract of stores that can be reindexed."""
