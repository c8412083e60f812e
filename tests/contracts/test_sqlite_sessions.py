"""The SQLite store keeps the contract of a store of sessions."""

from zapomni_core.testing.store_contracts import SessionStoreContract
from zapomni_db.sqlite import SQLiteStore


class TestSQLiteSessions(SessionStoreContract):
    async def make_store(self, tmp_path):
        return SQLiteStore(tmp_path / "memory.db")
