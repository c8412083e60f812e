"""Invalid vectors are an embedder failure: memories are stored without vectors, and search uses only words."""

import re

import numpy as np
import pytest

from zapomni_core.errors import ProcessingError
from zapomni_core.memory.engine import MemoryEngine
from zapomni_core.memory.reindex import count_pending
from zapomni_core.testing.embedder import HashingEmbedder
from zapomni_db.sqlite import SQLiteStore

RUBBISH = {
    "not a number": lambda vectors: vectors * np.nan,
    "too large": lambda vectors: vectors.astype(np.float64) * 1e300,
    "too short": lambda vectors: vectors[:, :-1],
    "too long": lambda vectors: np.hstack([vectors, vectors]),
    "too few": lambda vectors: vectors[:-1],
    "too many": lambda vectors: np.vstack([vectors, vectors]),
    "of a row less": lambda vectors: vectors[0],
    "of several lengths": lambda vectors: [[1.0] * (number + 1) for number in range(len(vectors) + 1)],
    "words": lambda vectors: ["vector"] * len(vectors),
    "nothing": lambda _: None,
}
COMPLAINT = (
    r"^The embedder 'hashing' did not return \d+ vectors of 256 numbers; choose another embedder in the settings"
)


class Rubbish(HashingEmbedder):
    """Returns a replacement for its vectors if one is set."""

    def __init__(self):
        super().__init__()
        self.spoil = lambda vectors: vectors

    async def embed(self, texts, *, query=False, on_batch=None):
        return self.spoil(await super().embed(texts, query=query, on_batch=on_batch))


@pytest.fixture
def embedder():
    return Rubbish()


@pytest.fixture
async def engine(tmp_path, embedder):
    engine = MemoryEngine(store=SQLiteStore(tmp_path / "memory.db"), embedder=embedder)
    for text in ("The piano is in the cellar.", "The cello is in the attic."):
        await engine.add_memory(text)
    yield engine
    await engine.close()


@pytest.mark.parametrize("kind", RUBBISH)
async def test_a_memory_is_stored_without_invalid_vectors_and_embedded_later(engine, embedder, kind):
    embedder.spoil = RUBBISH[kind]
    added = await engine.add_memory("The harp is in the hall.")
    assert added.outcome == "stored"
    assert re.match(COMPLAINT, added.not_embedded)
    assert await count_pending(engine.memories, "default") == 1
    embedder.spoil = lambda vectors: vectors
    assert await engine.finish_embedding()
    assert await count_pending(engine.memories, "default") == 0


@pytest.mark.parametrize("kind", RUBBISH)
async def test_a_question_without_a_vector_is_answered_by_words_and_says_so(engine, embedder, kind):
    embedder.spoil = RUBBISH[kind]
    result = await engine.search_memory("Where is the piano?")
    assert [hit.text for hit in result.hits] == ["The piano is in the cellar."]
    assert result.degraded.startswith("Only words were searched, not meaning: The embedder 'hashing' did not return")


async def test_numbers_in_lists_are_vectors_too(engine, embedder):
    embedder.spoil = np.ndarray.tolist
    await engine.add_memory("The harp is in the hall.")
    result = await engine.search_memory("Where is the harp?")
    assert (result.hits[0].text, result.degraded) == ("The harp is in the hall.", None)


@pytest.mark.parametrize("counted", [None, "three", 2.5])
async def test_an_invalid_token_count_is_a_failure_of_the_embedder(engine, embedder, monkeypatch, counted):
    monkeypatch.setattr(embedder, "tokens", lambda _text: counted)
    with pytest.raises(ProcessingError, match=r"^The embedder 'hashing' failed \(TypeError\)"):
        await engine.add_memory("The harp is in the hall. " * 200)
