"""The search says how sure it is, and calls a weak answer weak."""

import pytest

from zapomni_core.embedding import Profile
from zapomni_core.errors import ProcessingError
from zapomni_core.search.answer import NOTHING_BELOW, WEAK_BELOW, verdict


@pytest.mark.parametrize(
    ("confidence", "word"),
    [
        (0.0, "nothing relevant"),
        (NOTHING_BELOW - 1e-6, "nothing relevant"),
        (NOTHING_BELOW, "weak"),
        (WEAK_BELOW - 1e-6, "weak"),
        (WEAK_BELOW, "good"),
        (1, "good"),
    ],
)
def test_a_confidence_has_a_word(confidence, word):
    assert verdict(confidence) == word


@pytest.mark.parametrize("vectors", [True, False])
async def test_the_more_of_the_question_a_memory_says_the_surer_is_the_search(engine, embedder, vectors):
    for text in ("gate code", "black tea", "green door"):
        await engine.add_memory(text)
    embedder.failure = None if vectors else ProcessingError("broken")
    whole, half, nothing = [
        (await engine.search_memory(question)).confidence for question in ("gate code", "gate heron", "osprey heron")
    ]
    assert 1 >= whole > half > nothing >= 0


async def test_words_alone_can_be_good_and_can_be_nothing(engine, embedder):
    for text in ("gate code", "black tea", "green door"):
        await engine.add_memory(text)
    embedder.failure = ProcessingError("broken")
    assert (await engine.search_memory("gate code")).verdict == "good"
    assert (await engine.search_memory("osprey heron")).verdict == "nothing relevant"


async def test_an_embedder_without_measured_weights_is_judged_by_words(engine, embedder):
    await engine.add_memory("gate code")
    embedder.profile = Profile(confidence=None)
    with_vectors = (await engine.search_memory("gate heron")).confidence
    embedder.failure = ProcessingError("broken")
    assert (await engine.search_memory("gate heron")).confidence == with_vectors


async def test_what_is_not_there_is_not_relevant_and_few_hits_are_shown(engine):
    for number in range(60):
        await engine.add_memory(f"filler{number} words{number}")
    result = await engine.search_memory("quantum zoology")
    assert result.verdict == "nothing relevant"
    assert len(result.hits) <= 3


async def test_a_filter_does_not_make_the_store_smaller(engine, embedder):
    embedder.profile = Profile(confidence=(0.0, 0.0, 0.0, -0.5))
    await engine.add_memory("gate code", {"source": "house"})
    alone = (await engine.search_memory("gate code")).confidence
    for number in range(20):
        await engine.add_memory(f"filler{number} words{number}")
    among_many = (await engine.search_memory("gate code")).confidence
    filtered = (await engine.search_memory("gate code", filters={"source": "house"})).confidence
    assert filtered == among_many < alone
