"""A file is looked at before it is trusted, and brought up to date step by step."""

import threading
from contextlib import closing

import apsw
import pytest

from zapomni_core.testing.samples import sample_memory
from zapomni_core.testing.stores import put, searchable
from zapomni_db.errors import StoreReplacedError, StoreTooNewError, StoreUnavailableError
from zapomni_db.filters import Filter
from zapomni_db.sqlite import SQLiteStore, purging, schema
from zapomni_db.sqlite.connections import last_change, open_connection
from zapomni_db.sqlite.database import Database
from zapomni_db.sqlite.restoring import restore_backup


def columns(path, table):
    with closing(apsw.Connection(str(path))) as connection:
        return [name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})")]


async def test_an_older_store_is_brought_up_to_date_and_keeps_what_it_has(store, path, monkeypatch):
    added = await put(store, sample_memory("old"), "default")
    await store.close()
    steps = [
        *schema.MIGRATIONS,
        lambda connection: connection.execute("CREATE TABLE second(a)"),
        lambda connection: connection.execute("ALTER TABLE second ADD COLUMN b"),
    ]
    monkeypatch.setattr(schema, "MIGRATIONS", steps)
    newer = SQLiteStore(path)
    assert (await newer.get("default", added.memory_id)).text == "old"
    await newer.close()
    assert columns(path, "second") == ["a", "b"]


async def test_a_step_that_fails_leaves_the_store_as_it_was(store, path, monkeypatch):
    await put(store, sample_memory("old"), "default")
    await store.close()

    def fail(connection):
        connection.execute("CREATE TABLE half(a)")
        connection.execute("nonsense")

    with monkeypatch.context() as patch:
        patch.setattr(schema, "MIGRATIONS", [*schema.MIGRATIONS, fail])
        newer = SQLiteStore(path)
        with pytest.raises(Exception, match="nonsense"):
            await newer.stats("default")
        await newer.close()
    assert columns(path, "half") == []
    again = SQLiteStore(path)
    assert (await again.stats("default")).memories == 1
    await again.close()


def test_many_who_open_at_once_bring_it_up_to_date_once(path, monkeypatch):
    ran = []
    steps = [*schema.MIGRATIONS, lambda connection: ran.append(connection.execute("CREATE TABLE second(a)"))]
    monkeypatch.setattr(schema, "MIGRATIONS", steps)
    databases = [Database(path, 30) for _ in range(8)]
    opening = [threading.Thread(target=lambda one=one: one.connect().close()) for one in databases]
    for thread in opening:
        thread.start()
    for thread in opening:
        thread.join()
    for database in databases:
        database.close()
    assert len(ran) == 1


async def test_a_newer_store_is_refused_and_not_touched(store, path):
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
        await store._access.write(purging.sweep, alone=True)


async def test_a_database_of_another_program_is_refused_and_not_touched(store, path):
    path.parent.mkdir()
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute("CREATE TABLE theirs(a)")
    before = path.read_bytes()
    with pytest.raises(StoreUnavailableError, match="another program"):
        await put(store, sample_memory("text"), "default")
    assert path.read_bytes() == before


async def test_a_file_without_anything_in_it_becomes_a_store(store, path):
    """As when a process was killed while it made one."""
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


async def test_a_store_that_cannot_be_opened_is_tried_again(store, path):
    path.mkdir(parents=True)
    with pytest.raises(StoreUnavailableError, match="is a directory"):
        await store.stats("default")
    path.rmdir()
    assert (await store.stats("default")).memories == 0


async def test_links_of_an_older_store_are_kept(path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(schema, "MIGRATIONS", schema.MIGRATIONS[:4])
        SQLiteStore(path)._access.open().database.connect().close()
    with closing(apsw.Connection(str(path))) as connection:
        row = "'default', 'memory', '', '', '', '[]', '{}', 0, 0, 0, 1, 0, x''"
        columns = "workspace, kind, source, author, conversation, tags, metadata, created_at, moment, thread, first_chunk, chunks, seal"
        for uid, replaces, replaced_by in (("old", None, "new"), ("new", "old", None)):
            connection.execute(
                f"INSERT INTO memory(uid, replaces, replaced_by, {columns}) VALUES(?, ?, ?, {row})",
                (uid, replaces, replaced_by),
            )
    store = SQLiteStore(path)
    old, new = await store.get("default", "old"), await store.get("default", "new")
    assert (old.replaced_by, old.replaces, new.replaced_by, new.replaces) == ("new", (), None, ("old",))
    await store.close()


async def test_an_older_store_can_be_filtered_by_what_metadata_list_and_nest_once_it_is_opened(store, path):
    listing, plain = (
        {"rooms": ["hall", 7], "deep": [["hall"]], "o": {"n": 1}, "long": list(range(101))},
        {"room": "hall [7]"},
    )
    for text, metadata in (("a", listing), ("b", plain), ("c", {})):
        await put(store, sample_memory(text, metadata=metadata), "default")
    await store.close()
    with closing(apsw.Connection(str(path))) as connection:
        listed = "digest NOT IN (SELECT digest FROM facet GROUP BY digest HAVING count(*) > 1) AND memory = 1"
        connection.execute(f"DELETE FROM facet WHERE {listed}; PRAGMA user_version = 5").fetchall()
    newer = SQLiteStore(path)
    rooms = [Filter(metadata={"rooms": values}) for values in (("hall",), (7,), ("attic",))]
    assert [await searchable(newer, wanted=one) for one in rooms] == [["a"], ["a"], []]
    assert await newer.check() == []
    await newer.close()


async def test_a_symbolic_link_that_leads_elsewhere_while_it_is_open_is_noticed(store, path, tmp_path):
    """Whoever opens it now writes into the other file."""
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
async def test_a_backup_that_takes_the_place_of_a_store_while_it_is_opened_is_noticed(
    store, path, tmp_path, monkeypatch, opened
):
    """What was written into the old file then would be in no store."""
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
