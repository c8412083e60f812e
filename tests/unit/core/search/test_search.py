"""A search answers any question and embeds only its less common words."""

import asyncio
import itertools

import numpy as np
import pytest

from zapomni_core.embedding import Profile
from zapomni_core.errors import ProcessingError
from zapomni_core.memory.content import LONGEST_QUERY
from zapomni_core.search import search
from zapomni_core.testing.samples import EMBEDDER, put, sample_chunk, sample_memory, sample_vector
from zapomni_db.errors import InvalidInputError
from zapomni_db.filters import Filter


async def _add(engine, texts, **metadata):
    return [(await engine.add_memory(text, metadata)).memory_id for text in texts]


async def test_an_empty_store_finds_nothing_and_loads_no_embedder(engine, embedder):
    result = await engine.search_memory("anything at all")
    assert (result.hits, result.confidence, result.verdict) == ((), 0.0, "nothing relevant")
    assert (result.memories_searched, result.filtered, result.degraded) == (0, False, None)
    assert embedder.questions == []


async def test_a_memory_with_the_answer_is_found(engine):
    await _add(engine, ["The gate code is 4417.", "Ada likes her tea black.", "The bins go out on Friday."])
    result = await engine.search_memory("what is the code of the gate?")
    assert result.hits[0].text == "The gate code is 4417."
    assert (result.workspace, result.memories_searched) == ("default", 3)


@pytest.mark.parametrize(
    "query",
    ["the is of and", "?!… ---", "🫨", "👨‍👩‍👧 🇺🇦", "数据库", "ключ", "مفتاح", "กุญแจ", "x" * LONGEST_QUERY, "a " * 499 + "a", '"*" AND ('],
)  # fmt: skip
async def test_any_question_gets_an_answer(engine, query):
    await _add(engine, ["The gate code is 4417.", "Ключ под ковриком.", "数据库在二楼。"])
    result = await engine.search_memory(query)
    assert 1 <= len(result.hits) <= 3
    assert 0 <= result.confidence <= 1
    assert all(0 <= hit.similarity_score <= 1 for hit in result.hits)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("ключи", "Ключ под ковриком."),
        ("数据库", "数据库在二楼。"),
        ("κλειδί", "Το κλειδί είναι εδώ."),
        ("مفتاح", "مفتاح الباب هنا"),
    ],
)
async def test_words_of_any_script_are_found_without_vectors(engine, embedder, query, text):
    await _add(engine, ["The gate code is 4417.", text])
    embedder.failure = ProcessingError("broken")
    result = await engine.search_memory(query)
    assert [hit.text for hit in result.hits] == [text]


@pytest.mark.parametrize("query", ["the is of and", "?!… ---"])
async def test_a_question_without_words_finds_nothing_without_vectors(engine, embedder, query):
    await _add(engine, ["The gate code is 4417."])
    embedder.failure = ProcessingError("broken")
    result = await engine.search_memory(query)
    assert (result.hits, result.verdict) == ((), "nothing relevant")


async def test_an_embedder_that_fails_leaves_the_words_and_the_answer_says_so(engine, embedder):
    await _add(engine, ["The gate code is 4417.", "Ada likes her tea black."])
    embedder.failure = ProcessingError("the model is gone")
    result = await engine.search_memory("gate code")
    assert [hit.text for hit in result.hits] == ["The gate code is 4417."]
    assert result.hits[0].why == ("gate", "code")
    assert result.degraded == "Only words were searched, not meaning: the model is gone."


async def test_an_embedder_that_never_answers_is_not_waited_for(engine, embedder, monkeypatch):
    await _add(engine, ["The gate code is 4417.", "Ada likes her tea black."])
    monkeypatch.setattr(search, "EMBEDDING_SECONDS", 0.01)
    monkeypatch.setattr(embedder, "embed", lambda *_, **__: asyncio.Event().wait())
    async with asyncio.timeout(10):
        result = await engine.search_memory("gate code")
    assert [hit.text for hit in result.hits] == ["The gate code is 4417."]
    assert result.degraded == (
        "Only words were searched, not meaning: The embedder 'hashing' took longer than 0.01 seconds."
    )


@pytest.mark.parametrize("failure", [ConnectionError("https://user:secret@host refused"), KeyError("x"), OSError()])
async def test_an_embedder_may_fail_in_any_way(engine, embedder, failure):
    await _add(engine, ["The gate code is 4417.", "Ada likes her tea black."])
    embedder.failure = failure
    result = await engine.search_memory("gate code")
    assert [hit.text for hit in result.hits] == ["The gate code is 4417."]
    assert f"The embedder 'hashing' failed ({type(failure).__name__})" in result.degraded
    assert "secret" not in result.degraded


async def test_a_failure_of_the_search_itself_is_raised(engine, monkeypatch):
    async def broken(*_):
        raise KeyError("a mistake of ours")

    await _add(engine, ["The gate code is 4417."])
    monkeypatch.setattr(engine.memories, "candidates", broken)
    with pytest.raises(KeyError):
        await engine.search_memory("gate code")


