"""Remembers outside the store how far the store was written, so that lost writes are noticed.

SQLite opens a file whose -wal was deleted, or that was emptied, without complaint. So after each commit the store's name and
the number of its last change are noted in the file beside it: a store that is behind the note has lost something. A backup
gets a name of its own, so that restoring one is no loss.
"""

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from zapomni_db.sqlite.gate import open_beside


@dataclass(frozen=True, slots=True)
class Note:
    """Which store was written, and its last change."""

    store: str
    change: int


class Witness:
    """The note in the file beside a store."""

    def __init__(self, store: Path) -> None:
        self._path = store
        self._descriptor: int | None = None

    def read(self) -> Note | None:
        """The note, if there is one."""
        with suppress(OSError, ValueError):
            store, change = Path(f"{self._path}.lock").read_text(encoding="ascii").split()
            return Note(store, int(change))
        return None

    def write(self, note: Note) -> None:
        """Note what is committed. That it cannot be noted takes nothing from the commit."""
        with suppress(OSError):
            if self._descriptor is None:
                self._descriptor = open_beside(self._path)
            os.lseek(self._descriptor, 0, os.SEEK_SET)
            os.write(self._descriptor, f"{note.store} {note.change:020}\n".encode("ascii"))

    def forget(self) -> None:
        """There is no store any more."""
        with suppress(OSError):
            os.truncate(f"{self._path}.lock", 0)

    def close(self) -> None:
        """Let go of the file."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
