"""Notices lost writes and overwritten files, by a note of the store's id and the number of its last commit.

Every commit counts itself in the table `meta`, and is then noted in the file beside the store. SQLite opens a file whose -wal
was deleted, or that was emptied, without complaint: a store that is behind the note has lost something. A backup gets an id of
its own, so that restoring one is no loss.

SQLite does not notice either that another file was copied over the store: it answers from the -wal and from its cache. So the
note in the file itself is read past SQLite. Only checkpoints change it, and by them it never goes back.
"""

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import apsw

from zapomni_db.sqlite.gate import open_beside

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
        """The note that was written as this text; ValueError if it is not one."""
        store, commit = text.split()
        return cls(store, int(commit))


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
        """Let go of the file."""
        self._file.xClose()

    def _read(self) -> Note | None:
        return _find(self._file.xRead(_PAGE, _PAGE * (_META - 1)))


class Witness:
    """The note in the file beside a store."""

    def __init__(self, store: Path) -> None:
        self._path = store
        self._descriptor: int | None = None

    def read(self) -> Note | None:
        """The note, if there is one."""
        with suppress(OSError, ValueError):
            return Note.parse(Path(f"{self._path}.lock").read_text(encoding="ascii"))
        return None

    def write(self, note: Note) -> None:
        """Note what is committed. That it cannot be noted takes nothing from the commit."""
        with suppress(OSError):
            if self._descriptor is None:
                self._descriptor = open_beside(self._path)
            os.lseek(self._descriptor, 0, os.SEEK_SET)
            os.write(self._descriptor, f"{note}\n".encode("ascii"))

    def forget(self) -> None:
        """There is no store any more."""
        with suppress(OSError):
            os.truncate(f"{self._path}.lock", 0)

    def close(self) -> None:
        """Let go of the file."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
