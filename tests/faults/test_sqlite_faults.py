"""A store with damaged, missing or unwritable files names the problem and the way out, and changes nothing."""

import asyncio
import os
import re
import shutil
import subprocess
import tempfile
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import apsw
import pytest

from tests.faults.processes import run, start
from zapomni_core.testing.samples import delete, put, sample_memory, searchable
from zapomni_db.errors import StoreDamagedError, StoreFullError, StoreReplacedError, StoreUnavailableError
from zapomni_db.sqlite import SQLiteStore

IS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


@pytest.fixture
def path(tmp_path):
    return tmp_path / "memory.db"


async def fill(path, count=50):
    """Make a store with memories and close it."""
    store = SQLiteStore(path)
    for number in range(count):
        await put(store, sample_memory(f"filled {number}"), "default")
    await store.close()


async def refused(path, error, match):
    """Check that reading and writing are refused and the file is left as it was; returns what `check` finds."""
    before = path.read_bytes()
    store = SQLiteStore(path)
    for attempt in (lambda: store.stats("default"), lambda: put(store, sample_memory("new"), "default")):
        with pytest.raises(error, match=match):
            await attempt()
    checked = await store.check() if error is StoreDamagedError else []
    await store.close()
    assert path.read_bytes() == before
    return checked


@pytest.mark.parametrize("left", [0.9, 0.5, 0.1])
async def test_a_truncated_file_is_refused_and_not_touched(path, left):
    await fill(path)
    os.truncate(path, int(path.stat().st_size * left))
    (sentence,) = await refused(path, StoreDamagedError, "zapomni restore-backup")
    assert "damaged" in sentence


@pytest.mark.parametrize("garbage", [b"no database " * 1000, b"x", b"SQLite format 3\0" + b"\xff" * 5000])
async def test_a_file_full_of_garbage_is_refused_and_not_touched(path, garbage):
    path.write_bytes(garbage)
    await refused(path, StoreDamagedError, "zapomni restore-backup")


async def test_an_emptied_file_is_not_taken_for_a_new_store(path):
    await fill(path)
    os.truncate(path, 0)
    await refused(path, StoreDamagedError, "empty, but memories were kept")


async def test_a_file_of_nothing_but_a_header_is_not_taken_for_a_new_store(path):
    await fill(path)
    with closing(apsw.Connection(str(path.with_name("blank.db")))) as connection:
        connection.execute("CREATE TABLE a(b); DROP TABLE a")
    path.with_name("blank.db").replace(path)
    await refused(path, StoreDamagedError, "nothing is in the file")


async def test_a_removed_store_is_created_again(path):
    await fill(path)
    path.unlink()
    store = SQLiteStore(path)
    await put(store, sample_memory("new"), "default")
    assert await searchable(store) == ["new"]
    await store.close()


async def test_a_killed_writer_keeps_what_it_acknowledged(path):
    run(path, "add_and_die", 20, code=-9)
    store = SQLiteStore(path)
    assert len(await searchable(store)) == 20
    assert await store.check() == []
    await store.close()


async def test_a_removed_shm_file_is_created_again(path):
    run(path, "add_and_die", 20, code=-9)
    path.with_name("memory.db-shm").unlink()
    store = SQLiteStore(path)
    assert len(await searchable(store)) == 20
    assert await store.check() == []
    await store.close()


async def test_a_removed_wal_is_reported(path):
    await fill(path)
    run(path, "add_and_die", 20, code=-9)
    path.with_name("memory.db-wal").unlink()
    await refused(path, StoreDamagedError, r"last 20 changes are missing.*Put the -wal back")


async def test_a_removed_wal_that_held_everything_is_reported(path):
    run(path, "add_and_die", 20, code=-9)
    path.with_name("memory.db-wal").unlink()
    await refused(path, StoreDamagedError, "is its -wal missing")


