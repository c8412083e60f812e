"""The queue of the FalkorDB store keeps the contract of a queue."""

from tests.contracts.test_falkordb_memories import OnFalkorDB
from zapomni_core.testing.store_contracts import JobStoreContract


class TestFalkorDBJobs(OnFalkorDB, JobStoreContract):
    """The contract of queues."""
