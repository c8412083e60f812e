"""MemoryManager on SQLite."""

from tests.unit.core.sessions.manager_suite import MemoryManagerSuite
from zapomni_db.sqlite import SQLiteStore


class TestMemoryManagerOnSQLite(MemoryManagerSuite):
    async def make_store(self, tmp_path):
        return SQLiteStore(tmp_path / "memory.db")
