"""The lock excludes other processes where files can be locked; its note records how far the store was written."""

import errno
import sys

import pytest

from zapomni_db.errors import StoreUnavailableError
from zapomni_db.sqlite.lock import LockFile, Note

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no such locks")


def test_a_held_lock_is_reported_after_the_wait(tmp_path):
    first, second = LockFile(tmp_path / "memory.db"), LockFile(tmp_path / "memory.db")
    with first.hold(), pytest.raises(StoreUnavailableError), second.hold(0):
        pytest.fail("two hold it at once")
    with second.hold(0):
        pass
    first.close()
    second.close()


@pytest.mark.parametrize("patience", [None, 0])
def test_without_file_locks_no_writer_waits(tmp_path, monkeypatch, patience):
    def refuse(_descriptor, _operation):
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    lock = LockFile(tmp_path / "memory.db")
    with lock.hold(patience):
        pass
    lock.close()


def test_reading_the_note_returns_the_last_one_written(tmp_path):
    lock = LockFile(tmp_path / "memory.db")
    assert lock.read_note() is None
    for note in (Note("a" * 32, 1234), Note("b" * 32, 5), Note("b" * 32, 6)):
        lock.write_note(note)
        assert lock.read_note() == note
    lock.erase_note()
    assert lock.read_note() is None
    lock.close()
