from uuid import uuid4

import pytest

from zapomni_core.testing import text_of

SESSION = "5f6c3a52-0000-4000-8000-000000000001"


async def test_a_history_returns_messages_verbatim_oldest_first(ask):
    session = (await ask("create_session", user_id="ada", metadata={"channel": "chat"}))["session_id"]
    messages = [("user", "Where do herons nest?\n"), ("assistant", "In trees."), ("system", "In trees.")]
    stored = [await ask("store_message", session_id=session, role=role, content=text) for role, text in messages]
    record = await ask("get_conversation_history", session_id=session)
    assert [(one["role"], one["content"]) for one in record["messages"]] == messages
    assert [one["message_id"] for one in record["messages"]] == [one["message_id"] for one in stored]
    assert (record["count"], record["session_id"]) == (3, session)


async def test_the_first_message_with_a_new_id_creates_the_session_and_keeps_metadata(ask):
    await ask("store_message", session_id=SESSION.upper(), role="user", content="Hi", metadata={"tokens": [1, None]})
    record = await ask("get_conversation_history", session_id=SESSION)
    assert (record["session_id"], record["messages"][0]["metadata"]) == (SESSION, {"tokens": [1, None]})


async def test_a_limited_history_has_the_last_messages(ask):
    for number in range(4):
        await ask("store_message", session_id=SESSION, role="user", content=f"message {number}")
    record = await ask("get_conversation_history", session_id=SESSION, limit=2)
    assert [one["content"] for one in record["messages"]] == ["message 2", "message 3"]


async def test_an_unknown_session_has_no_messages(ask):
    record = await ask("get_conversation_history", session_id=str(uuid4()))
    assert (record["count"], record["messages"]) == (0, [])


async def test_the_text_of_a_history_has_one_line_per_message(app, ask):
    for role, text in (("user", "Where do herons nest?"), ("assistant", "In trees.")):
        await ask("store_message", session_id=SESSION, role=role, content=text)
    text = text_of(await app.call("get_conversation_history", {"session_id": SESSION}))
    headline, first, second = text.splitlines()
    assert headline == f"2 messages of session {SESSION}:"
    assert (first.partition(" ")[0], first.endswith("): Where do herons nest?")) == ("user", True)
    assert (second.partition(" ")[0], second.endswith("): In trees.")) == ("assistant", True)


async def test_a_history_that_reaches_the_limit_says_that_there_may_be_more(app, ask):
    for number in range(3):
        await ask("store_message", session_id=SESSION, role="user", content=f"message {number}")
    lines = text_of(await app.call("get_conversation_history", {"session_id": SESSION, "limit": 2})).splitlines()
    assert lines[0] == f"The last 2 messages of session {SESSION}; there may be earlier ones, beyond the limit:"


async def test_a_long_message_is_shortened_with_a_reference_to_the_rest(app, ask):
    stored = await ask("store_message", session_id=SESSION, role="user", content="a" * 9000)
    result = await app.call("get_conversation_history", {"session_id": SESSION})
    (message,) = result["structuredContent"]["messages"]
    assert (message["content"], message["total_chars"]) == ("a" * 8000, 9000)
    assert f"[1,000 more characters: get_memory {stored['message_id']}]" in text_of(result)


async def test_a_message_is_stored_as_a_memory_of_its_session(app, ask):
    stored = await ask("store_message", session_id=SESSION, role="user", content="The kingfisher is back.")
    found = await app.app.engine.search_memory("kingfisher", filters={"kind": "message", "conversation": SESSION})
    assert [hit.memory_id for hit in found.hits] == [stored["message_id"]] == [stored["episode_id"]]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("create_session", {"user_id": "ada", "metadata": None}),
        ("get_conversation_history", {"session_id": SESSION, "limit": None}),
        ("semantic_search", {"query": "x", "query_embedding": None, "top_k": None, "metadata_filters": None}),
        ("temporal_query", {"start_date": "2026-01-01", "end_date": "2026-01-02", "limit": None}),
    ],
    ids=["session", "history", "search", "time"],
)
async def test_null_arguments_are_treated_as_omitted(ask, tool, arguments):
    assert (await ask(tool, **arguments))["status"] == "success"


@pytest.mark.parametrize(
    ("tool", "arguments", "rule"),
    [
        ("create_session", {"user_id": " "}, "user_id cannot be empty"),
        ("store_message", {"session_id": "x", "role": "user", "content": "Hi"}, "session_id must be a UUID"),
        (
            "store_message",
            {"session_id": SESSION, "role": "robot", "content": "Hi"},
            "role must be one of user, assistant, system",
        ),
        (
            "store_message",
            {"session_id": SESSION, "role": "user", "content": " "},
            "content cannot be empty or whitespace-only",
        ),
        ("get_conversation_history", {"session_id": SESSION, "limit": 0}, "limit must be at least 1"),
        ("get_conversation_history", {"session_id": "x"}, "session_id must be a UUID"),
    ],
    ids=["user_id", "session_id", "role", "content", "limit", "session_id of history"],
)
async def test_an_invalid_argument_is_named_with_its_rule(problem, tool, arguments, rule):
    assert await problem(tool, **arguments) == rule
