"""The SQLite store keeps the contract of a graph."""

from zapomni_core.testing.store_contracts import GraphStoreContract
from zapomni_db.sqlite import SQLiteStore


class TestSQLiteGraph(GraphStoreContract):
    async def make_store(self, tmp_path):
        return SQLiteStore(tmp_path / "memory.db")
