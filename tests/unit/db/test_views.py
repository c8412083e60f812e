"""A view that was kept up to date is the same as one that is read anew."""

import asyncio
import random
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from zapomni_core.testing.samples import EMBEDDER, sample_chunk, sample_memory
from zapomni_core.testing.stores import delete, put
from zapomni_db.errors import EmbedderMismatchError
from zapomni_db.sqlite import SQLiteStore

DAY = datetime(2023, 5, 8, tzinfo=UTC)


def everything(snapshot):
    rows = np.arange(snapshot.chunks)
    arrays = (snapshot.lengths, snapshot.places, snapshot.moments, snapshot.neighbours, snapshot.codes)
    postings = [array.tolist() for posting in snapshot.postings(["even", "odd"]).values() for array in posting]
    return [array.tolist() for array in arrays], postings, snapshot.found(rows), snapshot.identifiers(snapshot.places)


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


@pytest.mark.parametrize("seed", range(5))
async def test_whatever_happens_a_view_that_followed_equals_a_new_one(tmp_path, seed):
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
            assert await writing.delete("here", deleted[-1])
        elif action == "restore" and deleted:
            live.append(deleted.pop(chance.randrange(len(deleted))))
            assert await writing.restore("here", live[-1])
        elif action == "purge" and deleted:
            await writing.purge("here", deleted_before=np.inf, memory_ids=[deleted.pop()])
        elif action == "look":
            await following.read("here", lambda snapshot: None)
        new = SQLiteStore(tmp_path / "memory.db")
        assert await following.read("here", everything) == await new.read("here", everything)
        await new.close()
    assert await following.check() == []
    await writing.close()
    await following.close()


async def test_a_snapshot_stays_as_it_was_while_others_write(tmp_path):
    store = SQLiteStore(tmp_path / "memory.db")
    ids = [(await put(store, random_memory(random.Random(n), n, None), "here")).memory_id for n in range(5)]
    snapshots = []

    def hold(snapshot):
        snapshots.append((snapshot, everything(snapshot)))
        return everything(snapshot)

    before = await store.read("here", hold)
    for number in range(5, 10):
        await put(store, random_memory(random.Random(number), number, None), "here")
    await delete(store, ids[0], "here")
    assert await store.read("here", everything) != before
    snapshot, then = snapshots[0]
    arrays = (snapshot.lengths, snapshot.places, snapshot.moments, snapshot.neighbours, snapshot.codes)
    assert [array.tolist() for array in arrays] == then[0]
    await store.close()


async def test_a_question_of_another_dimension_is_refused_by_every_comparison(tmp_path):
    store = SQLiteStore(tmp_path / "memory.db")
    await put(store, sample_memory("text"), "here")
    vector = np.ones(EMBEDDER.dimension + 1, np.float32)
    for compare in (lambda view: view.nearest(vector, 1), lambda view: view.cosines(np.arange(1), vector)):
        with pytest.raises(EmbedderMismatchError, match=rf"have {EMBEDDER.dimension} dimensions, not {len(vector)}"):
            await store.read("here", compare)
    await store.close()


async def test_both_readers_see_what_their_transactions_see(tmp_path):
    """Two reading threads share a view; each answer must be whole."""
    store = SQLiteStore(tmp_path / "memory.db")

    def whole(snapshot):
        rows, _ = snapshot.postings(["common"])["common"]
        assert rows.tolist() == list(range(snapshot.chunks))
        assert len(snapshot.found(rows)) == snapshot.chunks
        assert len(snapshot.cosines(rows, np.ones(EMBEDDER.dimension, np.float32))) == snapshot.chunks
        return snapshot.chunks

    async def write():
        for number in range(100):
            added = await put(store, sample_memory(f"common {number}"), "here")
            if number % 10 == 0:
                await delete(store, added.memory_id, "here")

    async def read():
        for _ in range(50):
            await store.read("here", whole)

    await asyncio.gather(write(), *(read() for _ in range(4)))
    assert await store.read("here", whole) == 90
    await store.close()


async def test_the_vectors_of_a_sample_follow_what_is_added_and_deleted(tmp_path):
    store = SQLiteStore(tmp_path / "memory.db")
    vector = np.eye(EMBEDDER.dimension, dtype=np.float32)[0]

    def sampled(snapshot):
        rows = snapshot.sample(4)
        return snapshot.cosines(rows, vector).tolist(), snapshot.cosines(rows.copy(), vector).tolist()

    ids = []
    for number in range(12):
        ids.append((await put(store, sample_memory(f"memory number {number}"), "work")).memory_id)
        for _ in range(2):
            kept, read = await store.read("work", sampled)
            assert kept == read
    for memory_id in ids[::3]:
        await delete(store, memory_id, "work")
        kept, read = await store.read("work", sampled)
        assert kept == read
    await store.close()


@pytest.mark.parametrize("held", range(3))
async def test_what_came_and_went_unseen_changes_nothing(tmp_path, held):
    def texts(snapshot):
        return [one.text for one in snapshot.found(np.arange(snapshot.chunks))]

    store = SQLiteStore(tmp_path / "memory.db")
    for number in range(held):
        await put(store, sample_memory(f"memory {number}"), "here")
    before = await store.read("here", texts)
    gone = await put(store, sample_memory("a typo"), "here")
    await delete(store, gone.memory_id, "here")
    assert await store.read("here", texts) == before
    await store.close()
