"""The search says how sure it is, and calls a weak answer weak."""

from dataclasses import replace

import pytest
from zapomni_core.search.confidence import luck, verdict

from zapomni_core.embedding import Profile
from zapomni_core.errors import ProcessingError

EVEN = Profile(confidence_bias=-2, confidence_cover=1, confidence_cosine=1, confidence_luck=0, confidence_z=0)


@pytest.mark.parametrize(
    ("confidence", "word"),
    [(0.0, "nothing relevant"), (0.1999, "nothing relevant"), (0.2, "weak"), (0.4999, "weak"), (0.5, "good"), (1, "good")],
)  # fmt: skip
def test_a_confidence_has_a_word(confidence, word):
    assert verdict(confidence) == word


async def test_without_vectors_it_is_the_cover_of_the_words(engine, embedder):
    for text in ("gate code", "black tea", "green door"):
        await engine.add_memory(text)
    embedder.failure = ProcessingError("broken")
    assert (await engine.search_memory("gate code")).confidence == 1
    half = await engine.search_memory("gate heron")
    assert 0.2 < half.confidence < 0.5
    assert half.verdict == "weak"
    assert (await engine.search_memory("osprey heron")).confidence == 0


@pytest.mark.parametrize(("memories", "stands_out"), [(29, False), (30, True)])
async def test_how_far_the_best_stands_out_counts_from_thirty_chunks_on(engine, embedder, memories, stands_out):
    embedder.profile = replace(EVEN, confidence_z=-0.1)
    await engine.add_memory("gate code")
    for number in range(memories - 1):
        await engine.add_memory(f"filler{number} words{number}")
    sure = (await engine.search_memory("gate code")).confidence
    assert (sure < 0.5 - 1e-4) == stands_out
    assert sure == pytest.approx(0.5, abs=0.2)


async def test_nothing_is_compared_with_the_store_if_standing_out_counts_nothing(engine, embedder):
    embedder.profile = EVEN
    await engine.add_memory("gate code")
    for number in range(40):
        await engine.add_memory(f"filler{number} words{number}")
    assert (await engine.search_memory("gate code")).confidence == pytest.approx(0.5, abs=1e-4)


async def test_what_is_not_there_is_not_relevant(engine):
    for number in range(60):
        await engine.add_memory(f"filler{number} words{number}")
    result = await engine.search_memory("quantum zoology")
    assert result.verdict == "nothing relevant"
    assert result.hits


async def test_what_is_found_among_many_is_less_sure_than_among_few(engine, embedder):
    embedder.profile = replace(EVEN, confidence_luck=-0.5)
    await engine.add_memory("gate code", {"source": "house"})
    alone = (await engine.search_memory("gate code")).confidence
    for number in range(20):
        await engine.add_memory(f"filler{number} words{number}")
    among_many = (await engine.search_memory("gate code")).confidence
    filtered = (await engine.search_memory("gate code", filters={"source": "house"})).confidence
    assert among_many < alone == pytest.approx(filtered, abs=1e-4)


def test_chance_grows_slowly_and_is_the_same_for_one_and_two():
    assert luck(1) == luck(2) < luck(100) < luck(100_000) < 5
