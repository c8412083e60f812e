"""The queue of the SQLite store keeps the contract of a queue."""

from zapomni_core.testing.store_contracts import JobStoreContract
from zapomni_db.sqlite import SQLiteStore


class TestSQLiteJobs(JobStoreContract):
    async def make_store(self, tmp_path):
        return SQLiteStore(tmp_path / "memory.db")
