"""Memories are ranked by score, then age, then id."""

import numpy as np
import pytest

from zapomni_core.errors import ProcessingError


async def _say(engine, talk, *turns):
    """Turns of a conversation, a minute apart: author and text."""
    return [
        (
            await engine.add_memory(
                text, {"author": author, "conversation": talk, "timestamp": f"2024-05-08T10:{minute:02}:00+00:00"}
            )
        ).memory_id
        for minute, (author, text) in enumerate(turns)
    ]


async def _order(engine, limit):
    """The ids of equal texts in their order: they are one hit."""
    (hit,) = (await engine.search_memory("gate code", limit)).hits
    return [hit.memory_id, *hit.copies]


async def test_of_equal_hits_the_newest_comes_first(engine):
    ids = {
        hour: (await engine.add_memory("The gate code is 4417.", {"timestamp": f"2024-05-08T{hour}:00:00"})).memory_id
        for hour in (11, 13, 12)
    }
    assert await _order(engine, 10) == [ids[13], ids[12], ids[11]]


async def test_equal_texts_are_ordered_by_age_whatever_the_last_digit_of_their_cosines(engine, embedder, monkeypatch):
    async def embed(texts, **_):
        vectors = [np.random.default_rng(list(text.encode())).standard_normal(512) for text in texts]
        return np.stack([vector / np.linalg.norm(vector) for vector in vectors]).astype(np.float32)

    monkeypatch.setattr(embedder, "embed", embed)
    ids = [
        (await engine.add_memory("The gate code is 4417.", {"timestamp": f"2024-05-08T10:{number:02}:00"})).memory_id
        for number in range(17)
    ]
    assert await _order(engine, 17) == ids[::-1]


async def test_of_equally_old_equal_hits_the_least_id_comes_first(engine):
    for number in range(6):
        await engine.add_memory("The gate code is 4417.", {"timestamp": "2024-05-08", "number": number})
    found = await _order(engine, 10)
    assert found == sorted(found)
    assert len(found) == 6


async def test_the_newest_of_many_equal_memories_are_candidates(engine, embedder):
    added = [(await engine.add_memory("The gate code is 4417.", {"number": number})).memory_id for number in range(130)]
    assert await _order(engine, 3) == added[:-7:-1]
    embedder.failure = ProcessingError("broken")
    assert await _order(engine, 3) == added[:-7:-1]


async def test_the_same_question_gives_the_same_answer(engine):
    for number in range(40):
        await engine.add_memory(f"Note {number % 7} of the gate, the code and the {number % 3} keys", {"n": number})
    first = await engine.search_memory("gate code keys", 20)
    assert (await engine.search_memory("gate code keys", 20)).hits == first.hits


async def test_a_memory_is_one_hit_by_its_best_chunk(engine):
    filler = " ".join(f"Sentence {number} talks of nothing in particular at all." for number in range(120))
    added = await engine.add_memory(f"{filler} The gate code is 4417. {filler}")
    assert added.chunks_created > 3
    await engine.add_memory("Ada likes her tea black.")
    hits = (await engine.search_memory("what is the gate code?")).hits
    assert [hit.memory_id for hit in hits] == [added.memory_id]
    assert "The gate code is 4417." in hits[0].text
    assert len(hits[0].text) < len(filler)


@pytest.mark.parametrize("asked", ["ann", "ANN", "Ann Smith", "Smith's"])
async def test_who_is_named_in_the_question_is_preferred(engine, asked):
    for author in ("Anna", "Ann Smith", "Annie"):
        await engine.add_memory("The tea was black.", {"author": author, "timestamp": "2024-05-08"})
    hits = (await engine.search_memory(f"what did {asked} drink")).hits
    assert [hit.author for hit in hits if "author" in hit.why] == ["Ann Smith"]
    assert hits[0].author == "Ann Smith"


async def test_the_turn_that_answers_is_found_by_the_turns_around_it(engine):
    await _say(engine, "a", ("Ada", "Which day shall we go camping?"), ("Ben", "The first."), ("Ada", "Fine with me."))
    await _say(engine, "b", ("Cy", "Where is the shredder?"), ("Dee", "The second."), ("Cy", "Thanks a lot."))
    hits = (await engine.search_memory("camping day", 3)).hits
    assert {hit.conversation for hit in hits} == {"a"}


async def test_a_deleted_turn_is_no_hole_between_its_neighbours(engine, embedder):
    embedder.failure = ProcessingError("broken")
    turns = [("Ada", "camping"), ("Ben", "one"), ("Ben", "two"), ("Ben", "three")]
    ids = await _say(engine, "a", *turns)
    assert [hit.text for hit in (await engine.search_memory("camping")).hits] == ["camping", "one", "two"]
    await engine.delete_memory(ids[1])
    assert [hit.text for hit in (await engine.search_memory("camping")).hits] == ["camping", "two", "three"]


async def test_without_a_conversation_there_are_no_neighbours(engine, embedder):
    embedder.failure = ProcessingError("broken")
    for text in ("camping", "one", "two"):
        await engine.add_memory(text, {"author": "Ada"})
    assert [hit.text for hit in (await engine.search_memory("camping")).hits] == ["camping"]
