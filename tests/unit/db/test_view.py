"""A store that follows the writes of others finds the same as a newly opened one."""

import asyncio
import random
from datetime import UTC, datetime, timedelta

import apsw
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zapomni_core.testing.samples import ask, delete, put, restore, sample_chunk, sample_memory, searchable
from zapomni_db.sqlite import SQLiteStore
from zapomni_db.sqlite.view import neighbours_of

DAY = datetime(2023, 5, 8, tzinfo=UTC)


async def everything(store):
    """All candidates of a store with their details."""
    proposed = await ask(store, "even odd", workspace="here", by_terms=1000, by_vector=1000)
    return proposed, await store.chunks("here", [one.chunk for one in proposed.found])


def random_memory(chance, number, replaces):
    text = f"{number} {'odd' if number % 2 else 'even'} tail"
    chunks = [sample_chunk(text, 0, len(text) - 5), sample_chunk(text, len(text) - 4)][: chance.randint(1, 2)]
    return sample_memory(
        text,
        *chunks,
        conversation=chance.choice(["", "talk", "chat"]),
        timestamp=chance.choice([None, DAY + timedelta(days=chance.randint(0, 5))]),
        replaces=replaces,
    )


@pytest.mark.parametrize("seed", range(3))
async def test_whatever_happens_a_store_that_followed_proposes_what_a_new_one_does(tmp_path, seed):
    chance = random.Random(seed)
    writing, following = SQLiteStore(tmp_path / "memory.db"), SQLiteStore(tmp_path / "memory.db")
    live, deleted = [], []
    for number in range(60):
        action = chance.choice(["add", "add", "add", "add elsewhere", "replace", "delete", "restore", "purge", "look"])
        if action == "add" or (action == "replace" and not live):
            live.append((await put(writing, random_memory(chance, number, None), "here")).memory_id)
        elif action == "add elsewhere":
            await put(writing, random_memory(chance, number, None), "elsewhere")
        elif action == "replace":
            old = live.pop(chance.randrange(len(live)))
            live.append((await put(writing, random_memory(chance, number, old), "here")).memory_id)
        elif action == "delete" and live:
            deleted.append(live.pop(chance.randrange(len(live))))
            assert await delete(writing, deleted[-1], "here")
        elif action == "restore" and deleted:
            live.append(deleted.pop(chance.randrange(len(deleted))))
            assert await restore(writing, live[-1], "here")
        elif action == "purge" and deleted:
            assert await writing.purge("here", [deleted.pop()]) == 1
        elif action == "look":
            await following.term_counts("here", ["even"])
        new = SQLiteStore(tmp_path / "memory.db")
        assert await everything(following) == await everything(new)
        await new.close()
    assert await following.check() == []
    await writing.close()
    await following.close()


async def test_every_answer_is_of_one_moment_while_others_write(tmp_path):
    """Two reading threads share what is in memory; each answer must be whole."""
    store = SQLiteStore(tmp_path / "memory.db")

    async def look():
        proposed = await ask(store, "common", workspace="here", by_terms=1000, by_vector=1000)
        assert [one.counts for one in proposed.found] == [(1,)] * proposed.matching
        assert None not in [one.cosine for one in proposed.found]
        return proposed.matching

    async def write():
        for number in range(100):
            added = await put(store, sample_memory(f"common {number}"), "here")
            if number % 10 == 0:
                await delete(store, added.memory_id, "here")

    async def read():
        for _ in range(50):
            await look()

    await asyncio.gather(write(), *(read() for _ in range(4)))
    assert await look() == 90
    await store.close()


@pytest.mark.parametrize("held", range(3))
async def test_memories_added_and_removed_between_reads_change_nothing(tmp_path, held):
    store = SQLiteStore(tmp_path / "memory.db")
    for number in range(held):
        await put(store, sample_memory(f"memory {number}"), "here")
    before = await searchable(store, "here")
    gone = await put(store, sample_memory("a typo"), "here")
    await delete(store, gone.memory_id, "here")
    assert await searchable(store, "here") == before
    await store.close()


async def test_a_search_takes_as_few_statements_among_many_memories_as_among_few(tmp_path, monkeypatch):
    statements = []
    hook = lambda connection: connection.set_exec_trace(lambda _, statement, __: statements.append(statement) or True)  # noqa: E731
    monkeypatch.setattr(apsw, "connection_hooks", [*apsw.connection_hooks, hook])
    store = SQLiteStore(tmp_path / "memory.db")
    for count in (5, 200):
        new = [sample_memory(f"common {number}", conversation="talk", key="") for number in range(count)]
        await store.add("here", new)
        await everything(store)
        statements.clear()
        await everything(store)
        assert 0 < len(statements) <= 20, statements
    await store.close()


NOBODY = np.empty((0, 4), np.int64)
memories = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), max_size=30)


def arrays(listed):
    both = np.array(listed, np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def expected(listed):
    rows = []
    for place, (_, talk) in enumerate(listed):
        same = sorted((moment, other) for other, (moment, its) in enumerate(listed) if its == talk and talk)
        at = same.index((listed[place][0], place)) if talk else 0
        around = [at - 2, at - 1, at + 1, at + 2]
        rows.append([same[index][1] if 0 <= index < len(same) else -1 for index in around])
    return rows


@given(memories)
def test_neighbours_are_the_two_before_and_after_by_moment_then_place(listed):
    assert neighbours_of(NOBODY, *arrays(listed)).tolist() == expected(listed)


@given(memories, memories)
def test_linking_what_came_later_is_the_same_as_linking_all(first, later):
    before = neighbours_of(NOBODY, *arrays(first))
    moments, conversations = arrays(first + later)
    after = neighbours_of(before, moments, conversations, conversations[len(first) :])
    assert after.tolist() == expected(first + later)
