"""The reference store keeps the contract of a memory store."""

from typing import ClassVar

from zapomni_core.testing.store_contracts import MemoryStoreContract
from zapomni_db.reference import ReferenceStore


class TestReferenceStore(MemoryStoreContract):
    kept: ClassVar = {}

    async def make_store(self, tmp_path):
        return ReferenceStore(self.kept.setdefault(tmp_path, {}))
