"""Turns what the driver and the system raise into this floor's errors, in plain words."""

import errno
import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw

from zapomni_db.errors import DatabaseError, StoreDamagedError, StoreFullError, StoreUnavailableError

_FULL = "There is no room left on the disk of the store {path}: nothing was written. Free some space and try again."
_DAMAGED = (
    "The store {path} is damaged ({reason}); nothing was changed."
    " Go back to a backup with zapomni restore-backup, or move the file away to begin anew."
)
_BUSY = "Another process holds the store {path}. Try again in a moment, or look for a process that hangs."
_REFUSED = (
    "The store {path} cannot be opened or written ({reason})."
    " This user must be able to read and write the file, and its directory {directory} too."
)
_FAILED = "Reading or writing the store {path} failed ({reason}). Check the disk, its quota and its limits."
_STRANGE = "The store {path} could not do what was asked of it ({reason})."

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
    (apsw.Error, DatabaseError, _STRANGE),
    (PermissionError, StoreUnavailableError, _REFUSED),
    (OSError, StoreUnavailableError, _FAILED),
)
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def shown(path: object) -> str:
    """A path in a message: quoted where it would not be seen where it ends."""
    return shlex.quote(str(path))


def damaged(path: Path, reason: str) -> StoreDamagedError:
    """What is said of a store that cannot be trusted."""
    return StoreDamagedError(_DAMAGED.format(path=shown(path), reason=reason))


def held(path: Path) -> StoreUnavailableError:
    """What is said when another process does not let go."""
    return StoreUnavailableError(_BUSY.format(path=shown(path)))


def translate(error: Exception, path: Path) -> Exception:
    """Our error for one of the driver's or the system's; any other as it is."""
    if isinstance(error, OSError) and error.errno in _NO_ROOM:
        return StoreFullError(_FULL.format(path=shown(path)))
    for kind, meaning, words in _MEANING:
        if isinstance(error, kind):
            places = {"path": shown(path), "directory": shown(path.parent)}
            return meaning(words.format(**places, reason=_reason(error, path)))
    return error


def _reason(error: Exception, path: Path) -> str:
    if isinstance(error, apsw.CantOpenError | apsw.ReadOnlyError) and _is_on_read_only_mount(path.parent):
        return "its file system is mounted read-only"
    return (error.strerror if isinstance(error, OSError) else str(error)) or type(error).__name__


def _is_on_read_only_mount(directory: Path) -> bool:
    """SQLite says of it that it is unable to open the file."""
    if not hasattr(os, "statvfs"):
        return False
    with suppress(OSError):
        return bool(os.statvfs(directory).f_flag & os.ST_RDONLY)
    return False


@contextmanager
def translated(path: Path, kinds: tuple[type[Exception], ...] = (apsw.Error, OSError)) -> Iterator[None]:
    """Raise our errors instead of the driver's and the system's."""
    try:
        yield
    except kinds as error:
        raise translate(error, path) from error
