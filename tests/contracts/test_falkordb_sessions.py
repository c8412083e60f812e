"""The FalkorDB store keeps the contract of a store of sessions."""

from tests.contracts.test_falkordb_memories import OnFalkorDB
from zapomni_core.testing.store_contracts import SessionStoreContract


class TestFalkorDBSessions(OnFalkorDB, SessionStoreContract):
    """What every store of sessions does."""
