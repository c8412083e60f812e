"""Puts a backup in the place of a store, whatever state that is in, and keeps what was there.

A file that is only copied over a store meets the -wal of what was there before, and SQLite would mix the two.
"""

import os
import shutil
from contextlib import closing, suppress
from pathlib import Path

import apsw

from zapomni_db.errors import StoreDamagedError, StoreTooNewError, StoreUnavailableError
from zapomni_db.sqlite import schema
from zapomni_db.sqlite.backup import copy_to, damage_in, flush_directory, part_of
from zapomni_db.sqlite.connections import closed_on_error
from zapomni_db.sqlite.failures import DAMAGE, shown, translated
from zapomni_db.sqlite.files import check_name, name_before, real_path, wal_of
from zapomni_db.sqlite.gate import Gate

_DAMAGED = "The backup {path} is damaged: nothing was changed ({reason}). Restore another one."
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
    gate = Gate(store)
    try:
        with translated(store):
            _copy_checked(source, part)
            with gate.hold(patience):
                return _swap(store, part)
    finally:
        gate.close()
        with suppress(FileNotFoundError):
            part.unlink()


def _copy_checked(source: Path, part: Path) -> None:
    with translated(source, DAMAGE, _DAMAGED):
        with closing(_open(source)) as connection:
            copy_to(connection, part)
        if damage := damage_in(part):
            raise StoreDamagedError(_DAMAGED.format(path=shown(source), reason=damage))


def _open(source: Path) -> apsw.Connection:
    """A connection to a backup that this Zapomni can read, by what its first page says."""
    with translated(source, (apsw.CantOpenError, apsw.IOError), _UNREADABLE):
        connection = apsw.Connection(str(source), flags=apsw.SQLITE_OPEN_READONLY)
        with closed_on_error(connection):
            if connection.pragma("application_id") != schema.APPLICATION_ID:
                raise StoreUnavailableError(f"The file {shown(source)} is no backup of a store: nothing was changed.")
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
    """Kill it whenever you like: the store is the old one, or the new one, or says that its -wal is missing."""
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
