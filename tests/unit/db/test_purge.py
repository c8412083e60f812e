"""Purged content is in none of the files."""

import asyncio
import random
from collections import Counter
from contextlib import closing, contextmanager

import apsw
import pytest

from zapomni_core.testing.samples import delete, purge_deleted, put, sample_chunk, sample_memory
from zapomni_db.errors import StoreUnavailableError
from zapomni_db.sqlite import SQLiteStore, purge
from zapomni_db.sqlite import store as store_module


def traces(path, secret):
    """How often each file of the store holds the secret, in any encoding."""
    ways = (secret.encode(), secret.upper().encode(), secret.encode("utf-16-le"))
    counted = Counter()
    for file in path.parent.iterdir():
        counted[file.name] = sum(file.read_bytes().count(way) for way in ways)
    return +counted


def secretive(number, chance):
    words = [
        f"zqsecret{number}" if chance.random() < 0.5 else f"word{chance.randrange(500)}"
        for _ in range(chance.choice([3, 30, 900]))
    ]
    text = " ".join(words)
    half = len(words[0])
    return sample_memory(
        text,
        sample_chunk(text, 0, half, heading=f"zqsecret heading {number}", terms=("zqsecret", f"zqsecret{number}")),
        sample_chunk(text, half, terms=tuple(words)),
        metadata={"zqsecret": f"zqsecret value {number}", "nested": {"zqsecret": number}},
        tags=(f"zqsecret tag {number}",),
        source=f"zqsecret source {number}",
        author=f"zqsecret author {number}",
        conversation=f"zqsecret talk {number}",
    )


@pytest.mark.parametrize("seed", range(3))
async def test_purging_leaves_no_trace_in_the_files(store, path, seed):
    chance = random.Random(seed)
    secrets = []
    for number in range(80):
        if number % 4 == 0:
            secrets.append((await put(store, secretive(number, chance), "default")).memory_id)
        else:
            text = " ".join(f"word{chance.randrange(500)}" for _ in range(chance.choice([3, 30, 900])))
            await put(store, sample_memory(text), "default")
    for memory_id in secrets:
        await delete(store, memory_id, "default")
    assert traces(path, "zqsecret")
    assert await purge_deleted(store) == 20
    assert traces(path, "zqsecret") == {}
    assert await store.check() == []
    assert (await store.stats("default")).memories == 60


async def test_an_interrupted_sweep_is_completed_later(store, path):
    added = await put(store, sample_memory("zqsecret"), "default")
    await delete(store, added.memory_id, "default")
    await store._threads.write(lambda connection: purge.purge(connection, "default", [added.memory_id]))
    assert traces(path, "zqsecret")
    await store.close()
    again = SQLiteStore(path)
    assert await again.purge("default", []) == 0
    assert traces(path, "zqsecret") == {}
    await again.close()


async def test_a_memory_deleted_before_its_replacement_was_purged_counts_from_its_own_deletion(store):
    old = (await put(store, sample_memory("old"), "default")).memory_id
    new = (await put(store, sample_memory("new", replaces=old), "default")).memory_id
    deleted = [await delete(store, memory_id, "default") for memory_id in (old, new)]
    assert await store.purge("default", [new]) == 1
    assert (await store.get("default", old)).deleted_at == deleted[0].deleted_at


@contextmanager
def reader_open(path):
    """Another connection with a read transaction that stays open until the end."""
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute("BEGIN; SELECT count(*) FROM memory").fetchall()
        yield lambda: connection.execute("COMMIT")


async def test_a_purge_continues_until_no_reader_sees_the_old_file(store, path):
    added = await put(store, sample_memory("zqsecret"), "default")
    await delete(store, added.memory_id, "default")
    with reader_open(path) as end:
        purging = asyncio.create_task(store.purge("default", [added.memory_id]))
        await put(store, sample_memory("others go on"), "default")
        assert not (await asyncio.wait([purging], timeout=0.5))[0]
        end()
        assert await purging == 1
    assert traces(path, "zqsecret") == {}


async def test_a_purge_that_cannot_finish_reports_remaining_traces(store, path, monkeypatch):
    monkeypatch.setattr(store_module, "SWEEP_SECONDS", 0.3)
    added = await put(store, sample_memory("zqsecret"), "default")
    await delete(store, added.memory_id, "default")
    with reader_open(path), pytest.raises(StoreUnavailableError, match="traces"):
        await store.purge("default", [added.memory_id])
    assert await store.purge("default", []) == 0
    assert traces(path, "zqsecret") == {}
