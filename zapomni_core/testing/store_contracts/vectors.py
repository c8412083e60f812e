"""The contract of a store that can replace its vectors by those of another embedder, as a test class."""

from dataclasses import replace
from typing import Any

import pytest

from zapomni_core.testing.samples import (
    EMBEDDER,
    WORKSPACE,
    add,
    ask,
    delete,
    problems,
    purge_deleted,
    put,
    restore,
    sample_chunk,
    sample_memory,
    sample_vector,
    searchable,
)
from zapomni_core.testing.store_contracts.store import StoreContract
from zapomni_db.errors import EmbedderMismatchError
from zapomni_db.records import EmbedderIdentity, VectorWeight

ANOTHER = replace(EMBEDDER, model="better", dimension=40)


class VectorStoreContract(StoreContract):
    """The contract of a store with `vectors`."""

    async def test_the_old_vectors_serve_until_the_switch(self, store: Any, other: Any) -> None:
        for number in range(5):
            await add(store, f"memory {number}")
        assert await refill(store, ANOTHER, limit=2) == [5, 3, 1, 0]
        assert await other.embedder(WORKSPACE) == EMBEDDER
        assert await best_by_vector(other, "memory 3") == "memory 3"
        await store.vectors.switch(WORKSPACE, ANOTHER)
        assert await other.embedder(WORKSPACE) == ANOTHER
        assert await best_by_vector(other, "memory 3", ANOTHER) == "memory 3"
        assert await problems(store) == []

    async def test_hidden_memories_get_new_vectors_too(self, store: Any) -> None:
        hidden = await add(store, "hidden")
        await delete(store, hidden)
        await refill(store, ANOTHER)
        await store.vectors.switch(WORKSPACE, ANOTHER)
        await restore(store, hidden)
        assert await best_by_vector(store, "hidden", ANOTHER) == "hidden"

    async def test_a_switch_is_refused_while_vectors_are_missing(self, store: Any) -> None:
        await add(store, "first")
        await refill(store, ANOTHER)
        await add(store, "second")
        with pytest.raises(EmbedderMismatchError, match="1 "):
            await store.vectors.switch(WORKSPACE, ANOTHER)
        assert await store.embedder(WORKSPACE) == EMBEDDER
        assert await refill(store, ANOTHER) == [1, 0]
        await store.vectors.switch(WORKSPACE, ANOTHER)
        assert await store.embedder(WORKSPACE) == ANOTHER

    async def test_after_the_switch_only_the_new_embedder_may_add(self, store: Any) -> None:
        await add(store, "first")
        await refill(store, ANOTHER)
        await store.vectors.switch(WORKSPACE, ANOTHER)
        with pytest.raises(EmbedderMismatchError):
            await add(store, "second")
        chunk = replace(sample_memory("second").chunks[0], vector=sample_vector("second", ANOTHER.dimension))
        await put(store, replace(sample_memory("second", chunk), embedder=ANOTHER))
        assert await best_by_vector(store, "second", ANOTHER) == "second"

    async def test_a_memory_that_was_purged_meanwhile_is_no_obstacle(self, store: Any) -> None:
        gone = await add(store, "gone")
        chunks, _ = await store.vectors.pending(WORKSPACE, ANOTHER, 10)
        await delete(store, gone)
        await purge_deleted(store)
        await store.vectors.fill(WORKSPACE, ANOTHER, [(chunks[0][0], sample_vector("gone", ANOTHER.dimension))])
        assert await store.vectors.pending(WORKSPACE, ANOTHER, 10) == ([], 0)
        await store.vectors.switch(WORKSPACE, ANOTHER)
        assert await problems(store) == []

    async def test_the_serving_embedder_has_nothing_pending(self, store: Any) -> None:
        await add(store, "first")
        assert await store.vectors.pending(WORKSPACE, EMBEDDER, 10) == ([], 0)
        await store.vectors.switch(WORKSPACE, EMBEDDER)
        assert await best_by_vector(store, "first") == "first"

    async def test_a_chunk_without_a_vector_is_found_by_words_until_it_gets_one(self, store: Any, other: Any) -> None:
        await add(store, "before")
        await put(store, sample_memory("later", replace(sample_chunk("later"), vector=None)))
        await add(store, "after")
        assert await words_and_cosines(other, "later") == (1, [True, False, True], 1)
        assert await problems(store) == []
        assert await refill(store, EMBEDDER) == [1, 0]
        assert await words_and_cosines(other, "later") == (1, [True] * 3, 0)
        assert await best_by_vector(other, "later") == "later"
        assert await problems(store) == []

    async def test_workspaces_have_embedders_of_their_own(self, store: Any, other: Any) -> None:
        await add(store, "here")
        await add(store, "there", "elsewhere")
        await refill(store, ANOTHER)
        await store.vectors.switch(WORKSPACE, ANOTHER)
        assert await other.embedder(WORKSPACE) == ANOTHER
        assert await other.embedder("elsewhere") == EMBEDDER
        assert await best_by_vector(other, "here", ANOTHER) == "here"
        assert await searchable(other, "elsewhere") == ["there"]
        assert await store.vectors.pending("elsewhere", EMBEDDER, 10) == ([], 0)
        await add(store, "there too", "elsewhere")
        with pytest.raises(EmbedderMismatchError):
            await put(store, replace(sample_memory("mixed"), embedder=EMBEDDER))
        assert await problems(store) == []

    async def test_what_is_pending_is_of_one_workspace(self, store: Any) -> None:
        for number, workspace in enumerate(("one", "two", "two")):
            text = f"{workspace} {number}"
            await put(store, sample_memory(text, replace(sample_chunk(text), vector=None)), workspace)
        chunks, total = await store.vectors.pending("one", EMBEDDER, 10)
        assert ([chunk.text for _, chunk in chunks], total) == (["one 0"], 1)
        await store.vectors.fill("two", EMBEDDER, [(chunks[0][0], sample_vector("one 0"))])
        assert (await store.vectors.pending("one", EMBEDDER, 10))[1] == 1, "a workspace fills its own chunks only"
        chunks, total = await store.vectors.pending("two", EMBEDDER, 1)
        assert ([chunk.text for _, chunk in chunks], total) == (["two 2"], 2)
        assert await store.vectors.pending("three", EMBEDDER, 10) == ([], 0)
        assert (await store.vectors.pending("one", ANOTHER, 10))[1] == 1

    async def test_terms_of_another_analyser_are_replaced(self, store: Any, other: Any) -> None:
        await add(store, "new")
        await put(store, sample_memory("old words", analyser=0), "elsewhere")
        hidden = await put(store, sample_memory("hidden", analyser=0))
        await put(
            store, sample_memory("old text", sample_chunk("old text", 0, 3), sample_chunk("old text", 4), analyser=0)
        )
        await delete(store, hidden.memory_id)
        assert (await other.term_counts(WORKSPACE, ["old", "young"])).holding == (1, 0)
        chunks, total = await store.vectors.outdated(WORKSPACE, 1, 2)
        assert (len(chunks), total) == (2, 3)
        chunks, _ = await store.vectors.outdated(WORKSPACE, 1, 10)
        assert sorted(chunk.text for _, chunk in chunks) == ["hidden", "old", "text"]
        made = {"hidden": ["seen"], "old": ["young", "Young"], "text": []}
        await store.vectors.replace_terms("elsewhere", 1, [(number, ["wrong"]) for number, _ in chunks])
        assert (await store.vectors.outdated(WORKSPACE, 1, 10))[1] == 3, "a workspace has terms of its own"
        await store.vectors.replace_terms(WORKSPACE, 1, [(number, made[chunk.text]) for number, chunk in chunks])
        assert await store.vectors.outdated(WORKSPACE, 1, 10) == ([], 0)
        assert (await other.term_counts(WORKSPACE, ["old", "young", "seen", "wrong"])).holding == (0, 1, 0, 0)
        proposed = await ask(other, "young")
        assert [(one.length, one.counts) for one in proposed.found] == [(1, (0,)), (2, (1,)), (0, (0,))]
        assert await restore(store, hidden.memory_id)
        assert (await other.term_counts(WORKSPACE, ["seen"])).holding == (1,)
        assert (await store.vectors.outdated("elsewhere", 1, 10))[1] == 1
        assert await problems(store) == []

    async def test_a_store_without_any_vector_can_be_searched(self, store: Any) -> None:
        parts = replace(sample_chunk("one two", 0, 3), vector=None), replace(sample_chunk("one two", 4), vector=None)
        await put(store, sample_memory("one two", *parts))
        assert await words_and_cosines(store, "two") == (1, [False], 2)
        assert await refill(store, EMBEDDER, limit=1) == [2, 1, 0]
        assert await best_by_vector(store, "two") == "two"

    async def test_the_embedder_of_a_workspace_may_be_settled_later(self, store: Any, other: Any) -> None:
        await put(store, sample_memory("early bird", replace(sample_chunk("early bird"), vector=None), embedder=None))
        assert await other.embedder(WORKSPACE) is None
        assert await words_and_cosines(other, "early") == (1, [False], 1)
        assert await refill(store, EMBEDDER) == [1, 0]
        await store.vectors.switch(WORKSPACE, EMBEDDER)
        assert await other.embedder(WORKSPACE) == EMBEDDER
        assert await best_by_vector(other, "early bird") == "early bird"
        await put(store, sample_memory("late bird", replace(sample_chunk("late bird"), vector=None), embedder=None))
        assert await words_and_cosines(other, "bird") == (2, [True, False], 1)
        assert await refill(store, EMBEDDER) == [1, 0]
        assert await best_by_vector(other, "late bird") == "late bird"
        assert await problems(store) == []

    async def test_the_next_memory_with_an_embedder_settles_it_too(self, store: Any, other: Any) -> None:
        await put(store, sample_memory("early bird", replace(sample_chunk("early bird"), vector=None), embedder=None))
        assert await words_and_cosines(other, "early") == (1, [False], 1)
        await add(store, "late bird")
        assert await words_and_cosines(other, "bird") == (2, [False, True], 1)
        assert await other.embedder(WORKSPACE) == EMBEDDER

    async def test_the_weight_of_an_embedder_is_recorded(self, store: Any, other: Any) -> None:
        await add(store, "first")
        assert await store.vectors.weight(WORKSPACE, EMBEDDER) is None
        weight = VectorWeight(1.12, cyrillic=False)
        await store.vectors.record_weight(WORKSPACE, EMBEDDER, weight)
        assert await other.vectors.weight(WORKSPACE, EMBEDDER) == weight
        assert await other.vectors.weight(WORKSPACE, ANOTHER) is None
        await refill(store, ANOTHER)
        await store.vectors.record_weight(WORKSPACE, ANOTHER, VectorWeight(0.0))
        await store.vectors.switch(WORKSPACE, ANOTHER)
        assert await other.vectors.weight(WORKSPACE, ANOTHER) == VectorWeight(0.0)
        assert await problems(store) == []


