"""The closer look at the best hits: what it changes, and when it is not taken."""

import numpy as np
import pytest
from zapomni_core.search.alignment import agreement, align
from zapomni_core.search.ranking import Ranked

from zapomni_core.embedding import Profile
from zapomni_core.engine import MemoryEngine
from zapomni_core.testing.embedder import HashingEmbedder
from zapomni_db.sqlite import SQLiteStore

FACTS = ["alpha one", "beta two", "gamma three", "delta four"]


class Close(HashingEmbedder):
    """To which all texts are the same from afar, and close by only `nearest` is like any question."""

    def __init__(self, nearest, profile=None):
        super().__init__(64, profile)
        self.nearest = nearest
        self.looked_at = []
        self.failure = None

    async def embed(self, texts, *, query=False, on_batch=None):
        return await super().embed(["same"] * len(texts), query=query, on_batch=on_batch)

    async def fragments(self, texts):
        if self.failure:
            raise self.failure
        self.looked_at += texts
        first, second = np.eye(2, dtype=np.float32)
        return [
            first[None] if number == 0 or self.nearest in text else second[None] for number, text in enumerate(texts)
        ]


async def _search(tmp_path, embedder, query, facts=FACTS, **asked):
    engine = MemoryEngine(store=SQLiteStore(tmp_path / "memory.db"), embedder=embedder)
    try:
        for fact in facts:
            await engine.add_memory(fact)
        return await engine.search_memory(query, **asked)
    finally:
        await engine.close()


async def test_the_hit_that_agrees_with_the_question_comes_first(tmp_path):
    embedder = Close("beta")
    result = await _search(tmp_path, embedder, "what is this")
    assert result.hits[0].text == "beta two"
    assert [hit.similarity_score for hit in result.hits] == sorted(
        (h.similarity_score for h in result.hits), reverse=True
    )
    assert result.hits[0].similarity_score == pytest.approx(result.confidence)
    assert sorted(hit.text for hit in result.hits) == sorted(FACTS)
    assert not result.degraded


@pytest.mark.parametrize(("count", "looked_at"), [(1, 0), (2, 2)])
async def test_it_is_taken_where_there_is_something_to_choose(tmp_path, count, looked_at):
    embedder = Close("alpha")
    result = await _search(tmp_path, embedder, "what is this", facts=FACTS[:count])
    assert result.hits[0].text == "alpha one"
    assert len(embedder.looked_at[1:]) == looked_at


async def test_it_looks_beyond_what_was_asked_for(tmp_path):
    result = await _search(tmp_path, Close("alpha"), "what is this", limit=1)
    assert [hit.text for hit in result.hits] == ["alpha one"]


async def test_words_that_cover_the_question_need_no_closer_look(tmp_path):
    embedder = Close("beta")
    result = await _search(tmp_path, embedder, "gamma three")
    assert result.hits[0].text == "gamma three"
    assert embedder.looked_at == []


async def test_no_more_is_looked_at_than_the_profile_allows_and_the_rest_follows(tmp_path):
    embedder = Close("alpha", Profile(aligned_tokens=1))
    result = await _search(tmp_path, embedder, "what is this")
    assert len(embedder.looked_at) == 4  # the question, and three hits at the least
    assert result.hits[-1].text == "alpha one"  # the oldest of four equal ones
    assert len(result.hits) == 4


@pytest.mark.parametrize("failure", [RuntimeError("secret"), ConnectionError("secret")])
async def test_a_closer_look_that_fails_leaves_the_order_as_it_was(tmp_path, failure):
    embedder = Close("alpha")
    embedder.failure = failure
    result = await _search(tmp_path, embedder, "what is this")
    assert [hit.text for hit in result.hits] == FACTS[::-1]  # equal hits: newest first


async def test_an_embedder_without_fragments_is_asked_for_none(tmp_path):
    class Far(HashingEmbedder):
        async def embed(self, texts, *, query=False, on_batch=None):
            return await super().embed(["same"] * len(texts), query=query, on_batch=on_batch)

    result = await _search(tmp_path, Far(64), "what is this")
    assert [hit.text for hit in result.hits] == FACTS[::-1]


class Alike(HashingEmbedder):
    """To which all texts are the same close by, too."""

    async def fragments(self, texts):
        return [np.eye(2, dtype=np.float32)[:1]] * len(texts)


async def _aligned(tmp_path, *, words, cosines):
    """The order of four hits that only differ in what words and vectors tell, and their scores."""
    hits = (await _search(tmp_path, HashingEmbedder(64), "one two three four")).hits
    count = len(hits)
    cosines = np.array(cosines)
    near, nobody = np.nan_to_num(cosines), np.zeros(count, dtype=bool)
    ranked = Ranked(np.arange(count), np.zeros(count), cosines, np.array(words), near, nobody)
    return await align(Alike(64), "one two three four", hits, ranked)


async def test_what_words_tell_counts_half_as_much_as_a_cosine(tmp_path):
    aligned = await _aligned(tmp_path, words=[0.0, 0.1, 0.28, 0.3], cosines=[0.5, 0.4, 0.3, 0.34])
    assert aligned.order.tolist() == [0, 3, 1, 2]
    assert aligned.scores == pytest.approx(np.exp(np.array([0, -0.01, -0.05, -0.06]) / Profile().cosine_scale))


async def test_a_hit_without_a_vector_is_taken_for_the_farthest(tmp_path):
    aligned = await _aligned(tmp_path, words=[0.1, 0.0, 0.0, 0.0], cosines=[np.nan, 0.4, 0.2, 0.3])
    assert aligned.order.tolist() == [1, 3, 0, 2]
    assert np.isfinite(aligned.scores).all()


def test_a_run_that_all_texts_hold_alike_says_nothing():
    asked = np.eye(3, dtype=np.float32)[:2]
    both, one = np.eye(3, dtype=np.float32)[:2], np.eye(3, dtype=np.float32)[:1]
    agreed = agreement(asked, [both, one])
    assert agreed[0] > agreed[1]
    assert agreement(asked[:1], [both, one]) == pytest.approx([0, 0])
