"""Writes a copy of the whole store, consistent, while others go on writing."""

import glob
import os
import time
from contextlib import closing, suppress
from pathlib import Path
from uuid import uuid4

import apsw

from zapomni_db.errors import StoreDamagedError, StoreUnavailableError
from zapomni_db.sqlite.checking import problems
from zapomni_db.sqlite.connections import open_connection, transaction
from zapomni_db.sqlite.failures import DAMAGE, shown, translated
from zapomni_db.sqlite.files import check_name, real_path

_BESIDE = ("", "-wal", "-shm", ".lock")
_ABANDONED_SECONDS = 12 * 60 * 60
_UNWRITTEN = (
    "The backup {path} could not be written ({reason}); nothing was changed."
    " Choose a place where there is room and this user may write."
)
_DAMAGED = (
    "The store {path} is damaged ({reason}): no backup was written, and a file that was there is as it was."
    " Go back to an earlier backup with zapomni restore-backup."
)


def back_up(connection: apsw.Connection, store: Path, target: Path) -> None:
    """Write a copy to a file that appears when it is complete and found sound; outside a transaction.

    It is examined as before it is restored, every text and vector: a copy that could not be restored must not take the place of
    one that can. That takes about three seconds for 100,000 chunks.
    """
    target = real_path(target)
    check_name(target)
    if str(target) in {f"{store}{ending}" for ending in _BESIDE}:
        raise StoreUnavailableError(
            f"A backup must not overwrite the store itself: choose another path than {shown(target)}."
        )
    with translated(target, words=_UNWRITTEN):
        part = part_of(target)
        try:
            _copy_sound(connection, store, part)
            part.replace(target)
            flush_directory(target.parent)
        finally:
            with suppress(FileNotFoundError):
                part.unlink()


def part_of(target: Path) -> Path:
    """A name beside a file for what is to become it. What processes that were killed left under such names goes."""
    for left in target.parent.glob(f".{glob.escape(target.name)}.*.part*"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > _ABANDONED_SECONDS:
                left.unlink()
    return target.with_name(f".{target.name}.{uuid4().hex}.part")


def _copy_sound(connection: apsw.Connection, store: Path, part: Path) -> None:
    with translated(store, DAMAGE, _DAMAGED):
        copy_to(connection, part)
        if damage := damage_in(part):
            raise StoreDamagedError(_DAMAGED.format(path=shown(store), reason=damage))


def copy_to(connection: apsw.Connection, part: Path) -> None:
    """A copy under a name of its own. All pages in one step: in several, a busy store would make it begin anew again and again."""
    os.close(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    with closing(apsw.Connection(str(part), flags=apsw.SQLITE_OPEN_READWRITE)) as copy:
        with copy.backup("main", connection, "main") as pages:
            pages.step(-1)
        copy.pragma("journal_mode", "delete")
        copy.execute("UPDATE meta SET value = ? || substr(value, 33) WHERE key = 'store'", (uuid4().hex,))


def damage_in(part: Path) -> str:
    """What is wrong with a copy first of all, in one line; nothing where it is sound."""
    with closing(open_connection(part)) as copy, transaction(copy, "DEFERRED"):
        return " ".join("".join(problems(copy)[:1]).split()).rstrip(".")


def flush_directory(directory: Path) -> None:
    """Make a new name durable, where directories can be opened."""
    if os.name == "posix":
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
