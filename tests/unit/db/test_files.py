"""The files of a store: permissions, paths and links."""

import os
import re
import stat
from pathlib import Path

import pytest

from zapomni_core.testing.samples import put, sample_memory
from zapomni_db.errors import StoreUnavailableError
from zapomni_db.sqlite import SQLiteStore
from zapomni_db.sqlite.files import mount_of, name_before

MOUNTS = r"""
22 1 252:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 22 0:27 / /home rw,relatime shared:2 - nfs4 server:/home rw
31 30 0:28 / /home/ada/my\040disk rw - ext4 /dev/vdb rw
""".strip()


@pytest.mark.parametrize(
    ("path", "kind"),
    [("/var/x", "ext4"), ("/home/ada/x", "nfs4"), ("/homes/x", "ext4"), ("/home/ada/my disk/x", "ext4")],
)
def test_the_file_system_of_a_path_is_that_of_the_nearest_mount(path, kind):
    assert mount_of(Path(path), MOUNTS)[1] == kind


async def test_a_new_store_and_its_directories_are_for_its_owner_alone(store, path):
    await put(store, sample_memory("text"), "default")
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    names = ("memory.db", "memory.db-wal", "memory.db-shm", "memory.db.lock")
    assert modes == dict.fromkeys(names, 0o600)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


async def test_an_existing_directory_keeps_its_mode(store, path):
    path.parent.mkdir(mode=0o750)
    await put(store, sample_memory("text"), "default")
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o750


def make_loop(path):
    path.symlink_to(path)


@pytest.mark.parametrize(
    ("name", "make", "said"),
    [
        ("loop.db", make_loop, r"cannot be opened|Cannot resolve|levels of symbolic links"),
        ("half\0name.db", lambda _: None, "Cannot resolve"),
        ("pipe.db", os.mkfifo, "not a regular file"),
        ("n" * 248, lambda _: None, "too long for SQLite"),
        ("/".join(["d" * 100] * 5) + "/memory.db", lambda _: None, "too long for SQLite"),
    ],
    ids=["loop", "nul", "pipe", "name", "path"],
)
async def test_a_path_that_cannot_be_a_store_is_refused_with_the_reason(tmp_path, name, make, said):
    make(tmp_path / name)
    store = SQLiteStore(tmp_path / name)
    with pytest.raises(StoreUnavailableError, match=said):
        await store.stats("default")
    assert re.search(said, (await store.health())[0])
    await store.close()


async def test_a_name_of_the_maximum_length_of_sqlite_is_accepted(tmp_path):
    store = SQLiteStore(tmp_path / ("n" * 247))
    await put(store, sample_memory("text"), "default")
    assert await store.check() == []
    await store.close()


async def test_a_store_with_two_hard_links_is_refused(store, path):
    """Each name would have a -wal of its own."""
    await put(store, sample_memory("text"), "default")
    await store.close()
    twin = path.with_name("twin.db")
    twin.hardlink_to(path)
    for name in (path, twin):
        refused = SQLiteStore(name)
        with pytest.raises(StoreUnavailableError, match="hard link"):
            await refused.stats("default")
        await refused.close()
    twin.unlink()
    again = SQLiteStore(path)
    assert (await again.stats("default")).memories == 1
    await again.close()


async def test_a_relative_path_is_resolved_before_the_working_directory_changes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    store = SQLiteStore(Path("memory.db"))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    await put(store, sample_memory("text"), "default")
    await store.close()
    assert (tmp_path / "memory.db").exists()


async def test_a_store_opens_although_an_interrupted_restore_left_a_second_name(store, path):
    await put(store, sample_memory("text"), "default")
    await store.close()
    name_before(path).hardlink_to(path)
    again = SQLiteStore(path)
    assert (await again.stats("default")).memories == 1
    await again.close()


async def test_a_wal_that_another_process_is_removing_is_tolerated(store, path, monkeypatch):
    """As the last one to close a store does."""
    await put(store, sample_memory("text"), "default")
    await store.close()
    exists = Path.exists
    monkeypatch.setattr(Path, "exists", lambda file: file.name.endswith("-wal") or exists(file))
    late = SQLiteStore(path)
    assert (await late.stats("default")).memories == 1
    await late.close()
