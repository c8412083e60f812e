"""Writes a copy of the whole store, consistent, while others go on writing."""

import os
from contextlib import closing, suppress
from pathlib import Path
from uuid import uuid4

import apsw

from zapomni_db.errors import StoreUnavailableError
from zapomni_db.sqlite.failures import shown, translated

_BESIDE = ("", "-wal", "-shm", ".lock")


def back_up(connection: apsw.Connection, store: Path, target: Path) -> None:
    """Write a copy to a file that appears when it is complete; outside a transaction."""
    target = target.resolve()
    if str(target) in {f"{store}{ending}" for ending in _BESIDE}:
        raise StoreUnavailableError(
            f"A backup must not overwrite the store itself: choose another path than {shown(target)}."
        )
    part = target.with_name(f".{target.name}.{uuid4().hex}.part")
    with translated(target):
        try:
            copy_to(connection, part)
            part.replace(target)
            flush_directory(target.parent)
        finally:
            with suppress(FileNotFoundError):
                part.unlink()


def copy_to(connection: apsw.Connection, part: Path) -> None:
    """A copy under a name of its own. All pages in one step: in several, a busy store would make it begin anew again and again."""
    os.close(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    with closing(apsw.Connection(str(part), flags=apsw.SQLITE_OPEN_READWRITE)) as copy:
        with copy.backup("main", connection, "main") as pages:
            pages.step(-1)
        copy.pragma("journal_mode", "delete")
        copy.execute("UPDATE meta SET value = ? WHERE key = 'store'", (uuid4().hex,))


def flush_directory(directory: Path) -> None:
    """Make a new name durable, where directories can be opened."""
    if os.name == "posix":
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
