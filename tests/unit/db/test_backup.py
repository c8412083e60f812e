"""A backup is the whole store, appears when it is complete, and can take the store's place."""

import asyncio
import shutil
import stat

import pytest

from zapomni_core.testing.samples import EMBEDDER, sample_memory
from zapomni_core.testing.stores import searchable
from zapomni_db.errors import StoreUnavailableError
from zapomni_db.sqlite import SQLiteStore


async def test_a_backup_holds_everything_while_others_go_on_writing(store, path, tmp_path):
    await asyncio.gather(*(store.add("default", sample_memory(f"before {n}"), EMBEDDER) for n in range(50)))
    writing = asyncio.gather(*(store.add("default", sample_memory(f"during {n}"), EMBEDDER) for n in range(50)))
    await store.backup(tmp_path / "backup.db")
    await writing
    copy = SQLiteStore(tmp_path / "backup.db")
    assert {f"before {n}" for n in range(50)} <= set(await searchable(copy))
    assert await copy.check() == []
    await copy.close()


async def test_a_backup_is_one_file_for_its_owner_alone(store, tmp_path):
    await store.add("default", sample_memory("text"), EMBEDDER)
    (tmp_path / "backups").mkdir()
    target = tmp_path / "backups" / "backup.db"
    await store.backup(target)
    await store.backup(target)
    assert [file.name for file in target.parent.iterdir()] == ["backup.db"]
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


async def test_a_restored_backup_is_no_damage(store, path, tmp_path):
    await store.add("default", sample_memory("before"), EMBEDDER)
    await store.backup(tmp_path / "backup.db")
    await store.add("default", sample_memory("after"), EMBEDDER)
    await store.close()
    shutil.copy(tmp_path / "backup.db", path)
    restored = SQLiteStore(path)
    assert await searchable(restored) == ["before"]
    await restored.add("default", sample_memory("again"), EMBEDDER)
    assert await restored.check() == []
    await restored.close()


@pytest.mark.parametrize("name", ["memory.db", "memory.db-wal", "memory.db-shm", "memory.db.lock", "../data/memory.db"])
async def test_a_backup_never_overwrites_the_store(store, path, name):
    await store.add("default", sample_memory("text"), EMBEDDER)
    with pytest.raises(StoreUnavailableError, match="itself"):
        await store.backup(path.parent / name)
    assert await searchable(store) == ["text"]


async def test_a_backup_that_cannot_be_written_says_where(store, tmp_path):
    await store.add("default", sample_memory("text"), EMBEDDER)
    with pytest.raises(StoreUnavailableError, match="nowhere"):
        await store.backup(tmp_path / "nowhere" / "backup.db")
    assert await searchable(store) == ["text"]
