"""Opens connections to the file, runs transactions, and translates SQLite's and the system's errors."""

import errno
import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import apsw

from zapomni_db.errors import DatabaseError, StoreDamagedError, StoreFullError, StoreUnavailableError

_BUSY_MILLISECONDS = 10_000
_SETTINGS = """
PRAGMA synchronous = FULL;
PRAGMA cache_size = -16000;
PRAGMA temp_store = MEMORY;
PRAGMA journal_size_limit = 67108864;
PRAGMA secure_delete = ON;
"""
_MACOS_SETTINGS = "PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON;"


def open_connection(path: Path, *, writing: bool = False) -> apsw.Connection:
    """A connection to an existing file. Only a writing one tidies up when it is the last to close."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    with closed_on_error(connection):
        connection.set_busy_timeout(_BUSY_MILLISECONDS)
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, int(not writing))
        # Otherwise a statement with LIMIT ? is planned again each time, since its plan might depend on the number.
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        settings = _SETTINGS + (_MACOS_SETTINGS if sys.platform == "darwin" else "")
        connection.execute(settings).fetchall()  # to the end: it would stop at the first that answers
    return connection


@contextmanager
def impatient(connection: apsw.Connection) -> Iterator[None]:
    """Do not wait for locks of others."""
    connection.set_busy_timeout(0)
    try:
        yield
    finally:
        connection.set_busy_timeout(_BUSY_MILLISECONDS)


@contextmanager
def closed_on_error(connection: apsw.Connection) -> Iterator[None]:
    """Close the connection on an error, which would keep it open for as long as it is referenced."""
    try:
        yield
    except BaseException:
        connection.close()
        raise


@contextmanager
def transaction(connection: apsw.Connection, kind: str = "IMMEDIATE") -> Iterator[None]:
    """All of it or nothing. A writing one is IMMEDIATE: one that reads first could not wait for its turn."""
    connection.execute(f"BEGIN {kind}")
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def one(connection: apsw.Connection, statement: str, *values: Any) -> Any:
    """The only row, or the only value of it; None where there is none."""
    return connection.execute(statement, values).get


def rows(connection: apsw.Connection, statement: str, *values: Any) -> Iterator[Any]:
    """The rows, one by one."""
    return connection.execute(statement, values)


def last_change(connection: apsw.Connection) -> int:
    """The number of the last change; everything that is written is one."""
    return int(one(connection, "SELECT coalesce(max(seq), 0) FROM change"))


_FULL = "The disk of the store {path} is full; nothing was written. Free some space and try again."
_TOO_FULL_TO_READ = (
    "The disk of the store {path} is full, and SQLite needs files beside the store even to read it."
    " Nothing was read or written. Free some space and try again."
)
_DAMAGED = (
    "The store {path} is damaged ({reason}); nothing was changed."
    " Go back to a backup with zapomni restore-backup, or move the file away to start with an empty store."
)
_BUSY = "Another process holds the store {path}. Try again in a moment, or look for a process that hangs."
_REFUSED = (
    "The store {path} cannot be opened or written ({reason})."
    " This user must be able to read and write the file, and its directory {directory} too."
)
_FAILED = "Reading or writing the store {path} failed ({reason}). Check the disk, its quota and its limits."
_OTHER = "The store {path} failed ({reason})."

DAMAGE = (apsw.CorruptError, apsw.NotADBError)

_MEANING: tuple[tuple[type[Exception], type[DatabaseError], str], ...] = (
    (apsw.FullError, StoreFullError, _FULL),
    (apsw.CorruptError, StoreDamagedError, _DAMAGED),
    (apsw.NotADBError, StoreDamagedError, _DAMAGED),
    (apsw.BusyError, StoreUnavailableError, _BUSY),
    (apsw.LockedError, StoreUnavailableError, _BUSY),
    (apsw.ProtocolError, StoreUnavailableError, _BUSY),
    (apsw.ReadOnlyError, StoreUnavailableError, _REFUSED),
    (apsw.CantOpenError, StoreUnavailableError, _REFUSED),
    (apsw.PermissionsError, StoreUnavailableError, _REFUSED),
    (apsw.AuthError, StoreUnavailableError, _REFUSED),
    (apsw.IOError, StoreUnavailableError, _FAILED),
    (apsw.Error, DatabaseError, _OTHER),
    (PermissionError, StoreUnavailableError, _REFUSED),
    (OSError, StoreUnavailableError, _FAILED),
)
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_NO_SHARED_MEMORY = {apsw.SQLITE_IOERR_SHMOPEN, apsw.SQLITE_IOERR_SHMSIZE, apsw.SQLITE_IOERR_SHMMAP}
_LEAST_ROOM = 32 * 1024  # bytes: what the -shm of a store takes at least


def shown(path: object) -> str:
    """A path for a message, quoted where necessary."""
    return shlex.quote(str(path).encode(errors="backslashreplace").decode())


def damaged(path: Path, reason: str) -> StoreDamagedError:
    """The error for a damaged store."""
    return StoreDamagedError(_DAMAGED.format(path=shown(path), reason=reason))


def held(path: Path) -> StoreUnavailableError:
    """The error for a store that another process holds."""
    return StoreUnavailableError(_BUSY.format(path=shown(path)))


def translate(error: Exception, path: Path, words: str | None = None) -> Exception:
    """The store error for an error of the driver or the system; any other error unchanged. `words` replace the usual message."""
    meaning = _meaning(error, path)
    if meaning is None:
        return error
    kind, usual = meaning
    places = {"path": shown(path), "directory": shown(path.parent)}
    return kind((words or usual).format(**places, reason=_reason(error, path)))


def _meaning(error: Exception, path: Path) -> tuple[type[DatabaseError], str] | None:
    if _is_disk_full(error, path):
        return StoreFullError, _TOO_FULL_TO_READ if _concerns_wal_or_shm(error) else _FULL
    if _is_on_read_only_mount(error, path):
        return StoreUnavailableError, _REFUSED
    return next(((ours, words) for theirs, ours, words in _MEANING if isinstance(error, theirs)), None)


def _reason(error: Exception, path: Path) -> str:
    if _is_disk_full(error, path):
        return "its disk is full"
    if _is_on_read_only_mount(error, path):
        return "its file system is mounted read-only"
    return (error.strerror if isinstance(error, OSError) else str(error)) or type(error).__name__


def _is_disk_full(error: Exception, path: Path) -> bool:
    """Whether the disk is full. For files other than the store, SQLite reports that it cannot open or read them."""
    if isinstance(error, OSError):
        return error.errno in _NO_ROOM
    return isinstance(error, apsw.FullError) or (
        isinstance(error, apsw.IOError | apsw.CantOpenError) and _is_full(path.parent)
    )


def _concerns_wal_or_shm(error: Exception) -> bool:
    """Whether SQLite could not make its -wal or -shm, without which it does not read either."""
    return isinstance(error, apsw.CantOpenError) or getattr(error, "extendedresult", 0) in _NO_SHARED_MEMORY


def _is_on_read_only_mount(error: Exception, path: Path) -> bool:
    """Whether the file system is read-only, which SQLite reports as unable to open the file."""
    if isinstance(error, OSError):
        return error.errno == errno.EROFS
    return isinstance(error, apsw.CantOpenError | apsw.ReadOnlyError) and _is_read_only(path.parent)


def _is_full(directory: Path) -> bool:
    """Whether this user gets no more blocks or files. A file system without limits says that it has none of them."""
    if not hasattr(os, "statvfs") or _is_read_only(directory):
        return False
    with suppress(OSError):
        disk = os.statvfs(directory)
        no_blocks = disk.f_blocks > 0 and disk.f_bavail * disk.f_frsize < _LEAST_ROOM
        return no_blocks or (disk.f_files > 0 and disk.f_favail == 0)
    return False


def _is_read_only(directory: Path) -> bool:
    if not hasattr(os, "statvfs"):
        return False
    with suppress(OSError):
        return bool(os.statvfs(directory).f_flag & os.ST_RDONLY)
    return False


@contextmanager
def translated(
    path: Path, kinds: tuple[type[Exception], ...] = (apsw.Error, OSError), words: str | None = None
) -> Iterator[None]:
    """Raise store errors instead of those of the driver and the system. `words` replace the usual message."""
    try:
        yield
    except kinds as error:
        raise translate(error, path, words) from error
