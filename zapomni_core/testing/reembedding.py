"""The contract of re-embedding as a test class, for stores that can get the vectors of another embedder."""

import time
from dataclasses import replace
from typing import Protocol

import numpy as np
import pytest

from zapomni_core.testing.samples import EMBEDDER, WORKSPACE, sample_chunk, sample_memory, sample_vector
from zapomni_core.testing.stores import StoreContract, add
from zapomni_db.errors import EmbedderMismatchError
from zapomni_db.records import EmbedderIdentity
from zapomni_db.store import MemoryStore, Reembedding, Snapshot

ANOTHER = replace(EMBEDDER, model="better", dimension=40)


class ReembeddingStore(MemoryStore, Reembedding, Protocol):
    """A store that can do both."""


class ReembeddingContract(StoreContract):
    """What a store must do that can get the vectors of another embedder."""

    async def test_the_old_vectors_serve_until_the_switch(self, store: ReembeddingStore, other: MemoryStore) -> None:
        for number in range(5):
            await add(store, f"memory {number}")
        assert await refill(store, ANOTHER, limit=2) == [5, 3, 1, 0]
        assert await other.embedder() == EMBEDDER
        assert await best_by_vector(other, "memory 3") == "memory 3"
        await store.switch(ANOTHER)
        assert await other.embedder() == ANOTHER
        assert await best_by_vector(other, "memory 3") == "memory 3"
        assert await store.check() == []

    async def test_hidden_memories_get_new_vectors_too(self, store: ReembeddingStore) -> None:
        hidden = await add(store, "hidden")
        await store.delete(WORKSPACE, hidden)
        await refill(store, ANOTHER)
        await store.switch(ANOTHER)
        await store.restore(WORKSPACE, hidden)
        assert await best_by_vector(store, "hidden") == "hidden"

    async def test_a_switch_is_refused_while_vectors_are_missing(self, store: ReembeddingStore) -> None:
        await add(store, "first")
        await refill(store, ANOTHER)
        await add(store, "second")
        with pytest.raises(EmbedderMismatchError, match="1 "):
            await store.switch(ANOTHER)
        assert await store.embedder() == EMBEDDER
        assert await refill(store, ANOTHER) == [1, 0]
        await store.switch(ANOTHER)
        assert await store.embedder() == ANOTHER

    async def test_after_the_switch_only_the_new_embedder_may_add(self, store: ReembeddingStore) -> None:
        await add(store, "first")
        await refill(store, ANOTHER)
        await store.switch(ANOTHER)
        with pytest.raises(EmbedderMismatchError):
            await add(store, "second")
        chunk = replace(sample_memory("second").chunks[0], vector=sample_vector("second", ANOTHER.dimension))
        await store.add(WORKSPACE, sample_memory("second", chunk), ANOTHER)
        assert await best_by_vector(store, "second") == "second"

    async def test_a_memory_that_was_purged_meanwhile_is_no_obstacle(self, store: ReembeddingStore) -> None:
        gone = await add(store, "gone")
        chunks, _ = await store.pending(ANOTHER, 10)
        await store.delete(WORKSPACE, gone)
        await store.purge(WORKSPACE, deleted_before=time.time() + 1)
        await store.fill(ANOTHER, [(chunks[0][0], sample_vector("gone", ANOTHER.dimension))])
        assert await store.pending(ANOTHER, 10) == ([], 0)
        await store.switch(ANOTHER)
        assert await store.check() == []

    async def test_the_serving_embedder_has_nothing_pending(self, store: ReembeddingStore) -> None:
        await add(store, "first")
        assert await store.pending(EMBEDDER, 10) == ([], 0)
        await store.switch(EMBEDDER)
        assert await best_by_vector(store, "first") == "first"

    async def test_a_chunk_without_a_vector_is_found_by_words_until_it_gets_one(
        self, store: ReembeddingStore, other: MemoryStore
    ) -> None:
        await add(store, "before")
        await store.add(WORKSPACE, sample_memory("later", replace(sample_chunk("later"), vector=None)), EMBEDDER)
        await add(store, "after")
        assert await words_and_cosines(other, "later") == ([1], {0: True, 1: False, 2: True}, [0, 2])
        assert await store.check() == []
        assert await refill(store, EMBEDDER) == [1, 0]
        assert await words_and_cosines(other, "later") == ([1], {0: True, 1: True, 2: True}, [0, 1, 2])
        assert await best_by_vector(other, "later") == "later"
        assert await store.check() == []

    async def test_a_store_without_any_vector_can_be_searched(self, store: ReembeddingStore) -> None:
        parts = replace(sample_chunk("one two", 0, 3), vector=None), replace(sample_chunk("one two", 4), vector=None)
        await store.add(WORKSPACE, sample_memory("one two", *parts), EMBEDDER)
        assert await words_and_cosines(store, "two") == ([1], {0: False, 1: False}, [])
        assert await refill(store, EMBEDDER, limit=1) == [2, 1, 0]
        assert await best_by_vector(store, "two") == "two"


async def refill(store: Reembedding, embedder: EmbedderIdentity, limit: int = 100) -> list[int]:
    """Give every chunk a vector by this embedder; returns how many there were to go before each step."""
    totals = []
    while True:
        chunks, total = await store.pending(embedder, limit)
        totals.append(total)
        if not chunks:
            return totals
        vectors = [(number, sample_vector(chunk.text, embedder.dimension)) for number, chunk in chunks]
        await store.fill(embedder, vectors)


async def words_and_cosines(store: MemoryStore, text: str) -> tuple[list[int], dict[int, bool], list[int]]:
    """The rows that hold a word, which rows have a cosine with it, and which are among the nearest."""
    vector = sample_vector(text)

    def look(snapshot: Snapshot) -> tuple[list[int], dict[int, bool], list[int]]:
        numbers = np.isfinite(snapshot.cosines(np.arange(snapshot.chunks), vector)).tolist()
        assert snapshot.embedded.tolist() == numbers
        near = sorted(snapshot.nearest(vector, snapshot.chunks).tolist())
        return snapshot.postings([text])[text][0].tolist(), dict(enumerate(numbers)), near

    return await store.read(WORKSPACE, look)


async def best_by_vector(store: MemoryStore, text: str) -> str:
    """The text of the chunk that is nearest by the serving embedder's vectors."""

    def look(snapshot: Snapshot) -> str:
        assert snapshot.embedder is not None
        vector = sample_vector(text, snapshot.embedder.dimension)
        rows = snapshot.nearest(vector, 3)
        best = snapshot.cosines(rows, vector).argmax()
        return snapshot.found(rows[best : best + 1])[0].text

    return await store.read(WORKSPACE, look)
