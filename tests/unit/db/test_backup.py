"""A backup holds the whole store, appears only when complete, and can replace the store."""

import asyncio
import os
import shutil
import stat
import sys
from contextlib import closing

import apsw
import pytest

from zapomni_core.testing.samples import put, sample_memory, searchable
from zapomni_db.errors import (
    DatabaseError,
    StoreDamagedError,
    StoreReplacedError,
    StoreTooNewError,
    StoreUnavailableError,
)
from zapomni_db.sqlite import SQLiteStore, schema


async def test_a_backup_holds_everything_while_others_go_on_writing(store, path, tmp_path):
    await asyncio.gather(*(put(store, sample_memory(f"before {n}"), "default") for n in range(50)))
    writing = asyncio.gather(*(put(store, sample_memory(f"during {n}"), "default") for n in range(50)))
    await store.backup(tmp_path / "backup.db")
    await writing
    copy = SQLiteStore(tmp_path / "backup.db")
    assert {f"before {n}" for n in range(50)} <= set(await searchable(copy))
    assert await copy.check() == []
    await copy.close()


async def test_a_backup_is_one_file_that_only_its_owner_can_read(store, tmp_path):
    await put(store, sample_memory("text"), "default")
    (tmp_path / "backups").mkdir()
    target = tmp_path / "backups" / "backup.db"
    await store.backup(target)
    await store.backup(target)
    assert [file.name for file in target.parent.iterdir()] == ["backup.db"]
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def overwrite(path, start, length):
    """Damage part of a file, as a failing disk does."""
    with path.open("r+b") as file:
        file.seek(start)
        file.write(b"\x55" * length)


def spoil_a_text(path):
    """Change the text of a memory outside the store; the file stays a valid database."""
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute("UPDATE body SET bytes = CAST('other' AS BLOB) WHERE id = (SELECT min(id) FROM body)")


