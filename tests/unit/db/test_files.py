"""The files of a store are its owner's, and on this machine."""

import stat
from pathlib import Path

import pytest

from zapomni_core.testing.samples import EMBEDDER, sample_memory
from zapomni_db.sqlite.files import file_system

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
    assert file_system(Path(path), MOUNTS) == kind


async def test_a_new_store_and_its_directories_are_for_its_owner_alone(store, path):
    await store.add("default", sample_memory("text"), EMBEDDER)
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    names = ("memory.db", "memory.db-wal", "memory.db-shm", "memory.db.lock")
    assert modes == dict.fromkeys(names, 0o600)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


async def test_a_directory_that_is_there_keeps_its_mode(store, path):
    path.parent.mkdir(mode=0o750)
    await store.add("default", sample_memory("text"), EMBEDDER)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o750
