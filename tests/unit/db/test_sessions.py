"""Sessions in SQLite: order with a clock that goes back, damage, and many documents."""

import asyncio
from contextlib import closing
from datetime import UTC, datetime
from uuid import uuid4

import apsw
import numpy as np
import pytest

from tests.unit.db.test_purge import traces
from zapomni_core.testing.samples import delete, purge_deleted, put, sample_chunk, sample_memory
from zapomni_core.testing.store_contracts.sessions import NO_FILTER, history, near, say, write
from zapomni_core.testing.store_contracts.vectors import ANOTHER, refill
from zapomni_db.errors import InvalidInputError
from zapomni_db.filters import Filter
from zapomni_db.sqlite import documents, filter_index

LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)
DAMAGE = {
    "a message of no session": ("DELETE FROM session", "messages belong to no session"),
    "a message of no memory": ("INSERT INTO message VALUES(99, 1, 'user')", "messages belong to no memory"),
    "a changed vector": ("UPDATE document_vector SET value = zeroblob(length(value))", "vectors or codes are not"),
    "a vector of no memory": (
        "INSERT INTO document_vector SELECT 99, dimension, value, length, crc FROM document_vector",
        "vectors of documents belong to no memory",
    ),
}


def execute(path, statement):
    with closing(apsw.Connection(str(path))) as connection:
        return connection.execute(statement).fetchall()


@pytest.mark.parametrize(("statement", "sentence"), DAMAGE.values(), ids=DAMAGE)
async def test_damage_is_detected(store, path, statement, sentence):
    await say(store, "said")
    await write(store, "written", [1.0, -1.0])
    assert await store.check() == []
    execute(path, statement)
    found = await store.check()
    assert any(sentence in each for each in found), found


async def test_messages_keep_their_order_when_the_clock_goes_back(store, monkeypatch):
    for text, seconds in (("first", 5), ("second", 3), ("third", 9)):
        monkeypatch.setattr("time.time_ns", lambda seconds=seconds: seconds * 10**9)
        await say(store, text)
    assert [(one.text, one.created_at.timestamp()) for one in await history(store)] == [
        ("first", 5),
        ("second", 5),
        ("third", 9),
    ]


async def test_purging_leaves_no_trace_of_messages_and_vectors(store, path):
    secret = "zqsecre!"  # as two numbers, neither is too large
    chunk = sample_chunk(f"{secret} text", terms=(secret,))
    memory = sample_memory(f"{secret} text", chunk, metadata={secret: secret}, key="")
    message = await store.sessions.add_message("default", "talk", secret, memory)
    own = np.frombuffer(secret.encode(), np.float32)
    document = await store.sessions.add_document("default", memory, own)
    for number in range(20):
        await say(store, f"filler {number}")
    for added in (message, document):
        await delete(store, added.memory_id, "default")
    await purge_deleted(store)
    await store.close()
    assert not traces(path, secret)


PLANS = {
    "by time": (
        f"{documents._SELECT + documents._BETWEEN} workspace = ? AND {filter_index.HOLDING}{documents._NEWEST_FIRST}",
        ["m USING INDEX memory_documents (workspace=? AND created_at>? AND created_at<?)"],
    ),
    "by nearness": (
        f"{documents._VECTORS} workspace = ? AND {filter_index.HOLDING}",
        ["m USING INDEX memory_documents (workspace=?)"],
    ),
}


