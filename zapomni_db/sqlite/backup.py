"""Backs up the whole store while others go on writing, and restores a backup."""

import glob
import os
import shutil
import time
from contextlib import closing, suppress
from pathlib import Path
from uuid import uuid4

import apsw

from zapomni_db.errors import StoreDamagedError, StoreTooNewError, StoreUnavailableError
from zapomni_db.sqlite import schema
from zapomni_db.sqlite.check import problems
from zapomni_db.sqlite.connection import DAMAGE, closed_on_error, open_connection, shown, transaction, translated
from zapomni_db.sqlite.files import check_name, name_before, real_path, wal_of
from zapomni_db.sqlite.lock import LockFile

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

    The copy is checked like before a restore, every text and vector, so that a damaged copy does not overwrite a sound backup.
    That takes about three seconds for 100,000 chunks.
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
    """The name of a temporary file beside the target. Old ones of killed processes are removed."""
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
    """Copy to a new file. All pages in one step: with several, every write to the store would restart the copy."""
    os.close(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    with closing(apsw.Connection(str(part), flags=apsw.SQLITE_OPEN_READWRITE)) as copy:
        with copy.backup("main", connection, "main") as pages:
            pages.step(-1)
        copy.pragma("journal_mode", "delete")
        copy.execute("UPDATE meta SET value = ? || substr(value, 33) WHERE key = 'store'", (uuid4().hex,))


def damage_in(part: Path) -> str:
    """The first problem of a copy, in one line; empty if there is none."""
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


_BACKUP_DAMAGED = "The backup {path} is damaged: nothing was changed ({reason}). Restore another one."
_UNREADABLE = "The backup {path} cannot be read: nothing was changed ({reason}). This user must be able to read it."


def restore_backup(store: Path, source: Path, patience: float) -> Path | None:
    """Let a sound copy of the source be the store from now on; where the one before is now, if there was one.

    Nothing is changed where the source cannot be trusted. Processes that have the store open notice, and say so.
    """
    store, source = real_path(store), real_path(source)
    if source == store:
        raise StoreUnavailableError(f"{shown(source)} is the store itself: name a backup of it.")
    check_name(source)
    check_name(store)
    part = part_of(store)
    lock = LockFile(store)
    try:
        with translated(store):
            _copy_checked(source, part)
            with lock.hold(patience):
                return _swap(store, part)
    finally:
        lock.close()
        with suppress(FileNotFoundError):
            part.unlink()


def _copy_checked(source: Path, part: Path) -> None:
    with translated(source, DAMAGE, _BACKUP_DAMAGED):
        with closing(_open(source)) as connection:
            copy_to(connection, part)
        if damage := damage_in(part):
            raise StoreDamagedError(_BACKUP_DAMAGED.format(path=shown(source), reason=damage))


def _open(source: Path) -> apsw.Connection:
    """A connection to a backup that this Zapomni can read, by what its first page says."""
    with translated(source, (apsw.CantOpenError, apsw.IOError), _UNREADABLE):
        connection = apsw.Connection(str(source), flags=apsw.SQLITE_OPEN_READONLY)
        with closed_on_error(connection):
            if connection.pragma("application_id") != schema.APPLICATION_ID:
                raise StoreUnavailableError(
                    f"The file {shown(source)} is not a backup of a store. Nothing was changed."
                )
            version = connection.pragma("user_version")
            if version > schema.VERSION:
                raise StoreTooNewError(f"The backup {shown(source)} was made by a newer Zapomni: update Zapomni.")
            if version < schema.VERSION:
                raise StoreUnavailableError(
                    f"The backup {shown(source)} was made by an older Zapomni, before its first release, whose format this"
                    " one does not read: nothing was changed."
                )
        return connection


def _swap(store: Path, part: Path) -> Path | None:
    """May be killed at any point: the store is the old one, or the new one, or reports that its -wal is missing."""
    aside = name_before(store)
    if was_there := store.exists():
        _link(store, aside)
    with suppress(FileNotFoundError):
        wal_of(store).rename(wal_of(aside))
    with suppress(FileNotFoundError):
        Path(f"{store}-shm").unlink()
    part.replace(store)
    flush_directory(store.parent)
    return aside if was_there else None


def _link(store: Path, aside: Path) -> None:
    try:
        os.link(store, aside)
    except OSError:  # a file system without links
        shutil.copy2(store, aside)