async def test_a_truncated_wal_is_reported(path):
    await fill(path)
    run(path, "add_and_die", 20, code=-9)
    wal = path.with_name("memory.db-wal")
    os.truncate(wal, wal.stat().st_size // 2)
    await refused(path, StoreDamagedError, "changes are missing")


async def test_the_store_can_be_used_without_the_lost_changes(path):
    run(path, "add_and_die", 20, code=-9)
    path.with_name("memory.db-wal").unlink()
    path.with_name("memory.db.lock").unlink()
    store = SQLiteStore(path)
    await put(store, sample_memory("after all"), "default")
    assert "after all" in await searchable(store)
    await store.close()


async def test_a_missing_file_beside_its_wal_is_reported(path):
    run(path, "add_and_die", 20, code=-9)
    away = path.rename(path.with_name("away.db"))
    store = SQLiteStore(path)
    with pytest.raises(StoreDamagedError, match="-wal is there"):
        await store.stats("default")
    await store.close()
    away.rename(path)
    back = SQLiteStore(path)
    assert len(await searchable(back)) == 20
    await back.close()


@pytest.mark.parametrize("ending", ["", "-wal"])
async def test_files_that_are_removed_while_open_are_reported(path, ending):
    """SQLite would keep writing to a file that cannot be opened again."""
    store = SQLiteStore(path)
    await put(store, sample_memory("first"), "default")
    taken = path.with_name(path.name + ending)
    away = taken.rename(taken.with_name("away"))
    for attempt in (lambda: store.stats("default"), lambda: put(store, sample_memory("new"), "default")):
        with pytest.raises(StoreReplacedError, match="replaced or removed"):
            await attempt()
    away.rename(taken)
    assert (await put(store, sample_memory("second"), "default")).outcome == "stored"
    await store.close()


async def test_processes_that_create_a_store_at_once_create_one(path):
    processes = [start(path, "add_at_once", f"v{number}") for number in range(6)]
    for process in processes:
        assert process.stdout.readline() == "ready\n", process.stderr.read()
    for process in processes:
        process.stdin.write("now\n")
        process.stdin.flush()
    said = [process.communicate(timeout=100) for process in processes]
    assert [errors for _, errors in said if errors] == []
    ids = [out.split() for out, _ in said]
    assert len({one[0] for one in ids}) == 1, "what everybody added is one memory"
    store = SQLiteStore(path)
    assert (await store.stats("default")).memories == 31
    assert all([await store.get("default", key) for one in ids for key in one])
    assert await store.check() == []
    await store.close()


async def add_until_refused(store, texts):
    """Add memories until the store refuses, listing what was acknowledged."""
    for number in range(10_000):
        text = f"{number} " + "long" * 2000
        await put(store, sample_memory(text), "default")
        texts.append(text)


@contextmanager
def small_disk(path, megabytes, *options):
    path.mkdir()
    wanted = ",".join([f"size={megabytes}m", *options])
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", wanted, "tmpfs", path], check=False)
    if mounted.returncode:
        pytest.skip("a small disk cannot be mounted here")
    try:
        yield path
    finally:
        subprocess.run(["umount", path], check=True)


@pytest.mark.skipif(not IS_ROOT, reason="only root mounts disks")
async def test_a_full_disk_is_reported_and_nothing_is_lost(tmp_path):
    with small_disk(tmp_path / "disk", 3) as disk:
        ballast = disk / "ballast"
        ballast.write_bytes(bytes(1_000_000))
        store = SQLiteStore(disk / "memory.db")
        texts = []
        with pytest.raises(StoreFullError, match="is full"):
            await add_until_refused(store, texts)
        assert await searchable(store) == texts
        ballast.unlink()
        assert (await put(store, sample_memory("room again"), "default")).outcome == "stored"
        assert await store.check() == []
        await store.close()


@pytest.mark.skipif(not IS_ROOT, reason="only root mounts disks")
async def test_a_store_that_cannot_be_created_on_a_full_disk_is_reported(tmp_path):
    with small_disk(tmp_path / "disk", 1) as disk:
        with pytest.raises(OSError, match="No space"):
            (disk / "ballast").write_bytes(bytes(2_000_000))
        store = SQLiteStore(disk / "memory.db")
        with pytest.raises(StoreFullError, match="is full"):
            await store.stats("default")
        (disk / "ballast").unlink()
        assert (await store.stats("default")).memories == 0
        await store.close()


def use_up(disk):
    """Fill a disk."""
    with suppress(OSError), (disk / "ballast").open("wb", buffering=0) as ballast:
        while True:
            ballast.write(bytes(4096))
    assert os.statvfs(disk).f_bavail == 0


def use_up_names(disk):
    """Use up the files that a disk can hold."""
    with suppress(OSError):
        for number in range(1000):
            (disk / f"ballast {number}").touch()
    assert os.statvfs(disk).f_favail == 0


def make_read_only(disk):
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)


