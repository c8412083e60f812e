"""A store costs nothing until it is used, and leaves nothing when it is closed."""

import asyncio
import gc
import os
import subprocess
import sys
import threading
import weakref
from pathlib import Path

import pytest

from zapomni_core.testing.samples import put, sample_memory
from zapomni_db.errors import StoreDamagedError, StoreUnavailableError
from zapomni_db.sqlite import SQLiteStore


def open_files():
    """The targets of the file descriptors of this process."""
    return {str(one.resolve()) for one in Path("/proc/self/fd").iterdir()}


def store_threads():
    """The threads of stores, without those of other libraries."""
    return [thread for thread in threading.enumerate() if thread.name in ("zapomni-reader", "zapomni-writer")]


async def test_building_a_store_opens_nothing_and_starts_nothing(path):
    before = store_threads()
    await SQLiteStore(path).close()
    assert store_threads() == before
    assert not path.parent.exists()


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="looks into /proc")
async def test_closing_leaves_no_thread_and_no_descriptor(path):
    before = store_threads()
    store = SQLiteStore(path)
    await asyncio.gather(*(put(store, sample_memory(f"m {n}"), "default") for n in range(5)))
    await asyncio.gather(*(store.stats("default") for _ in range(5)))
    assert len(store_threads()) == len(before) + 3
    assert any(str(path) in name for name in open_files())
    await store.close()
    assert store_threads() == before
    assert not any(str(path.parent) in name for name in open_files())
    assert {file.name for file in path.parent.iterdir()} == {"memory.db", "memory.db.lock"}


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="looks into /proc")
async def test_a_store_that_cannot_be_opened_leaves_no_descriptor(store, path):
    path.parent.mkdir()
    path.write_bytes(b"no database " * 1000)
    with pytest.raises(StoreDamagedError) as kept:
        await store.stats("default")
    assert not any(str(path.parent) in name for name in open_files()), kept


async def test_using_a_closed_store_raises(store):
    await store.stats("default")
    await store.close()
    await store.close()
    for attempt in (store.stats("default"), put(store, sample_memory("text"), "default")):
        with pytest.raises(StoreUnavailableError, match="closed"):
            await attempt


def test_a_store_serves_one_event_loop_after_another(path):
    store = SQLiteStore(path)
    added = asyncio.run(put(store, sample_memory("text"), "default"))
    memory = asyncio.run(store.get("default", added.memory_id))
    asyncio.run(store.close())
    assert memory.text == "text"


def test_threads_do_not_keep_the_process_alive(path):
    program = f"""
import asyncio, pathlib
from zapomni_core.testing.samples import sample_memory
from zapomni_db.sqlite import SQLiteStore
store = SQLiteStore(pathlib.Path({str(path)!r}))
print(asyncio.run(store.add("default", [sample_memory("text")]))[0].outcome)
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout) == (0, "stored\n"), ended.stderr


def test_the_records_load_neither_numpy_nor_the_driver():
    imports = "import sys, zapomni_db.records, zapomni_db.filters, zapomni_db.errors"
    program = imports + "; print({'numpy', 'apsw'} & set(sys.modules))"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout == "set()\n"


async def test_a_store_that_was_opened_before_a_fork_is_refused(store, monkeypatch):
    await store.stats("default")
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(StoreUnavailableError, match="fork"):
        await store.stats("default")
    monkeypatch.undo()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_a_store_that_was_open_at_a_fork_is_refused_in_the_child(path):
    program = f"""
import asyncio, os, pathlib
from zapomni_core.testing.samples import sample_memory
from zapomni_db.sqlite import SQLiteStore
path = pathlib.Path({str(path)!r})
store = SQLiteStore(path)
asyncio.run(store.add("default", [sample_memory("text")]))
if child := os.fork():
    os.waitpid(child, 0)
else:
    for one in (store, SQLiteStore(path)):
        try:
            asyncio.run(one.stats("default"))
        except Exception as error:
            print(type(error).__name__, "spawn" in str(error), flush=True)
    asyncio.run(store.close())
    os._exit(0)
print(asyncio.run(store.stats("default")).memories)
"""
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.stdout.split("\n")[:3] == ["StoreUnavailableError True"] * 2 + ["1"], ended.stderr


async def test_a_closed_store_is_not_locked(path):
    """Nor by the event loop, which looks now and then for those who wait too long to write."""
    store = SQLiteStore(path)
    await put(store, sample_memory("text"), "default")
    await store.term_counts("default", ["text"])
    held = [weakref.ref(part) for part in (store._threads, store._threads.open(), store._views)]
    await store.close()
    del store
    gc.collect()
    assert [part() for part in held] == [None, None, None]
