"""Waiting writes are committed together; a write that waits too long or is cancelled has written nothing."""

import asyncio
import fcntl
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial

import apsw
import pytest

from zapomni_core.testing.samples import WORKSPACE, put, sample_memory, searchable
from zapomni_db.errors import InvalidInputError, StoreFullError, StoreUnavailableError
from zapomni_db.sqlite import SQLiteStore
from zapomni_db.sqlite.add import add


@contextmanager
def lock_held(path):
    """Hold the write lock as another process would."""
    descriptor = os.open(f"{path}.lock", os.O_RDWR)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        yield
    finally:
        os.close(descriptor)


@pytest.fixture
async def opened(store):
    """The store with one memory, so its file and tables exist."""
    await put(store, sample_memory("first"), "default")
    return store


async def submit(*calls):
    """Start calls and let each reach the point where it waits."""
    tasks = [asyncio.ensure_future(call) for call in calls]
    await asyncio.sleep(0)
    return tasks


async def test_an_invalid_memory_among_valid_ones_fails_alone(opened, path):
    texts = ["good 1", "bad \ud800", "good 2"]
    with lock_held(path):
        tasks = await submit(*(put(opened, sample_memory(text), "default") for text in texts))
    first, bad, second = await asyncio.gather(*tasks, return_exceptions=True)
    assert (first.outcome, second.outcome) == ("stored", "stored")
    assert isinstance(bad, InvalidInputError)
    assert await searchable(opened) == ["first", "good 1", "good 2"]


async def test_exclusive_work_has_a_transaction_of_its_own(opened, path):
    seen = []

    def note_transaction(connection):
        seen.append(connection.in_transaction)

    calls = [put(opened, sample_memory(text), "default") for text in ("before", "behind")]
    with lock_held(path):
        tasks = await submit(calls[0], opened._threads.write(note_transaction, alone=True), calls[1])
    async with asyncio.timeout(30):
        before, _, behind = await asyncio.gather(*tasks)
    assert (before.outcome, behind.outcome) == ("stored", "stored")
    assert seen == [False]
    assert await searchable(opened) == ["first", "before", "behind"]


async def test_waiting_writes_are_committed_together(opened, path):
    seen = []

    def note_transaction(connection):
        seen.append(connection.txn_state("main"))
        return connection.execute("SELECT count(*) FROM memory").get

    with lock_held(path):
        calls = [put(opened, sample_memory(f"m {n}"), "default") for n in range(3)]
        tasks = await submit(calls[0], opened._threads.write(note_transaction), calls[1], calls[2])
    assert (await asyncio.gather(*tasks))[1] == 2, "it saw a memory that was written but not yet committed"
    assert seen == [apsw.SQLITE_TXN_WRITE]


async def test_when_sqlite_gives_up_a_whole_transaction_the_others_are_written_without_the_cause(opened, path):
    def use_up_the_disk(connection):
        connection.execute("ROLLBACK")
        raise apsw.FullError("disk full")

    with lock_held(path):
        good = [put(opened, sample_memory(f"good {n}"), "default") for n in range(2)]
        tasks = await submit(good[0], opened._threads.write(use_up_the_disk), good[1])
    first, bad, second = await asyncio.gather(*tasks, return_exceptions=True)
    assert (first.outcome, second.outcome) == ("stored", "stored")
    assert isinstance(bad, StoreFullError)
    assert await searchable(opened) == ["first", "good 0", "good 1"]
    assert await opened.check() == []


async def test_a_write_that_waits_too_long_is_refused_and_writes_nothing(opened, path):
    impatient = SQLiteStore(path, patience=0.05)
    await impatient.stats("default")
    with lock_held(path), pytest.raises(StoreUnavailableError, match="Another process holds"):
        await put(impatient, sample_memory("too late"), "default")
    await put(opened, sample_memory("in time"), "default")
    assert await searchable(opened) == ["first", "in time"]
    await impatient.close()