@pytest.mark.skipif(not IS_ROOT, reason="only root mounts disks")
@pytest.mark.parametrize("fill_up", [use_up, use_up_names])
async def test_a_full_disk_is_reported_even_if_sqlite_cannot_open_the_file(tmp_path, fill_up):
    with small_disk(tmp_path / "disk", 3, "nr_inodes=20") as disk:
        path = disk / "memory.db"
        await fill(path, 1)
        fill_up(disk)
        store = SQLiteStore(path)
        attempts = (
            lambda: store.stats("default"),
            lambda: put(store, sample_memory("new"), "default"),
            lambda: store.backup(tmp_path / "backup.db"),
            store.check,
        )
        for attempt in attempts:
            with pytest.raises(StoreFullError, match=r"is full.*Nothing was read or written"):
                await attempt()
        assert "is full" in (await store.health())[0]
        for ballast in disk.glob("ballast*"):
            ballast.unlink()
        assert await searchable(store) == ["filled 0"]
        assert await store.check() == []
        await store.close()


@pytest.mark.skipif(not IS_ROOT, reason="only root mounts disks")
async def test_a_purge_without_room_to_vacuum_reports_what_was_removed(tmp_path):
    with small_disk(tmp_path / "disk", 5) as disk:
        await fill(disk / "memory.db", 500)
        free = os.statvfs(disk)
        (disk / "ballast").write_bytes(bytes(free.f_bavail * free.f_frsize - 500_000))
        store = SQLiteStore(disk / "memory.db")
        (memory,) = (await store.list_memories("default", limit=1)).memories
        await delete(store, memory.id, "default")
        try:
            with pytest.raises(StoreFullError, match=r"^What was purged is gone, but traces of it stay.*purge again"):
                await store.purge("default", [memory.id])
            assert await store.get("default", memory.id) is None
            (disk / "ballast").unlink()
            await store.purge("default", [])
            assert await store.check() == []
        finally:
            await store.close()


@pytest.mark.skipif(not IS_ROOT, reason="only root mounts disks")
async def test_a_backup_to_a_full_disk_is_reported_and_keeps_the_old_one(tmp_path):
    await fill(tmp_path / "memory.db", 1)
    with small_disk(tmp_path / "disk", 1) as disk:
        (disk / "backup.db").write_text("the one before")
        use_up(disk)
        store = SQLiteStore(tmp_path / "memory.db")
        with pytest.raises(StoreFullError, match=r"^The backup \S+ could not be written \(its disk is full"):
            await store.backup(disk / "backup.db")
        assert (disk / "backup.db").read_text() == "the one before"
        assert {file.name for file in disk.iterdir()} == {"backup.db", "ballast"}
        assert await searchable(store) == ["filled 0"]
        await store.close()


@pytest.mark.skipif(not IS_ROOT, reason="only root mounts disks")
@pytest.mark.parametrize("name", ["old.db", "new.db", "new/memory.db"])
async def test_a_read_only_disk_is_reported_for_an_old_and_a_new_store(tmp_path, name):
    with small_disk(tmp_path / "disk", 3) as disk:
        await fill(disk / "old.db", 1)
        make_read_only(disk)
        store = SQLiteStore(disk / name)
        with pytest.raises(StoreUnavailableError, match=r"mounted read-only.*must be able to read and write"):
            await store.stats("default")
        await store.close()


