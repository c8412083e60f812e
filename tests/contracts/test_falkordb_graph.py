"""The FalkorDB store keeps the contract of a graph."""

from tests.contracts.test_falkordb_memories import OnFalkorDB
from zapomni_core.testing.store_contracts import GraphStoreContract


class TestFalkorDBGraph(OnFalkorDB, GraphStoreContract):
    """The contract of graphs."""