@pytest.mark.parametrize(("statement", "indexes"), PLANS.values(), ids=PLANS)
async def test_filters_are_answered_by_an_index(store, path, statement, indexes):
    await write(store, "written", metadata={"category": "birds"})
    with closing(apsw.Connection(str(path))) as connection:
        bound = (None,) * statement.count("?")
        plan = [row[-1] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", bound)]
    assert [step for step in plan if step.startswith("SEARCH filter_entry USING PRIMARY KEY (digest=?")]
    assert not [step for step in plan if step in ("SCAN filter_entry", "SCAN m")]
    assert all(f"SEARCH {index}" in plan for index in indexes)


@pytest.fixture
async def many(store):
    """More documents of two kinds than one block of the comparison holds, and their vectors."""
    vectors = np.random.default_rng(11).standard_normal((500, 256)).astype(np.float32)
    adding = (
        store.sessions.add_document(
            "default",
            sample_memory(f"d{number}", sample_chunk(f"d{number}", vector=None), metadata={"third": number % 3 == 0}),
            vector,
        )
        for number, vector in enumerate(vectors)
    )
    await asyncio.gather(*adding)
    return vectors


async def test_the_nearest_of_many_documents_are_found(store, many):
    asked = np.random.default_rng(12).standard_normal((10, 256)).astype(np.float32)
    cosines = asked @ (many / np.linalg.norm(many, axis=1, keepdims=True)).T
    expected = [[f"d{number}" for number in np.argsort(-row)[:10]] for row in cosines]
    found = [await near(store, vector) for vector in asked]
    assert found == expected


async def test_a_filter_narrows_many_documents_before_the_cut(store, many):
    vector = np.random.default_rng(13).standard_normal(256).astype(np.float32)
    wanted = Filter(metadata={"third": (True,)})
    thirds = np.arange(0, len(many), 3)
    cosines = many[thirds] @ vector / np.linalg.norm(many[thirds], axis=1)
    assert await near(store, vector, 25, wanted) == [f"d{number}" for number in thirds[np.argsort(-cosines)[:25]]]


async def test_the_requested_number_of_documents_is_returned(store, many):
    found = await store.sessions.nearest_documents("default", many[7], len(many) + 1, NO_FILTER)
    assert len(found) == len(many)
    assert found[0][0].text == "d7"


async def test_other_sessions_do_not_matter(store):
    await write(store, "here", [1.0, 0.0])
    assert await near(store, [1.0, 0.0]) == ["here"]
    await put(store, sample_memory("there"), "elsewhere")
    assert await near(store, [1.0, 0.0]) == ["here"]
    assert await near(store, [1.0, 0.0], wanted=Filter(date_from=LONG_AGO), workspace="elsewhere") == []


async def test_replacing_text_vectors_keeps_the_vectors_of_callers(store):
    await write(store, "here", [1.0, 0.0])
    assert await near(store, [1.0, 0.0]) == ["here"]
    await refill(store, ANOTHER)
    await store.vectors.switch("default", ANOTHER)
    assert await near(store, [1.0, 0.0]) == ["here"]
    assert await store.check() == []


def said(store, session, text, role="user"):
    return store.sessions.add_message("default", session, role, sample_memory(text, key=""))


async def test_messages_of_many_sessions_at_once_have_their_order_in_each(store):
    sessions = [str(uuid4()) for _ in range(3)]
    await asyncio.gather(*(said(store, sessions[number % 3], f"m {number}") for number in range(30)))
    for place, session in enumerate(sessions):
        found = await store.sessions.history("default", session, 100)
        assert [one.text for one in found] == [f"m {number}" for number in range(place, 30, 3)]
        assert sorted(one.created_at for one in found) == [one.created_at for one in found]
        assert (await store.sessions.session("default", session)).updated_at == found[-1].created_at
    assert await store.check() == []


@pytest.mark.parametrize(("text", "role"), [("bad \ud800", "user"), ("bad role", "\ud800")])
async def test_an_invalid_message_among_valid_ones_fails_alone_and_uses_no_position(store, text, role):
    session = str(uuid4())
    calls = [said(store, session, "first"), said(store, session, text, role), said(store, session, "second")]
    first, bad, second = await asyncio.gather(*calls, return_exceptions=True)
    assert (first.outcome, second.outcome) == ("stored", "stored")
    assert isinstance(bad, InvalidInputError)
    assert [one.text for one in await store.sessions.history("default", session, 10)] == ["first", "second"]
    assert await store.check() == []


async def test_documents_messages_and_memories_are_committed_together(store, monkeypatch):
    await store.stats("default")
    session, notes = str(uuid4()), []
    monkeypatch.setattr(store._threads.open().lock, "write_note", notes.append)
    await asyncio.gather(
        said(store, session, "said"),
        store.sessions.add_document("default", sample_memory("kept", key=""), [1.0, 0.0]),
        put(store, sample_memory("remembered"), "default"),
        said(store, session, "said again"),
    )
    assert len(notes) == 1
    assert (await store.stats("default")).memories == 4
    assert await store.check() == []
