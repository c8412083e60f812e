"""The weight of vectors: given by the profile, recorded in the store, or measured once."""

import numpy as np
import pytest

from zapomni_core.embedding import DefaultEmbedder, Profile
from zapomni_core.embedding.weight import ENGLISH, RUSSIAN, is_cyrillic, measure
from zapomni_core.memory.engine import MemoryEngine
from zapomni_core.testing.embedder import HashingEmbedder
from zapomni_db.records import VectorWeight
from zapomni_db.reference import ReferenceStore
from zapomni_db.sqlite import SQLiteStore

ITEMS = len(ENGLISH) + len(RUSSIAN)


class Knowing(HashingEmbedder):
    """Knows which texts belong together; `echo`, `english` and `russian` are the cosines of matching pairs."""

    def __init__(self, *, echo=0.5, english=0.8, russian=0.8):
        super().__init__(2 * ITEMS, Profile())
        self.calls = 0
        self._vectors = {}
        for number, (asked, *others) in enumerate([*ENGLISH, *RUSSIAN]):
            self._vectors[asked] = self._along(number, 1.0)
            self._vectors[others[-1]] = self._along(number, english if number < len(ENGLISH) else russian)
            if len(others) > 1:
                self._vectors[others[0]] = self._along(number, echo)

    def _along(self, number, cosine):
        vector = np.zeros(2 * ITEMS, np.float32)
        vector[number], vector[ITEMS + number] = cosine, np.sqrt(1 - cosine**2)
        return vector

    async def embed(self, texts, *, query=False, on_batch=None):
        self.calls += 1
        if texts and all(text in self._vectors for text in texts):
            return np.stack([self._vectors[text] for text in texts])
        return await super().embed(texts, query=query, on_batch=on_batch)


class Noise(HashingEmbedder):
    def __init__(self):
        super().__init__(512, Profile())
        self._random = np.random.default_rng(1)

    async def embed(self, texts, *, query=False, on_batch=None):
        vectors = self._random.standard_normal((len(texts), 512))
        return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


async def test_the_weight_is_half_of_one_by_the_spread():
    assert await measure(Knowing(echo=0.25)) == VectorWeight(pytest.approx(2.0), cyrillic=True)


async def test_a_model_that_cannot_read_russian_is_not_asked_in_russian():
    assert (await measure(Knowing(russian=0.39))).cyrillic is False
    assert (await measure(Knowing(russian=0.41))).cyrillic is True


async def test_noise_has_no_weight():
    assert await measure(Noise()) == VectorWeight(0.0, cyrillic=False)


async def test_the_rule_agrees_with_the_measurement_of_the_default_embedder():
    embedder = DefaultEmbedder()
    weight = await measure(embedder)
    await embedder.close()
    assert weight == VectorWeight(pytest.approx(0.71, abs=0.02), cyrillic=True)


@pytest.mark.parametrize(
    ("text", "expected"), [("Где ключи?", True), ("Где мой iPhone", False), ("keys", False), ("42", False), ("", False)]
)
def test_a_question_is_cyrillic_by_most_of_its_letters(text, expected):
    assert is_cyrillic(text) is expected


async def test_it_is_measured_with_the_first_search_and_recorded_for_other_processes(tmp_path):
    for calls in (4, 1):  # an add or nothing, two to measure or nothing, the question
        embedder = Knowing()
        engine = MemoryEngine(store=SQLiteStore(tmp_path / "memory.db"), embedder=embedder)
        if calls == 4:
            await engine.add_memory("The piano is in the cellar")
        await engine.search_memory("piano")
        assert embedder.calls == calls
        assert await engine.memories.vectors.weight("default", embedder.identity) == VectorWeight(pytest.approx(1.0))
        await engine.search_memory("cellar")
        assert embedder.calls == calls + 1
        await engine.close()


async def test_a_store_that_records_nothing_has_it_measured_once_in_a_process():
    embedder = Knowing()
    engine = MemoryEngine(store=ReferenceStore(), embedder=embedder)
    await engine.add_memory("The piano is in the cellar")
    for _ in range(3):
        await engine.search_memory("piano")
    assert embedder.calls == 1 + 2 + 3


async def test_a_question_in_cyrillic_gets_no_vector_of_a_model_that_cannot_read_it(tmp_path):
    embedder = Knowing(russian=0.1)
    engine = MemoryEngine(store=SQLiteStore(tmp_path / "memory.db"), embedder=embedder)
    await engine.add_memory("Ключи висят в коридоре")
    await engine.search_memory("Where are the keys?")
    calls = embedder.calls
    result = await engine.search_memory("Где висят ключи?")
    assert (result.degraded, embedder.calls) == (None, calls)
    assert result.hits[0].text == "Ключи висят в коридоре"
    await engine.close()
