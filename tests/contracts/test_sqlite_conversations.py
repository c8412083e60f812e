"""The SQLite store keeps the contract of a store of conversations."""

from zapomni_core.testing.store_contracts import ConversationStoreContract
from zapomni_db.sqlite import SQLiteStore


class TestSQLiteConversations(ConversationStoreContract):
    async def make_store(self, tmp_path):
        return SQLiteStore(tmp_path / "memory.db")
