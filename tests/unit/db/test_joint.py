"""What is of one kind is done together, in the order that it was asked for."""

import asyncio
from functools import partial
from uuid import uuid4

import pytest

from zapomni_core.testing.samples import put, sample_memory
from zapomni_db.errors import InvalidInputError
from zapomni_db.sqlite.joint import Joint, do


def noting(done, name, _connection, new):
    done.append((name, new))
    return [f"{name} {one}" for one in new]


def test_works_of_one_kind_that_follow_each_other_are_done_together():
    done = []
    first, other = partial(noting, done, "first"), partial(noting, done, "other")
    works = [Joint(first, 1), Joint(first, 2), lambda _connection: "plain", Joint(first, 3), Joint(other, 4)]
    assert do(None, works) == ["first 1", "first 2", "plain", "first 3", "other 4"]
    assert done == [("first", [1, 2]), ("first", [3]), ("other", [4])]


def test_work_that_could_be_done_with_others_can_be_done_alone():
    assert Joint(partial(noting, [], "first"), 1)(None) == "first 1"


def said(store, session, text, role="user"):
    return store.conversations.add_message("default", session, role, sample_memory(text, key=""))


async def test_messages_of_many_sessions_at_once_have_their_order_in_each(store):
    sessions = [str(uuid4()) for _ in range(3)]
    await asyncio.gather(*(said(store, sessions[number % 3], f"m {number}") for number in range(30)))
    for place, session in enumerate(sessions):
        found = await store.conversations.history("default", session, 100)
        assert [one.text for one in found] == [f"m {number}" for number in range(place, 30, 3)]
        assert sorted(one.created_at for one in found) == [one.created_at for one in found]
        assert (await store.conversations.session("default", session)).updated_at == found[-1].created_at
    assert await store.check() == []


@pytest.mark.parametrize(("text", "role"), [("bad \ud800", "user"), ("bad role", "\ud800")])
async def test_a_bad_message_among_good_ones_fails_alone_and_takes_no_place(store, text, role):
    session = str(uuid4())
    calls = [said(store, session, "first"), said(store, session, text, role), said(store, session, "second")]
    first, bad, second = await asyncio.gather(*calls, return_exceptions=True)
    assert (first.outcome, second.outcome) == ("stored", "stored")
    assert isinstance(bad, InvalidInputError)
    assert [one.text for one in await store.conversations.history("default", session, 10)] == ["first", "second"]
    assert await store.check() == []


async def test_documents_messages_and_memories_are_written_in_one_transaction(store, monkeypatch):
    await store.stats("default")
    session, notes = str(uuid4()), []
    monkeypatch.setattr(store._access.open().database, "note", notes.append)
    await asyncio.gather(
        said(store, session, "said"),
        store.conversations.add_document("default", sample_memory("kept", key=""), [1.0, 0.0]),
        put(store, sample_memory("remembered"), "default"),
        said(store, session, "said again"),
    )
    assert len(notes) == 1
    assert (await store.stats("default")).memories == 4
    assert await store.check() == []