async def test_a_limit_on_the_file_size_is_reported_and_nothing_is_lost(path):
    assert run(path, "add_within", 1) == ["StoreUnavailableError", "0 []", "stored"]


@pytest.fixture
def open_directory():
    """A directory that all users can read."""
    directory = Path(tempfile.mkdtemp(dir="/tmp"))
    directory.chmod(0o755)
    yield directory
    shutil.rmtree(directory)


@pytest.mark.skipif(not IS_ROOT, reason="only root can become another user")
@pytest.mark.parametrize("mode", [0o755, 0o700], ids=["readable", "closed"])
async def test_a_directory_without_write_permission_is_reported(open_directory, mode):
    directory = open_directory / "data"
    directory.mkdir()
    await fill(directory / "memory.db", 1)
    (directory / "memory.db").chmod(0o644)
    directory.chmod(mode)
    said = run(directory / "memory.db", "read_without_permission")
    assert len(said) == 2
    assert all(line.startswith("StoreUnavailableError The store") and str(directory) in line for line in said), said


@pytest.mark.skipif(not IS_ROOT, reason="only root can become another user")
async def test_a_directory_where_no_store_can_be_created_is_reported(open_directory):
    said = run(open_directory / "new" / "memory.db", "read_without_permission")
    assert all(line.startswith("StoreUnavailableError The store") and "read and write" in line for line in said), said
    assert len(said) == 2


@pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")
def test_an_add_is_acknowledged_after_it_is_on_the_disk(path, tmp_path):
    log = tmp_path / "trace"
    tracer = ["strace", "-f", "-e", "trace=write,fsync,fdatasync", "-o", str(log)]
    if subprocess.run([*tracer, "true"], check=False, capture_output=True).returncode:
        pytest.skip("strace may not trace here")
    run(path, "add_traced", before=tracer)
    events = re.findall(r"(?:write\(1, \"(request|acknowledged) \d|(fdatasync|fsync)\()", log.read_text())
    told = "".join({"request": "r", "acknowledged": "a"}.get(word, "s") for word, _ in events)
    assert re.fullmatch(r"s*(rs+a){3}s*", told), told


async def test_closing_one_store_does_not_drop_the_locks_of_another_in_the_same_process(path):
    """POSIX drops all locks of a process on a file when any of its descriptors is closed."""
    stores = [SQLiteStore(path) for _ in range(5)]
    for turn in range(10):
        await asyncio.gather(*(put(one, sample_memory(f"{turn} {n}"), "default") for n, one in enumerate(stores)))
        await stores.pop(0).close()
        stores.append(SQLiteStore(path))
    assert len(await searchable(stores[0])) == 50
    assert await stores[0].check() == []
    for store in stores:
        await store.close()


@pytest.mark.skipif(not IS_ROOT, reason="only root can become another user")
def test_a_directory_that_becomes_inaccessible_is_reported(open_directory):
    open_directory.chmod(0o777)
    said = run(open_directory / "data" / "memory.db", "lose_access_to_the_directory")
    assert len(said) == 4
    assert all("StoreUnavailableError" in line and "must be able to read and write" in line for line in said[:3]), said
    assert said[3] == "stored []"


@contextmanager
def mounted_file(file, name):
    name.touch()
    if subprocess.run(["mount", "--bind", file, name], check=False).returncode:
        pytest.skip("nothing can be mounted here")
    try:
        yield name
    finally:
        subprocess.run(["umount", name], check=True)


@pytest.mark.skipif(not IS_ROOT, reason="only root mounts files")
async def test_a_store_that_is_mounted_as_a_single_file_is_refused(path, tmp_path):
    """As a container does: the -wal file would be lost with the container."""
    await fill(path, 1)
    with mounted_file(path, tmp_path / "mounted.db") as mounted:
        store = SQLiteStore(mounted)
        try:
            with pytest.raises(StoreUnavailableError, match=r"mounted as a single file.*Mount its directory"):
                await store.stats("default")
        finally:
            await store.close()
