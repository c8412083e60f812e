"""A server that is in use removes what was deleted long ago; others leave it."""

import asyncio
import time

import pytest

from zapomni_core import tidying
from zapomni_core.engine import MemoryEngine
from zapomni_core.testing.embedder import HashingEmbedder
from zapomni_db.errors import StoreUnavailableError
from zapomni_db.sqlite import SQLiteStore


class Watched(SQLiteStore):
    """Tells of every purge that is over; fails in the first ones, if it shall."""

    def __init__(self, path, failures=0):
        super().__init__(path)
        self.purges = asyncio.Queue()
        self.failures = failures

    async def purge(self, workspace, **options):
        self.failures -= 1
        if self.failures >= 0:
            self.purges.put_nowait("failed")
            raise StoreUnavailableError("not now")
        removed = await super().purge(workspace, **options)
        self.purges.put_nowait((workspace, removed, options["thorough"]))
        return removed


@pytest.fixture
def at_once(monkeypatch):
    """No time passes before the first tidying, and what was deleted is old at once."""
    monkeypatch.setattr(tidying, "FIRST_SECONDS", 0)
    monkeypatch.setattr(tidying, "KEEP_DELETED_DAYS", -1)
    monkeypatch.setattr(tidying.deleted_before, "__defaults__", (-1,))


@pytest.fixture
async def make_engine(tmp_path):
    engines = []

    def make(**options):
        engines.append(MemoryEngine(store=Watched(tmp_path / "memory.db", **options), embedder=HashingEmbedder()))
        return engines[-1]

    yield make
    for engine in engines:
        await engine.close()


async def deleted(engine):
    memory_id = (await engine.add_memory("word")).memory_id
    await engine.delete_memory(memory_id)
    return memory_id


async def test_what_was_deleted_long_ago_is_removed_in_every_workspace(make_engine, at_once):
    engine = make_engine()
    for workspace in ("default", "other"):
        await deleted(engine.in_workspace(workspace))
    await engine.add_memory("kept")
    engine.serve_jobs()
    await engine.get_stats()
    store = engine.memories
    assert [await store.purges.get(), await store.purges.get()] == [("default", 1, False), ("other", 1, False)]
    assert (await engine.get_stats()).total_memories == 1


async def test_what_was_deleted_lately_stays(make_engine, monkeypatch):
    monkeypatch.setattr(tidying, "FIRST_SECONDS", 0)
    engine = make_engine()
    memory_id = await deleted(engine)
    engine.serve_jobs()
    await engine.get_stats()
    assert await engine.memories.purges.get() == ("default", 0, False)
    assert (await engine.restore_memory(memory_id)).text == "word"


async def test_a_store_that_fails_is_tidied_another_day(make_engine, at_once, monkeypatch):
    monkeypatch.setattr(tidying, "DAY_SECONDS", 0.001)
    engine = make_engine(failures=1)
    await deleted(engine)
    engine.serve_jobs()
    await engine.get_stats()
    assert await engine.memories.purges.get() == "failed"
    assert await engine.memories.purges.get() == ("default", 1, False)


async def test_who_is_no_server_or_does_not_use_its_store_tidies_nothing(make_engine, at_once, tmp_path):
    command, idle = make_engine(), make_engine()
    await deleted(command)
    await command.get_stats()
    idle.serve_jobs()
    await asyncio.sleep(0.01)
    assert command.memories.purges.empty()
    assert "tidying" not in {task.get_name() for task in asyncio.all_tasks()}


async def test_what_was_deleted_by_a_clock_that_was_ahead_can_be_purged_at_once(tmp_path, monkeypatch):
    engine = MemoryEngine(store=SQLiteStore(tmp_path / "memory.db"), embedder=HashingEmbedder())
    with monkeypatch.context() as patch:
        ahead = time.time_ns() + 5 * 3600 * 10**9
        patch.setattr("zapomni_db.sqlite.hiding.time.time_ns", lambda: ahead)
        memory_id = await deleted(engine)
    assert await engine.purge(days=0, memory_ids=[memory_id]) == 1
    await engine.close()
