"""Contract suites for stores: subclass one, say how to make your store, and pytest collects its tests.

```python
class TestMyStore(MemoryStoreContract):
    async def make_store(self, tmp_path):
        return MyStore(tmp_path / "memories")
```
"""

from zapomni_core.testing.store_contracts.graph import GraphStoreContract
from zapomni_core.testing.store_contracts.jobs import JobStoreContract
from zapomni_core.testing.store_contracts.memories import FileStoreContract, MemoryStoreContract
from zapomni_core.testing.store_contracts.sessions import SessionStoreContract
from zapomni_core.testing.store_contracts.vectors import VectorStoreContract

__all__ = [
    "FileStoreContract",
    "GraphStoreContract",
    "JobStoreContract",
    "MemoryStoreContract",
    "SessionStoreContract",
    "VectorStoreContract",
]