async def test_every_write_that_waits_too_long_is_refused(opened, path):
    impatient, loop = SQLiteStore(path, patience=0.1), asyncio.get_running_loop()
    await impatient.stats("default")

    async def wait_for_the_lock(begin):
        await begin.wait()
        begun = loop.time()
        with pytest.raises(StoreUnavailableError):
            await put(impatient, sample_memory("too late"), "default")
        return loop.time() - begun

    begins = [asyncio.Event() for _ in range(3)]
    for begin, delay in zip(begins, (0, 0.05, 0.15), strict=True):
        loop.call_later(delay, begin.set)
    with lock_held(path):
        waited = await asyncio.gather(*map(wait_for_the_lock, begins))
    assert min(waited) >= 0.09
    assert await searchable(opened) == ["first"]
    await impatient.close()


async def test_event_loops_of_two_threads_write_into_one_store(opened):
    def elsewhere():
        asyncio.run(put(opened, sample_memory("elsewhere"), "default"))

    await asyncio.gather(
        asyncio.to_thread(elsewhere), *(put(opened, sample_memory(f"m {n}"), "default") for n in range(3))
    )
    assert set(await searchable(opened)) == {"first", "elsewhere", "m 0", "m 1", "m 2"}


async def test_reading_goes_on_while_another_process_writes(opened, path):
    with lock_held(path):
        assert await searchable(opened) == ["first"]
        other = SQLiteStore(path)
        assert await searchable(other) == ["first"]
        await other.close()


async def test_a_write_cancelled_while_it_waits_writes_nothing(opened, path):
    with lock_held(path):
        (task,) = await submit(put(opened, sample_memory("given up"), "default"))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    await put(opened, sample_memory("after"), "default")
    assert await searchable(opened) == ["first", "after"]


def held_up(work):
    """Work that signals when it starts and waits for permission to continue."""
    begun, go_on = threading.Event(), threading.Event()

    def slowly(connection):
        begun.set()
        go_on.wait(30)
        return work(connection)

    return slowly, begun, go_on


async def test_a_write_cancelled_while_it_runs_is_written_completely(opened):
    slowly, begun, go_on = held_up(partial(add, workspace="default", memory=sample_memory("begun")))
    (task,) = await submit(opened._threads.write(slowly))
    await asyncio.to_thread(begun.wait, 30)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    go_on.set()
    await put(opened, sample_memory("after"), "default")
    assert await searchable(opened) == ["first", "begun", "after"]
    assert await opened.check() == []


async def test_a_write_that_has_begun_is_waited_for_without_a_limit(opened, path):
    impatient = SQLiteStore(path, patience=1)
    await put(impatient, sample_memory("second"), "default")
    go_on = threading.Event()
    asyncio.get_running_loop().call_later(1.5, go_on.set)
    assert await impatient._threads.write(lambda _: go_on.wait(30)) is True
    await impatient.close()


async def test_closing_completes_pending_writes(opened, path):
    tasks = await submit(*(put(opened, sample_memory(f"m {n}"), "default") for n in range(20)))
    await opened.close()
    assert {added.outcome for added in await asyncio.gather(*tasks)} == {"stored"}
    again = SQLiteStore(path)
    assert (await again.stats("default")).memories == 21
    await again.close()


async def test_closing_does_not_wait_forever_for_a_hanging_process(opened, path):
    impatient = SQLiteStore(path, patience=0.05)
    await impatient.stats("default")
    with lock_held(path):
        (task,) = await submit(put(impatient, sample_memory("lost"), "default"))
        await impatient.close()
        with pytest.raises(StoreUnavailableError):
            await task
    await put(opened, sample_memory("after"), "default")
    assert await searchable(opened) == ["first", "after"]


THREADS = 4
EACH = 5


def test_event_loops_of_several_threads_open_a_store_once(store):
    before, begin = set(threading.enumerate()), threading.Barrier(THREADS)

    async def add_all(thread):
        for number in range(EACH):
            await put(store, sample_memory(f"{number} of {thread}"))

    def work(thread):
        begin.wait()
        asyncio.run(add_all(thread))

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(work, range(THREADS)))
    begun = [thread.name for thread in threading.enumerate() if thread not in before]
    assert begun.count("zapomni-writer") == 1
    assert asyncio.run(store.stats(WORKSPACE)).memories == THREADS * EACH
    asyncio.run(store.close())
