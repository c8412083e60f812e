"""The lock file beside a store, and the note of the last commit in it, by which lost writes and overwritten files are noticed.

One process writes at a time. SQLite's own waiting starves a writer for seconds where ten write at once; a file lock is handed on
in order, and the system releases it when a process dies. Where there is no such lock (Windows, some file systems), SQLite's
waiting remains.

Every commit counts itself in the table `meta`, and is then noted in the lock file with the store's id. SQLite opens a file whose
-wal was deleted or emptied without complaint: a store that is behind the note has lost something. A backup gets an id of its own,
so restoring one is not mistaken for a loss.

Nor does SQLite notice that another file was copied over the store: it answers from the -wal and from its cache. So the note in
the main file is read past SQLite. Only checkpoints change it, and they never move it back.
"""

import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import apsw

from zapomni_db.sqlite.connection import held

_PAUSE_SECONDS = 0.005


_PAGE = 4096  # bytes, SQLite's usual size
_WAL_HEADER, _FRAME_HEADER = 32, 24  # bytes; the number of a frame's page comes first
_META = 2  # the number of the page that holds the table `meta`, the first that is created
_IN_PAGE = re.compile(rb"store([0-9a-f]{32} \d{20})")  # a row of `meta`: key and value
_COUNT = """
UPDATE meta SET value = printf('%s %020d', substr(value, 1, 32), substr(value, 34) + 1) WHERE key = 'store' RETURNING value
"""


@dataclass(frozen=True, slots=True)
class Note:
    """The id of a store, and the number of its last commit."""

    store: str
    commit: int

    def __str__(self) -> str:
        return f"{self.store} {self.commit:020}"

    @classmethod
    def parse(cls, text: str) -> "Note":
        """The note that was written as this text; ValueError if it is malformed."""
        store, commit = text.split()
        return cls(store, int(commit))


class LockFile:
    """The file beside a store that is locked around every write, and holds the note of the last commit."""

    def __init__(self, store: Path) -> None:
        self._store = store
        self._path = f"{store}.lock"
        self._descriptor: int | None = None

    @contextmanager
    def hold(self, patience: float | None = None) -> Iterator[None]:
        """Wait for the lock and hold it; StoreUnavailableError after `patience` seconds, where that is given."""
        descriptor = self._open()
        if patience is None:
            _lock(descriptor)
        else:
            self._try_for(descriptor, patience)
        try:
            yield
        finally:
            _unlock(descriptor)

    def read_note(self) -> Note | None:
        """The note of the last commit, if there is one."""
        with suppress(OSError, ValueError):
            return Note.parse(Path(self._path).read_text(encoding="ascii"))
        return None

    def write_note(self, note: Note) -> None:
        """Note what is committed. A failure to do so is ignored: the commit itself is durable."""
        with suppress(OSError):
            descriptor = self._open()
            os.lseek(descriptor, 0, os.SEEK_SET)
            os.write(descriptor, f"{note}\n".encode("ascii"))

    def erase_note(self) -> None:
        """Erase the note of a store that no longer exists."""
        with suppress(OSError):
            os.truncate(self._path, 0)

    def close(self) -> None:
        """Close the file."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _open(self) -> int:
        if self._descriptor is None:
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        return self._descriptor

    def _try_for(self, descriptor: int, patience: float) -> None:
        end = time.monotonic() + patience
        while not _try_lock(descriptor):
            if time.monotonic() > end:
                raise held(self._store)
            time.sleep(_PAUSE_SECONDS)


if sys.platform == "win32":

    def _lock(_descriptor: int) -> None: ...
    def _unlock(_descriptor: int) -> None: ...
    def _try_lock(_descriptor: int) -> bool:
        return True

else:
    import fcntl

    def _lock(descriptor: int) -> None:
        with suppress(OSError):  # a file system without such locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)

    def _unlock(descriptor: int) -> None:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)

    def _try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            return True
        return True


def count_commit(connection: apsw.Connection) -> Note:
    """Count the commit that the transaction will end with."""
    return Note.parse(connection.execute(_COUNT).get)


def first_in_wal(wal: Path) -> Note | None:
    """The first note in a -wal, which is at most one commit ahead of the file that the -wal belongs to."""
    with suppress(FileNotFoundError), wal.open("rb") as file:
        file.seek(_WAL_HEADER)
        while header := file.read(_FRAME_HEADER):
            if int.from_bytes(header[:4], "big") != _META:
                file.seek(_PAGE, os.SEEK_CUR)
            elif note := _find(file.read(_PAGE)):
                return note
    return None


def _find(page: bytes) -> Note | None:
    found = _IN_PAGE.search(page)
    return Note.parse(found[1].decode()) if found else None


class MainFile:
    """The store's own file, without its -wal.

    It is read by SQLite's own means: to close any other descriptor of the file would drop the locks of this process.
    """

    def __init__(self, store: Path) -> None:
        self._file = apsw.VFSFile("", str(store), [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY, 0])
        self._seen: Note | None = None

    def is_overwritten(self) -> bool:
        """Whether it is another store's, or older than it was when this was last asked."""
        seen = self._seen  # before the file is read: other threads go forward meanwhile
        note = self._read()
        if note == seen:
            return False
        while note != (note := self._read()):  # it may be just being written
            pass
        if seen and (note is None or note.store != seen.store or note.commit < seen.commit):
            return True
        self._seen = note
        return False

    def is_backup(self) -> bool:
        """Whether its header says that it has no -wal."""
        return self._file.xRead(2, 18) == b"\1\1"

    def fits(self, wal: Note | None) -> bool:
        """Whether it is the file that a -wal with this first note belongs to, as far as one can see."""
        note = self._read()
        return not (wal and note) or (note.store == wal.store and note.commit >= wal.commit - 1)

    def close(self) -> None:
        """Close the file."""
        self._file.xClose()

    def _read(self) -> Note | None:
        return _find(self._file.xRead(_PAGE, _PAGE * (_META - 1)))
