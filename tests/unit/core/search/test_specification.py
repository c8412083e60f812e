"""On random stores, the search gives the same results as its specification in plain Python."""

import math
import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from zapomni_core.embedding import Profile
from zapomni_core.errors import ProcessingError
from zapomni_core.search import answer
from zapomni_core.search.search import SearchRequest, search
from zapomni_core.testing.embedder import HashingEmbedder
from zapomni_core.testing.samples import delete, put
from zapomni_core.text.terms import query_terms, terms
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
AUTHORS = ["", "Ada", "Ada Lovelace", "adamant"]
DAY = datetime(2024, 1, 1, tzinfo=UTC)


NEIGHBOURS = {-2: 0.2, -1: 0.4, 1: 0.4, 2: 0.2}


@dataclass(frozen=True)
class Kept:
    """A live memory: the terms of its chunks, and their vectors."""

    id: str
    chunks: tuple[tuple[str, ...], ...]
    vectors: tuple[np.ndarray, ...]
    moment: datetime
    author: str
    conversation: str
    tagged: bool


class Mute(HashingEmbedder):
    """An embedder that can embed texts, but no questions."""

    async def embed(self, texts, *, query=False, on_batch=None):
        raise ProcessingError("no questions today")


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
            text=text, metadata={"n": number}, chunks=chunks, embedder=embedder.identity, author=author, conversation=talk, timestamp=moment, tags=tags
        )  # fmt: skip
        added = await put(store, memory, "default")
        if dice.random() < 0.15:
            await delete(store, added.memory_id, "default")
            continue
        parts = tuple(one.terms for one in chunks)
        vectors = tuple(one.vector.astype(np.float16).astype(float) for one in chunks)
        live.append(Kept(added.memory_id, parts, vectors, moment, author, talk, bool(tags)))
    return live


def _expected(live, query, vector, profile):
    """The scores of the memories, the best cover and the best cosine among the five best, by the specification."""
    chunks = [one for kept in live for one in kept.chunks]
    asked = list(query_terms(query))
    holding = [sum(term in chunk for chunk in chunks) for term in asked]
    weights = [math.log(1 + (len(chunks) - n + 0.5) / (n + 0.5)) for n in holding]
    soft = _soft(live, asked)
    covers = {
        (kept.id, part): sum(w * 1.6 * s / (s + 0.6) for w, s in zip(weights, soft[kept.id, part], strict=True))
        / (sum(weights) or 1)
        for kept in live
        for part in range(len(kept.chunks))
    }
    cover = min(1, max(covers.values()))
    cosines = {
        (kept.id, part): 0.0 if vector is None else float(one @ vector / np.linalg.norm(one))
        for kept in live
        for part, one in enumerate(kept.vectors)
    }
    scores, best = {}, {}
    for kept in live:
        named = set(kept.author.lower().split()) & set(query.lower().split())
        for part in range(len(kept.chunks)):
            key = kept.id, part
            total = covers[key] * min(1, cover / 0.6) + profile.vector_weight * cosines[key]
            total += profile.author_bonus * bool(named)
            if total > scores.get(kept.id, -math.inf):
                scores[kept.id], best[kept.id] = total, key
    first = sorted(scores, key=scores.get, reverse=True)[:5]
    return scores, min(1, max(covers[best[one]] for one in first)), max(cosines[best[one]] for one in first)


def _soft(live, asked):
    """How often a chunk has each term, with what the memories beside it lend it."""
    beside = {}
    for talk in ("a", "b"):
        turns = [kept for kept in live if kept.conversation == talk]
        turns.sort(key=lambda kept: kept.moment)
        for place, kept in enumerate(turns):
            beside[kept.id] = [
                (weight, turns[place + offset])
                for offset, weight in NEIGHBOURS.items()
                if 0 <= place + offset < len(turns)
            ]
    return {
        (kept.id, part): [
            chunk.count(term)
            + sum(
                weight * other.count(term) * min(1, 15 / max(1, len(other)))
                for weight, neighbour in beside.get(kept.id, [])
                for other in neighbour.chunks
            )
            for term in asked
        ]
        for kept in live
        for part, chunk in enumerate(kept.chunks)
    }


@pytest.fixture(autouse=True)
def _all_hits(monkeypatch):
    monkeypatch.setattr(answer, "HITS_OF_NOTHING", 100)


async def _compare(store, embedder, live, query, *, vectors=True):
    vector = (await embedder.embed([query], query=True))[0].astype(float) if vectors else None
    scores, cover, cosine = _expected(live, query, vector, embedder.profile)
    asked = embedder if vectors else Mute(64)
    result = await search(store, asked, "default", SearchRequest(query=query, limit=100))
    if vectors:
        bias, of_cover, of_cosine, of_size = embedder.profile.confidence
        size = sum(len(kept.chunks) for kept in live)
        sure = 1 / (1 + math.exp(-(bias + of_cover * cover + of_cosine * cosine + of_size * math.log(size))))
        assert result.confidence == pytest.approx(sure, abs=1e-4)
    top = max(scores.values())
    for hit in result.hits:
        assert hit.similarity_score == pytest.approx(result.confidence * scores[hit.memory_id] / top, abs=1e-4)
    found = {one for hit in result.hits for one in (hit.memory_id, *hit.copies)}
    assert {one for one, score in scores.items() if score > 0.201 * top} <= found
    assert {one for one, score in scores.items() if score < 0.199 * top}.isdisjoint(found)
    return result


@pytest.mark.parametrize("seed", range(6))
async def test_a_store_is_searched_as_specified(store, seed):
    dice, embedder = random.Random(seed), HashingEmbedder(64)
    live = await _fill(store, dice, embedder, 20)
    for _ in range(8):
        await _compare(store, embedder, live, _text(dice, 5) + dice.choice(["", " ada", " lovelace"]))


@pytest.mark.parametrize("seed", range(3))
async def test_words_alone_are_ranked_as_specified(store, seed):
    dice, embedder = random.Random(seed), HashingEmbedder(64)
    live = await _fill(store, dice, embedder, 40)
    for _ in range(8):
        result = await _compare(store, embedder, live, _text(dice, 5), vectors=False)
        assert result.degraded


async def test_a_filter_loses_none_of_the_memories_that_meet_it(store, monkeypatch):
    monkeypatch.setattr(answer, "LEAST_SHARE", -1e9)
    dice, embedder = random.Random(9), HashingEmbedder(64)
    live = await _fill(store, dice, embedder, 130)
    tagged = {kept.id for kept in live if kept.tagged}
    assert 40 < len(tagged) <= 100
    request = SearchRequest(query="amber basil", limit=100, wanted=Filter(tags=("x",)))
    result = await search(store, embedder, "default", request)
    assert {one for hit in result.hits for one in (hit.memory_id, *hit.copies)} == tagged
    assert result.memories_searched == len(tagged)


async def test_the_profile_of_the_embedder_decides_the_weights(store):
    dice = random.Random(10)
    embedder = HashingEmbedder(64, Profile(vector_weight=0.1, author_bonus=0.9, confidence=(-1.0, 1.0, 2.0, 0.1)))
    live = await _fill(store, dice, embedder, 12)
    await _compare(store, embedder, live, "amber cedar maple ada")
