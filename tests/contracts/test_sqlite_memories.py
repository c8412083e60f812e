"""The SQLite store keeps the contract of a memory store."""

from zapomni_core.testing.store_contracts import FileStoreContract, MemoryStoreContract, VectorStoreContract
from zapomni_db.sqlite import SQLiteStore


class TestSQLiteMemories(MemoryStoreContract):
    async def make_store(self, tmp_path):
        return SQLiteStore(tmp_path / "memory.db")


class TestSQLiteFile(FileStoreContract):
    async def make_store(self, tmp_path):
        return SQLiteStore(tmp_path / "memory.db")


class TestSQLiteVectors(VectorStoreContract):
    async def make_store(self, tmp_path):
        return SQLiteStore(tmp_path / "memory.db")
