"""An engine on a real store, with an embedder that needs no model."""

import pytest

from zapomni_core.memory.engine import MemoryEngine
from zapomni_core.testing.embedder import HashingEmbedder
from zapomni_db.reference import ReferenceStore
from zapomni_db.sqlite import SQLiteStore


class Listening(HashingEmbedder):
    """Records the questions it embeds; raises `failure` if it is set."""

    def __init__(self):
        super().__init__(512)
        self.questions = []
        self.failure = None

    async def embed(self, texts, *, query=False, on_batch=None):
        if query:
            self.questions += texts
            if self.failure:
                raise self.failure
        return await super().embed(texts, query=query, on_batch=on_batch)


@pytest.fixture
def embedder():
    return Listening()


@pytest.fixture(params=["sqlite", "reference"])
def make_store(request):
    """Makes a store in a directory."""
    return lambda folder: SQLiteStore(folder / "memory.db") if request.param == "sqlite" else ReferenceStore()


@pytest.fixture
async def engine(tmp_path, embedder):
    engine = MemoryEngine(store=SQLiteStore(tmp_path / "memory.db"), embedder=embedder)
    yield engine
    await engine.close()