async def refill(store: Any, embedder: EmbedderIdentity, limit: int = 100) -> list[int]:
    """Give every chunk a vector by this embedder; returns how many there were to go before each step."""
    totals = []
    while True:
        chunks, total = await store.vectors.pending(WORKSPACE, embedder, limit)
        totals.append(total)
        if not chunks:
            return totals
        vectors = [(number, sample_vector(chunk.text, embedder.dimension)) for number, chunk in chunks]
        await store.vectors.fill(WORKSPACE, embedder, vectors)


async def words_and_cosines(store: Any, text: str) -> tuple[int, list[bool], int]:
    """The number of chunks that hold a word, the proposed ones with a cosine, and the number without a vector."""
    proposed = await ask(store, text)
    (holding,) = (await store.term_counts(WORKSPACE, [text])).holding
    return holding, [one.cosine is not None for one in proposed.found], proposed.without_vector


async def best_by_vector(store: Any, text: str, embedder: EmbedderIdentity = EMBEDDER) -> str:
    """The text of the chunk that is nearest by the vectors of an embedder, which must serve."""
    vector = sample_vector(text, embedder.dimension)
    proposed = await ask(store, "", vector=vector, embedder=embedder)
    best = max(proposed.found, key=lambda one: one.cosine or -1)
    found: str = (await store.chunks(WORKSPACE, [best.chunk]))[0].text
    return found
