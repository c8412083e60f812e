"""A file is checked before it is used as a store."""

import threading
from contextlib import closing

import apsw
import pytest

from zapomni_core.testing.samples import put, sample_memory, searchable
from zapomni_db.errors import StoreReplacedError, StoreTooNewError, StoreUnavailableError
from zapomni_db.sqlite import SQLiteStore, purge, schema
from zapomni_db.sqlite.backup import restore_backup
from zapomni_db.sqlite.connection import last_change, open_connection
from zapomni_db.sqlite.database import Database


def columns(path, table):
    with closing(apsw.Connection(str(path))) as connection:
        return [name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})")]


async def test_an_older_store_is_refused_and_left_unchanged(store, path):
    await put(store, sample_memory("text"), "default")
    await store.close()
    with closing(apsw.Connection(str(path))) as connection:
        connection.pragma("user_version", schema.VERSION - 1)
    before = path.read_bytes()
    older = SQLiteStore(path)
    with pytest.raises(StoreUnavailableError, match="older Zapomni"):
        await older.stats("default")
    await older.close()
    assert path.read_bytes() == before


def test_concurrent_openers_create_one_store(path):
    databases = [Database(path, 30) for _ in range(8)]
    opening = [threading.Thread(target=lambda one=one: one.connect().close()) for one in databases]
    for thread in opening:
        thread.start()
    for thread in opening:
        thread.join()
    for database in databases:
        database.close()
    with closing(apsw.Connection(str(path))) as connection:
        assert connection.execute("SELECT count(*) FROM meta WHERE key = 'store'").get == 1


async def test_a_newer_store_is_refused_and_left_unchanged(store, path):
    await put(store, sample_memory("text"), "default")
    await store.close()
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute("PRAGMA journal_mode = delete; PRAGMA user_version = 99").fetchall()
    before = path.read_bytes()
    old = SQLiteStore(path)
    for attempt in (old.stats("default"), put(old, sample_memory("new"), "default"), old.check()):
        with pytest.raises(StoreTooNewError, match="update Zapomni"):
            await attempt
    await old.close()
    assert path.read_bytes() == before


async def test_a_store_that_becomes_newer_while_it_is_open_is_refused(store, path):
    await put(store, sample_memory("text"), "default")
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute("PRAGMA user_version = 99")
    for attempt in (
        store.stats("default"),
        store.term_counts("default", ["text"]),
        put(store, sample_memory("new"), "w"),
    ):
        with pytest.raises(StoreTooNewError):
            await attempt


async def test_a_store_that_becomes_newer_is_not_swept(store, path):
    await put(store, sample_memory("text"), "default")
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreTooNewError):
        await store._threads.write(purge.sweep, alone=True)


async def test_a_database_of_another_program_is_refused_and_left_unchanged(store, path):
    path.parent.mkdir()
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute("CREATE TABLE theirs(a)")
    before = path.read_bytes()
    with pytest.raises(StoreUnavailableError, match="another program"):
        await put(store, sample_memory("text"), "default")
    assert path.read_bytes() == before


async def test_an_empty_file_becomes_a_store(store, path):
    """A process killed while creating a store leaves such a file."""
    path.parent.mkdir()
    path.touch()
    await put(store, sample_memory("text"), "default")
    await store.close()
    with closing(apsw.Connection(str(path.with_name("blank.db")))) as connection:
        connection.execute("PRAGMA journal_mode = wal")
    blank = SQLiteStore(path.with_name("blank.db"))
    assert (await blank.stats("default")).memories == 0
    await blank.close()


def test_commits_wait_for_the_disk_and_deleted_bytes_are_overwritten(path):
    database = Database(path, 30)
    with closing(database.connect(writing=True)) as connection:
        settings = ("journal_mode", "synchronous", "secure_delete", "temp_store", "journal_size_limit", "cache_size")
        assert [connection.pragma(name) for name in settings] == ["wal", 2, 1, 2, 67_108_864, -16_000]
    database.close()


async def test_a_store_behind_a_symbolic_link_is_the_same_store(store, path, tmp_path):
    await put(store, sample_memory("text"), "default")
    (tmp_path / "link.db").symlink_to(path)
    linked = SQLiteStore(tmp_path / "link.db")
    assert (await linked.stats("default")).memories == 1
    await linked.close()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["data", "link.db"]


async def test_opening_is_retried_after_a_failure(store, path):
    path.mkdir(parents=True)
    with pytest.raises(StoreUnavailableError, match="is a directory"):
        await store.stats("default")
    path.rmdir()
    assert (await store.stats("default")).memories == 0


async def test_a_symbolic_link_that_changes_its_target_while_open_is_noticed(store, path, tmp_path):
    """A process that opens it now writes into the other file."""
    await put(store, sample_memory("text"), "default")
    link = tmp_path / "current.db"
    link.symlink_to(path)
    linked = SQLiteStore(link)
    await linked.stats("default")
    link.unlink()
    link.symlink_to(tmp_path / "next.db")
    for attempt in (lambda: linked.stats("default"), lambda: put(linked, sample_memory("b"), "default")):
        with pytest.raises(StoreReplacedError):
            await attempt()
    await linked.close()


@pytest.mark.parametrize("opened", [0, 1], ids=["while it is examined", "while it is opened"])
async def test_a_restore_during_the_opening_of_a_store_is_noticed(store, path, tmp_path, monkeypatch, opened):
    """Writes into the old file would be lost."""
    await put(store, sample_memory("old"), "default")
    await store.backup(tmp_path / "backup.db")
    await store.close()
    count = iter(range(10))

    def open_and_replace(*arguments, **options):
        connection = open_connection(*arguments, **options)
        if next(count) == opened:
            last_change(connection)
            restore_backup(path, tmp_path / "backup.db", 1)
        return connection

    monkeypatch.setattr("zapomni_db.sqlite.database.open_connection", open_and_replace)
    late = SQLiteStore(path)
    with pytest.raises(StoreUnavailableError, match="Try again"):
        await put(late, sample_memory("new"), "default")
    await put(late, sample_memory("new"), "default")
    await late.close()
    again = SQLiteStore(path)
    assert await searchable(again) == ["old", "new"]
    await again.close()