@pytest.mark.parametrize(
    "damage",
    [lambda path: overwrite(path, path.stat().st_size // 2 // 4096 * 4096, 20 * 4096), spoil_a_text],
    ids=["pages", "text"],
)
async def test_a_backup_of_a_damaged_store_never_takes_the_place_of_a_good_one(path, tmp_path, damage):
    store = SQLiteStore(path)
    await asyncio.gather(*(put(store, sample_memory(f"{n} " + "long " * 500), "default") for n in range(60)))
    (tmp_path / "backups").mkdir()
    target = tmp_path / "backups" / "good.db"
    await store.backup(target)
    await store.close()
    good = target.read_bytes()
    damage(path)
    store = SQLiteStore(path)
    with pytest.raises(StoreDamagedError, match=r"store \S+ .*damaged") as refused:
        await store.backup(target)
    assert "\n" not in str(refused.value)
    assert target.read_bytes() == good
    assert list(target.parent.iterdir()) == [target]
    await store.close()


async def test_a_restored_backup_is_sound(store, path, tmp_path):
    await put(store, sample_memory("before"), "default")
    await store.backup(tmp_path / "backup.db")
    await put(store, sample_memory("after"), "default")
    await store.close()
    shutil.copy(tmp_path / "backup.db", path)
    restored = SQLiteStore(path)
    assert await searchable(restored) == ["before"]
    await put(restored, sample_memory("again"), "default")
    assert await restored.check() == []
    await restored.close()


async def left_by_a_killed_process(path, tmp_path):
    """A backup, and a store with changes after it that are in its -wal only, as after `kill -9`."""
    store = SQLiteStore(path)
    await put(store, sample_memory("before"), "default")
    await store.backup(tmp_path / "backup.db")
    for number in range(20):
        await put(store, sample_memory(f"after {number}"), "default")
    killed = tmp_path / "killed"
    killed.mkdir()
    for ending in ("", "-wal", ".lock"):
        shutil.copy(f"{path}{ending}", killed / f"memory.db{ending}")
    await store.close()
    return killed / "memory.db"


async def test_a_copy_next_to_a_foreign_wal_is_refused_and_left_unchanged(path, tmp_path):
    killed = await left_by_a_killed_process(path, tmp_path)
    shutil.copy(tmp_path / "backup.db", killed)
    wal = killed.with_name("memory.db-wal")
    files = [file.read_bytes() for file in (killed, wal)]
    store = SQLiteStore(killed)
    with pytest.raises(StoreUnavailableError, match="restore-backup FILE"):
        await store.stats("default")
    assert [file.read_bytes() for file in (killed, wal)] == files
    wal.unlink()
    assert await searchable(store) == ["before"]
    assert await store.check() == []
    await store.close()


async def test_restoring_replaces_the_store_and_keeps_a_copy_of_it(path, tmp_path):
    killed = await left_by_a_killed_process(path, tmp_path)
    store = SQLiteStore(killed)
    aside = await store.restore_backup(tmp_path / "backup.db")
    assert await searchable(store) == ["before"]
    await put(store, sample_memory("again"), "default")
    assert await store.check() == []
    await store.close()
    before = SQLiteStore(aside)
    assert len(await searchable(before)) == 21
    assert await before.check() == []
    await before.close()


async def test_a_backup_replaces_a_damaged_or_missing_store(store, path, tmp_path):
    await put(store, sample_memory("before"), "default")
    await store.backup(tmp_path / "backup.db")
    await store.close()
    path.write_bytes(b"garbage" * 1000)
    for place, was_there in ((path, True), (tmp_path / "new.db", False)):
        other = SQLiteStore(place)
        assert (await other.restore_backup(tmp_path / "backup.db") is not None) is was_there
        assert await searchable(other) == ["before"]
        assert stat.S_IMODE(place.stat().st_mode) == 0o600
        await other.close()


async def test_an_open_store_notices_that_a_backup_replaced_it(store, path, tmp_path):
    await put(store, sample_memory("before"), "default")
    await store.backup(tmp_path / "backup.db")
    await put(store, sample_memory("after"), "default")
    other = SQLiteStore(path)
    await other.restore_backup(tmp_path / "backup.db")
    for attempt in (store.stats("default"), put(store, sample_memory("lost"), "default")):
        with pytest.raises(StoreReplacedError, match="restore-backup"):
            await attempt
    assert await searchable(other) == ["before"]
    await put(other, sample_memory("again"), "default")
    assert await other.check() == []
    await other.close()


async def test_a_backup_of_an_older_version_is_refused_and_the_store_stays(store, tmp_path):
    await put(store, sample_memory("kept"), "default")
    backup = tmp_path / "backup.db"
    await store.backup(backup)
    with closing(apsw.Connection(str(backup))) as connection:
        connection.pragma("user_version", schema.VERSION - 1)
    with pytest.raises(StoreUnavailableError, match="older Zapomni"):
        await store.restore_backup(backup)
    assert await searchable(store) == ["kept"]


async def test_a_backup_of_a_newer_version_is_refused_with_the_fix(store, tmp_path):
    await put(store, sample_memory("kept"), "default")
    backup = tmp_path / "backup.db"
    await store.backup(backup)
    with closing(apsw.Connection(str(backup))) as connection:
        connection.pragma("user_version", schema.VERSION + 1)
    with pytest.raises(StoreTooNewError, match=r"backup \S+/backup\.db .*update Zapomni"):
        await store.restore_backup(backup)
    assert await searchable(store) == ["kept"]


@pytest.mark.skipif(os.name == "nt", reason="directories cannot be opened here")
async def test_backup_and_restore_flush_the_directory_to_disk(store, path, tmp_path, monkeypatch):
    flushed, flush = [], os.fsync
    monkeypatch.setattr(
        os, "fsync", lambda descriptor: flushed.append(os.fstat(descriptor).st_ino) or flush(descriptor)
    )
    await put(store, sample_memory("kept"), "default")
    await store.backup(tmp_path / "backup.db")
    assert flushed == [tmp_path.stat().st_ino]
    await store.close()
    await SQLiteStore(path).restore_backup(tmp_path / "backup.db")
    assert flushed == [tmp_path.stat().st_ino, path.parent.stat().st_ino]


async def test_an_invalid_backup_does_not_replace_the_store(store, path, tmp_path):
    await put(store, sample_memory("kept"), "default")
    sources = {name: tmp_path / f"{name}.db" for name in ("damaged", "newer", "other", "text")}
    await store.backup(sources["damaged"])
    shutil.copy(sources["damaged"], sources["newer"])
    for name, statement in (
        ("damaged", "DELETE FROM chunk"),
        ("newer", "PRAGMA user_version = 99"),
        ("other", "CREATE TABLE t(x)"),
    ):
        with closing(apsw.Connection(str(sources[name]))) as connection:
            connection.execute(statement)
    sources["text"].write_text("not a database" * 100)
    for source in (*sources.values(), path, tmp_path / "nowhere.db"):
        with pytest.raises(DatabaseError) as refused:
            await store.restore_backup(source)
        assert "The store" not in str(refused.value)
    assert await searchable(store) == ["kept"]
    assert not [file for file in path.parent.iterdir() if "before" in file.name or "part" in file.name]


@pytest.mark.parametrize("name", ["memory.db", "memory.db-wal", "memory.db-shm", "memory.db.lock", "../data/memory.db"])
async def test_a_backup_never_overwrites_the_store(store, path, name):
    await put(store, sample_memory("text"), "default")
    with pytest.raises(StoreUnavailableError, match="itself"):
        await store.backup(path.parent / name)
    assert await searchable(store) == ["text"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda source: source.write_text("not a database" * 100),
        lambda source: source.write_bytes(source.read_bytes()[:20_000]),
        lambda source: overwrite(source, 8192, 20 * 4096),
    ],
    ids=["not a database", "truncated", "overwritten"],
)
async def test_a_damaged_backup_is_reported_as_the_backup_and_not_the_store(store, path, tmp_path, damage):
    await put(store, sample_memory("kept"), "default")
    source = tmp_path / "backup.db"
    await store.backup(source)
    damage(source)
    with pytest.raises(StoreDamagedError, match=r"backup \S+/backup\.db .*damaged"):
        await store.restore_backup(source)
    assert await searchable(store) == ["kept"]


@pytest.mark.parametrize("target", ["nowhere/backup.db", "/proc/backup.db"])
async def test_a_backup_that_cannot_be_written_is_reported_with_its_path(store, tmp_path, target):
    await put(store, sample_memory("text"), "default")
    with pytest.raises(StoreUnavailableError, match=rf"backup \S*{target} "):
        await store.backup(tmp_path / target)
    assert await searchable(store) == ["text"]


async def test_an_unwritable_store_is_not_reported_as_a_bad_backup(store, tmp_path):
    await put(store, sample_memory("text"), "default")
    await store.backup(tmp_path / "backup.db")
    other = SQLiteStore(tmp_path / "nowhere" / "memory.db")
    with pytest.raises(StoreUnavailableError, match=r"store \S+/nowhere/memory\.db "):
        await other.restore_backup(tmp_path / "backup.db")


@pytest.mark.skipif(os.name == "nt" or sys.platform == "darwin", reason="names are text here")
async def test_a_name_that_is_not_utf_8_is_refused(store, tmp_path):
    await put(store, sample_memory("text"), "default")
    strange = tmp_path / os.fsdecode(b"b\xff.db")
    strange.write_bytes(b"")
    await store.backup(tmp_path / "backup.db")
    there = SQLiteStore(strange)
    for attempt in (
        store.backup(strange),
        store.restore_backup(strange),
        there.restore_backup(tmp_path / "backup.db"),
        there.stats("default"),
    ):
        with pytest.raises(StoreUnavailableError, match=r"b\\udcff\.db'.*UTF-8"):
            await attempt
    assert strange.read_bytes() == b""


async def test_files_of_a_killed_backup_are_removed_by_a_later_one(store, path, tmp_path):
    """Such a file is a hidden copy of all memories. Files of a backup that may still run, or of another store, stay."""
    await put(store, sample_memory("text"), "default")
    targets = (tmp_path / "backup[1].db", path)
    left = [target.with_name(f".{target.name}.{name}") for target in targets for name in ("0.part", "0.part-journal")]
    young = [target.with_name(f".{target.name}.1.part") for target in targets]
    others = tmp_path / ".backup1.db.0.part"
    for file in [*left, *young, others]:
        file.touch()
    for file in [*left, others]:
        os.utime(file, (0, 0))
    await store.backup(targets[0])
    await store.close()
    assert await SQLiteStore(path).restore_backup(targets[0])
    assert not any(file.exists() for file in left)
    assert all(file.exists() for file in [*young, others])
