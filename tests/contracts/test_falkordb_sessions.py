"""The FalkorDB store keeps the contract of a store of sessions, and serves a MemoryManager."""

from tests.contracts.test_falkordb_memories import OnFalkorDB
from tests.unit.core.sessions.manager_suite import MemoryManagerSuite
from zapomni_core.testing.store_contracts import SessionStoreContract


class TestFalkorDBSessions(OnFalkorDB, SessionStoreContract):
    """The contract of sessions."""


class TestMemoryManagerOnFalkorDB(OnFalkorDB, MemoryManagerSuite):
    """The suite of the manager."""
