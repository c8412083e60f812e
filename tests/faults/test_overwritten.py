"""A file that is copied over the store, as by `cp`, is refused; `restore-backup` is the way out."""

import shutil

import pytest

from zapomni_core.memory.engine import MemoryEngine
from zapomni_core.settings import Settings
from zapomni_core.testing.embedder import HashingEmbedder
from zapomni_db.errors import StoreReplacedError, StoreUnavailableError


@pytest.fixture
def path(tmp_path):
    return tmp_path / "memory.db"


@pytest.fixture
async def make_engine(path):
    engines = []

    def make():
        engines.append(MemoryEngine(Settings(store=f"sqlite://{path}"), embedder=HashingEmbedder()))
        return engines[-1]

    yield make
    for engine in engines:
        await engine.close()


@pytest.fixture(params=["plain copy", "backup"])
async def earlier(request, make_engine, path, tmp_path):
    """A copy of a store with one memory; the store has three by now."""
    engine, copy = make_engine(), tmp_path / "earlier.db"
    await engine.add_memory("before")
    if request.param == "backup":
        await engine.backup(copy)
    await engine.close()
    if request.param == "plain copy":
        shutil.copyfile(path, copy)
    engine = make_engine()
    await engine.add_memory("after")
    await engine.add_memory("and later")
    await engine.close()
    return copy


async def in_use(engine):
    """An engine that has read and written."""
    await engine.add_memory("in use")
    assert (await engine.search_memory("in use")).memories_searched == 4
    return engine


async def assert_only_a_restored_backup_helps(make_engine, earlier):
    with pytest.raises(StoreUnavailableError, match="zapomni restore-backup"):
        await make_engine().get_stats()
    await make_engine().restore_backup(earlier)
    engine = make_engine()
    assert (await engine.get_stats()).total_memories == 1
    assert (await engine.add_memory("goes on")).outcome == "stored"
    assert await engine.check() == []


async def test_an_open_store_that_is_overwritten_refuses_every_call(make_engine, path, earlier):
    engine = await in_use(make_engine())
    shutil.copyfile(earlier, path)
    for call in (engine.add_memory("lost"), engine.search_memory("before"), engine.get_stats(), engine.add_memory("x")):
        with pytest.raises(StoreReplacedError, match="zapomni restore-backup"):
            await call
    await engine.close()
    assert path.read_bytes() == earlier.read_bytes()
    await assert_only_a_restored_backup_helps(make_engine, earlier)


async def test_closing_an_idle_store_does_not_write_to_a_file_that_replaced_it(make_engine, path, earlier):
    engine = await in_use(make_engine())
    shutil.copyfile(earlier, path)
    await engine.close()
    assert path.read_bytes() == earlier.read_bytes()
    await assert_only_a_restored_backup_helps(make_engine, earlier)


async def test_a_file_that_was_copied_beside_the_wal_of_a_killed_server_is_refused(
    make_engine, path, earlier, tmp_path
):
    engine = await in_use(make_engine())
    left = tmp_path / "left"
    left.mkdir()
    for ending in ("-wal", ".lock"):
        shutil.copyfile(f"{path}{ending}", left / f"memory.db{ending}")
    await engine.close()
    for ending in ("-wal", ".lock"):
        shutil.copyfile(left / f"memory.db{ending}", f"{path}{ending}")
    shutil.copyfile(earlier, path)
    await assert_only_a_restored_backup_helps(make_engine, earlier)


async def test_changes_by_several_servers_are_not_taken_for_an_overwritten_file(make_engine):
    """Each server sees the file change when the other one writes."""
    one, other = make_engine(), make_engine()
    for number in range(30):
        memory_id = (await one.add_memory(f"number {number} " + "word " * 3000)).memory_id
        await other.delete_memory(memory_id)
        if number % 10 == 0:
            assert await other.purge() > 0
        await one.add_memory(f"another {number}")
        assert (await other.get_stats()).total_memories == number + 1
    assert await one.check() == []
