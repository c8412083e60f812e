"""The search does the arithmetic of its specification: on random stores it gives what a plain reference gives."""

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from zapomni_core.search.searching import SearchRequest, search

from tests.unit.core.search.reference import Kept, Part, Reference
from zapomni_core.embedding import Profile
from zapomni_core.errors import ProcessingError
from zapomni_core.terms import query_words, terms
from zapomni_core.testing.embedder import HashingEmbedder
from zapomni_core.testing.stores import delete, put
from zapomni_db.filters import Filter
from zapomni_db.records import NewChunk, NewMemory
from zapomni_db.sqlite import SQLiteStore

WORDS = [
    *[
        "amber",
        "basil",
        "cedar",
        "delta",
        "ember",
        "fjord",
        "grove",
        "haven",
        "indigo",
        "jasper",
        "karma",
        "lotus",
        "maple",
        "nectar",
        "opal",
        "pearl",
    ],
    *["дом", "река", "ключ", "数据库", "get_user_name", "v2", "house", "key", "Datenbank", "the", "is"],
]
AUTHORS = ["", "Ada", "Ada Opal", "Борис", "adamant"]
DAY = datetime(2024, 1, 1, tzinfo=UTC)


class Mute(HashingEmbedder):
    """An embedder that can embed texts, but no questions."""

    async def embed(self, texts, *, query=False, on_batch=None):
        raise ProcessingError("no questions today")


class Flat(HashingEmbedder):
    """An embedder to which all texts are the same."""

    async def embed(self, texts, *, query=False, on_batch=None):
        return await super().embed(["same"] * len(texts), query=query)


@pytest.fixture
async def store(tmp_path):
    store = SQLiteStore(tmp_path / "memory.db")
    yield store
    await store.close()


def _text(dice, most=12):
    """Some words; the first of the list come more often, so that some are common."""
    return " ".join(WORDS[min(int(dice.expovariate(0.15)), len(WORDS) - 1)] for _ in range(dice.randint(1, most)))


async def _chunks(dice, embedder):
    texts = [_text(dice) for _ in range(dice.choice([1, 1, 1, 3]))]
    vectors = await embedder.embed(texts)
    start, made = 0, []
    for text, vector in zip(texts, vectors, strict=True):
        end = start + len(text)
        made.append(NewChunk(start=start, end=end, heading="", terms=tuple(terms(text)), vector=vector))
        start = end + 1
    return " ".join(texts), tuple(made)


async def _fill(store, dice, embedder, count):
    """Random memories, some in conversations, some deleted; and the live ones as the reference knows them."""
    live = []
    for number in range(count):
        text, chunks = await _chunks(dice, embedder)
        moment = DAY + timedelta(hours=dice.randrange(20))
        author, talk, tags = dice.choice(AUTHORS), dice.choice(["", "a", "b"]), dice.choice([(), ("x",)])
        memory = NewMemory(
            text=text, metadata={"n": number}, chunks=chunks, author=author, conversation=talk, timestamp=moment, tags=tags
        )  # fmt: skip
        added = await put(store, replace(memory, embedder=embedder.identity), "default")
        if dice.random() < 0.15:
            await delete(store, added.memory_id, "default")
            continue
        parts = tuple(Part(one.terms, tuple(one.vector.astype(np.float16).astype(float).tolist())) for one in chunks)
        live.append((Kept(added.memory_id, parts, moment.timestamp(), author, talk), bool(tags)))
    return live


async def _vector(embedder, text):
    """What is asked, and its words without stop words, joined."""
    telling = " ".join(word.word for word in query_words(text) if word.terms) or text
    joined = (await embedder.embed([text, telling], query=True)).astype(float).sum(axis=0)
    return (joined / np.linalg.norm(joined)).tolist()


async def _compare(store, embedder, live, query, *, limit, filtered=False, vectors=True):
    memories = [Kept(**(vars(kept) | {"wanted": tagged or not filtered})) for kept, tagged in live]
    reference = Reference(memories)
    vector = await _vector(embedder, reference.pruned(query)) if vectors else None
    expected = reference.answer(query, vector, limit)
    wanted = Filter(tags=("x",)) if filtered else Filter()
    result = await search(store, embedder, "default", SearchRequest(query=query, limit=limit, wanted=wanted))
    assert result.confidence == pytest.approx(expected.confidence, abs=1e-4)
    scores = [hit.similarity_score for hit in result.hits]
    assert scores == pytest.approx([score for _, score in expected.hits], abs=1e-4)
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    by_id = dict(expected.hits)
    for hit in result.hits:  # near ties may change places with the last digit, or fall off the end
        least = expected.hits[-1][1]
        assert hit.similarity_score == pytest.approx(by_id.get(hit.memory_id, least), abs=1e-4)
    return result


@pytest.mark.parametrize("seed", range(4))
async def test_a_small_store_is_ranked_as_specified(store, seed):
    dice, embedder = random.Random(seed), HashingEmbedder(64)
    live = await _fill(store, dice, embedder, 20)
    for _ in range(8):
        await _compare(store, embedder, live, _text(dice, 5) + dice.choice(["", " ada", " опал"]), limit=100)


@pytest.mark.parametrize("seed", range(3))
async def test_a_larger_store_is_ranked_as_specified_by_candidates_of_both_legs(store, seed):
    dice, embedder = random.Random(100 + seed), HashingEmbedder(64)
    live = await _fill(store, dice, embedder, 130)
    assert sum(len(kept.parts) for kept, _ in live) > 120
    for _ in range(8):
        query = _text(dice, 7)
        await _compare(store, embedder, live, query, limit=5)
        await _compare(store, embedder, live, query, limit=35)
        await _compare(store, embedder, live, query, limit=5, filtered=True)


async def test_words_alone_are_ranked_as_specified(store):
    dice, embedder = random.Random(7), HashingEmbedder(64)
    live = await _fill(store, dice, embedder, 40)
    mute = Mute(64)
    for _ in range(8):
        result = await _compare(store, mute, live, _text(dice, 5), limit=10, vectors=False)
        assert result.degraded


async def test_vectors_that_are_all_equally_near_say_nothing(store):
    dice, embedder = random.Random(8), Flat(64)
    live = await _fill(store, dice, embedder, 40)
    for _ in range(5):
        await _compare(store, embedder, live, _text(dice, 5), limit=100)


async def test_a_filter_loses_none_of_the_memories_that_meet_it(store):
    dice, embedder = random.Random(9), HashingEmbedder(64)
    live = await _fill(store, dice, embedder, 130)
    tagged = {kept.id for kept, wanted in live if wanted}
    assert 40 < len(tagged) <= 100
    request = SearchRequest(query="amber basil", limit=100, wanted=Filter(tags=("x",)))
    result = await search(store, embedder, "default", request)
    assert {hit.memory_id for hit in result.hits} == tagged
    assert (result.memories_searched, result.memories_in_workspace) == (len(tagged), len(live))


async def test_the_profile_of_the_embedder_decides_the_weights(store):
    dice = random.Random(10)
    only_words = HashingEmbedder(64, Profile(alpha_low=1, alpha_high=1))
    live = await _fill(store, dice, only_words, 30)
    query = "amber cedar maple"
    lex, _ = Reference([kept for kept, _ in live]).lexical(query)
    result = await search(store, only_words, "default", SearchRequest(query=query, limit=1))
    best = max(range(len(lex)), key=lex.__getitem__)
    owners = [kept.id for kept, _ in live for _ in kept.parts]
    assert result.hits[0].memory_id == owners[best]
