"""In a conversation the answer comes before the question that was asked there."""

import pytest

from zapomni_core.errors import ProcessingError


@pytest.fixture(autouse=True)
def _by_words(embedder):
    """The order of words alone can be foretold."""
    embedder.failure = ProcessingError("broken")


async def talk(engine, *texts, conversation="garden", **metadata):
    return [(await engine.add_memory(text, {"conversation": conversation, **metadata})).memory_id for text in texts]


async def found(engine, query, **more):
    return [hit.text for hit in (await engine.search_memory(query, **more)).hits]


@pytest.mark.parametrize(
    "asked",
    ["Is the shredder free in October?", "Is the shredder free in October? 🙂", "Shredder free in October? I have wood.", "shredder 十月有空吗？"],
)  # fmt: skip
async def test_a_reply_comes_before_the_question_it_answers(engine, asked):
    await talk(engine, "Good morning.", asked, "Second half. The first is taken.", "Fine.")
    assert (await found(engine, "shredder October"))[:2] == ["Second half. The first is taken.", asked]


async def test_a_reply_has_the_score_of_the_question_and_says_that_the_conversation_gave_it(engine):
    await talk(engine, "Is the shredder free?", "Second half.")
    reply, question = (await engine.search_memory("shredder")).hits
    assert (reply.text, reply.why) == ("Second half.", ("conversation",))
    assert reply.similarity_score == question.similarity_score == (await engine.search_memory("shredder")).confidence


async def test_a_reply_keeps_its_own_reasons(engine):
    await talk(engine, "Is the shredder free?", "Only the small shredder.")
    reply, _ = (await engine.search_memory("shredder free")).hits
    assert reply.text == "Only the small shredder."
    assert reply.why == ("shredder", "conversation")


async def test_nobody_comes_twice(engine):
    texts = ["Is the shredder free?", "The big shredder or the small shredder?", "The small shredder."]
    await talk(engine, *texts)
    assert sorted(await found(engine, "shredder")) == sorted(texts)


@pytest.mark.parametrize("texts", [["The shredder is free.", "Good."], ["Good.", "Is the shredder free?"]])
async def test_what_asks_nothing_or_was_never_answered_stays_in_front(engine, texts):
    await talk(engine, *texts)
    assert "shredder" in (await found(engine, "shredder"))[0]


async def test_memories_outside_a_conversation_have_no_replies(engine):
    for text in ("Is the shredder free?", "Second half."):
        await engine.add_memory(text)
    await talk(engine, "Third half.", conversation="another")
    assert await found(engine, "shredder") == ["Is the shredder free?"]


async def test_a_filter_and_the_limit_hold_for_replies_too(engine):
    await talk(engine, "Is the shredder free?", author="Nadia")
    await talk(engine, "Second half.", author="Henning")
    assert await found(engine, "shredder", filters={"author": "Nadia"}) == ["Is the shredder free?"]
    assert await found(engine, "shredder", limit=1) == ["Second half."]


async def test_a_deleted_reply_is_not_found(engine):
    _, reply, _ = await talk(engine, "Is the shredder free?", "Second half.", "No, the first.")
    await engine.delete_memory(reply)
    assert (await found(engine, "shredder"))[0] == "No, the first."