@pytest.mark.parametrize(
    "filters", [{"tags": []}, {"date_from": "yesterday"}, {"source": 5}, {"mine": {"a": []}}, {"mine": {"$gt": 1}}]
)
async def test_a_filter_of_unknown_shape_is_refused(engine, filters):
    with pytest.raises(InvalidInputError, match=r"filters\."):
        await engine.search_memory("gate", filters=filters)


async def test_a_filter_that_matches_nothing_finds_nothing(engine):
    await _add(engine, ["The gate code is 4417."])
    result = await engine.search_memory("gate code", filters={"tags": ["none"]})
    assert (result.hits, result.memories_searched, result.filtered) == ((), 0, True)


async def test_deleted_and_replaced_memories_are_not_found(engine):
    old, gone = await _add(engine, ["The gate code is 4417.", "The gate code is secret."])
    await engine.delete_memory(gone)
    await engine.add_memory("The gate code is 9021.", replaces=old)
    result = await engine.search_memory("gate code")
    assert [hit.text for hit in result.hits] == ["The gate code is 9021."]


@pytest.mark.parametrize("question", ["who ordered 48213?", "what is E40217"])
async def test_the_vector_is_not_asked_for_where_an_identifier_is_known(engine, embedder, question):
    await _add(engine, ["The parcel of order 48213 is at the depot.", "E40217 means that the disk is full."])
    result = await engine.search_memory(question)
    assert (embedder.questions, result.degraded) == ([], None)
    assert "meaning" not in result.hits[0].why
    await engine.search_memory("who ordered 99999?")
    assert embedder.questions == ["who ordered 99999?"]


async def test_one_long_document_does_not_crowd_out_other_memories(tmp_path, make_store):
    """The document fills both legs, so the search asks the store for more."""
    store = make_store(tmp_path)
    await put(store, long_document())
    for number in range(9):
        await put(store, sample_memory(f"heron a{number} b{number} c{number} d{number}"))
    result = await search.search(store, Samples(), "default", search.SearchRequest(query="heron"))
    assert len({hit.memory_id for hit in result.hits}) == 10
    await store.close()


async def test_a_long_document_that_alone_meets_the_filter_is_proposed_once(tmp_path, make_store, monkeypatch):
    store, asked = make_store(tmp_path), []
    await put(store, long_document(tags=("book",)))
    await put(store, sample_memory("heron"))
    candidates = store.candidates

    async def counted(workspace, question):
        asked.append(question.by_terms)
        return await candidates(workspace, question)

    monkeypatch.setattr(store, "candidates", counted)
    request = search.SearchRequest(query="heron", wanted=Filter(tags=("book",)))
    assert len((await search.search(store, Samples(), "default", request)).hits) == 1
    assert asked == [100]
    await store.close()


def long_document(**fields):
    """A memory of 500 chunks."""
    words = [f"heron w{number} " for number in range(500)]
    text = "".join(words)
    places = itertools.accumulate(map(len, words), initial=0)
    chunks = [sample_chunk(text, start, start + len(word)) for start, word in zip(places, words, strict=False)]
    return sample_memory(text, *chunks, **fields)


class Samples:
    """The embedder of the samples."""

    identity, profile = EMBEDDER, Profile(vector_weight=0.75)

    async def embed(self, texts, *, query=False):
        return np.stack([sample_vector(text) for text in texts])


class TestPruning:
    """The vector is made of the question without the words that are common here."""

    @staticmethod
    async def _asked(engine, embedder, query, common, others):
        """The embedded part of a question in a store where some texts are common."""
        await _add(engine, [f"{common} number{count}" for count in range(10)])
        await _add(engine, [f"filler{count}" for count in range(others)])
        await engine.search_memory(query)
        return embedder.questions[0]

    async def test_common_words_are_left_out(self, engine, embedder):
        asked = await self._asked(engine, embedder, "which heron port is open?", "heron", 40)
        assert asked == "which port is open"

    @pytest.mark.parametrize(("others", "asked"), [(56, "port open"), (57, "heron port open")])
    async def test_words_are_common_above_fifteen_of_a_hundred(self, engine, embedder, others, asked):
        assert await self._asked(engine, embedder, "heron port open", "heron", others) == asked

    async def test_a_store_of_less_than_fifty_chunks_has_no_common_words(self, engine, embedder):
        assert await self._asked(engine, embedder, "heron port open", "heron", 39) == "heron port open"

    async def test_at_least_two_telling_words_remain(self, engine, embedder):
        assert await self._asked(engine, embedder, "what is the heron port?", "heron", 40) == "what is the heron port?"

    async def test_an_identifier_is_not_common_because_a_part_of_it_is(self, engine, embedder):
        asked = await self._asked(engine, embedder, "get_user_name heron returns", "heron name", 40)
        assert asked == "get_user_name returns"

    async def test_a_run_of_han_is_not_common_because_two_of_its_characters_are(self, engine, embedder):
        asked = await self._asked(engine, embedder, "heron 数据库在哪里 port", "heron 数据", 40)
        assert asked == "数据库在哪里 port"
