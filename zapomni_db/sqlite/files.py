"""The files of a store: made for their owner alone, on a disk of this machine, and still the same while they are open."""

import glob
import os
import re
import time
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from zapomni_db.errors import StoreReplacedError, StoreUnavailableError
from zapomni_db.sqlite.connection import damaged, shown, translate
from zapomni_db.sqlite.lock import LockFile, MainFile, first_in_wal

_SMALLEST = 512  # bytes of a page: SQLite would take a shorter file for a new one, and overwrite it
_LONGEST_PATH, _LONGEST_NAME = 504, 247  # bytes: "-journal" comes behind them, within 512 and 255
_BEFORE = ".before-"
_MOUNTS = Path("/proc/self/mountinfo")
_NETWORK = ("9p", "afs", "ceph", "cifs", "fuse.sshfs", "glusterfs", "lustre", "ncpfs", "nfs", "nfs4", "smb3", "smbfs")


def wal_of(path: Path) -> Path:
    """The file with what was committed last."""
    return Path(f"{path}-wal")


def real_path(path: Path) -> Path:
    """The path with all symlinks resolved."""
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise StoreUnavailableError(f"Cannot resolve the path {shown(path)} ({error}); check its symlinks.") from error


def check_name(path: Path) -> None:
    """SQLite takes names in UTF-8 only, where the system takes any bytes, and shorter ones than the system does."""
    try:
        longest = max(len(str(path).encode()) - _LONGEST_PATH, len(path.name.encode()) - _LONGEST_NAME)
    except UnicodeEncodeError:
        raise StoreUnavailableError(
            f"The path {shown(path)} is not UTF-8, and SQLite opens no other files: choose another name."
        ) from None
    if longest > 0:
        raise StoreUnavailableError(
            f"The path {shown(path)} is too long for SQLite: choose one of at most {_LONGEST_PATH} bytes,"
            f" and {_LONGEST_NAME} for the file's name."
        )


def make_file(path: Path, lock: LockFile) -> None:
    """Create an empty file that only its owner may read, unless it exists. Refuses paths where a store was lost."""
    check_name(path)
    if path.is_dir():
        raise StoreUnavailableError(f"The store {shown(path)} is a directory: name a file in it.")
    if path.exists() and not path.is_file():
        raise StoreUnavailableError(f"The store {shown(path)} is not a regular file: name a file.")
    _refuse_lost(path, lock)
    _make_directory(path.parent)
    _refuse_mount(path)
    _refuse_other_names(path)
    if not path.exists():
        lock.erase_note()
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def _refuse_lost(path: Path, lock: LockFile) -> None:
    """SQLite would take an emptied file for a new one, and would throw away the -wal of one that is missing or empty."""
    noted = lock.read_note()
    wal_size, size = size_of(wal_of(path)), size_of(path)
    if size >= _SMALLEST:
        _refuse_strange_wal(path, wal_size)
        return
    if size:
        raise damaged(path, "the file is too short")
    if wal_size:
        raise damaged(path, "the file is missing or empty, but its -wal is there")
    if noted and path.is_file() and lock.read_note() == noted:  # else another process is making it just now
        raise damaged(path, "the file is empty, but memories were kept in it")


def _refuse_strange_wal(path: Path, wal_size: int) -> None:
    """SQLite takes whichever -wal it finds, and would mix the two. A backup says in its header that it has none.

    The size was taken first: a new store says that it has a -wal before there is one. The -wal is read before the file, as
    another process may overwrite the -wal once the file holds its contents.
    """
    if not wal_size:
        return
    first = first_in_wal(wal_of(path))
    with closing(MainFile(path)) as file:
        if not file.is_backup() and file.fits(first):
            return
    raise StoreUnavailableError(
        f"The file {shown(path)} was copied over a store whose -wal is still there, and does not belong to it. Nothing was"
        " changed. Put the backup in the place of the store with: zapomni restore-backup FILE. Or, to go on with the file as"
        f" it is, delete {shown(wal_of(path))} and {shown(f'{path}-shm')}."
    )


def size_of(path: Path) -> int:
    """The size in bytes, 0 for a missing file: another process may remove a -wal at any moment."""
    try:
        return path.stat().st_size
    except (FileNotFoundError, NotADirectoryError):
        return 0


def _make_directory(directory: Path) -> None:
    if not directory.exists():
        _make_directory(directory.parent)
        directory.mkdir(mode=0o700, exist_ok=True)


def _refuse_mount(path: Path) -> None:
    """The processes of a store share memory, which they cannot over a network, and files beside it."""
    if not _MOUNTS.exists():
        return
    where, kind = mount_of(path, _MOUNTS.read_text(errors="replace"))
    if kind in _NETWORK:
        raise StoreUnavailableError(
            f"The store {shown(path)} is on a network file system ({kind}): choose a local disk."
        )
    if where == str(path):
        raise StoreUnavailableError(
            f"The store {shown(path)} is mounted as a single file, as into a container, without the files that SQLite keeps"
            " beside it: what was written last would be lost with them. Mount its directory instead."
        )


def name_before(path: Path) -> Path:
    """Another name for a file whose own is to be another's."""
    return path.with_name(f"{path.name}{_BEFORE}{time.strftime('%Y%m%d-%H%M%S')}-{uuid4().hex[:4]}")


def _refuse_other_names(path: Path) -> None:
    """By each of its names a file has a -wal of its own, of which the others know nothing: together they destroy it.

    What is called as before a backup took its place has both names for a moment, or for good if that was cut short.
    """
    if not path.exists() or path.stat().st_nlink == 1:
        return
    ours = [name for name in path.parent.glob(f"{glob.escape(path.name)}{_BEFORE}*") if name.samefile(path)]
    if path.stat().st_nlink > 1 + len(ours):
        raise StoreUnavailableError(
            f"The store {shown(path)} has another name too (a hard link); using both would destroy it."
            f" Delete the other name, or make a copy of it: find DIRECTORY -samefile {shown(path)} lists both."
        )


def mount_of(path: Path, mounts: str) -> tuple[str, str]:
    """The mount point and the kind of the file system of a path, by the text of /proc/self/mountinfo."""
    found, kind = "", ""
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        where = re.sub(r"\\(\d{3})", lambda octal: chr(int(octal[1], 8)), before.split(" ")[4])
        if len(where) >= len(found) and path.is_relative_to(where):
            found, kind = where, after.split(" ")[0]
    return found, kind


@dataclass(frozen=True, slots=True)
class OpenedFiles:
    """Which files a path led to when it was opened. SQLite goes on writing into files that were taken away."""

    path: str
    wal: str
    numbers: tuple[int, int]

    @property
    def file(self) -> int:
        """The number of the store's own file."""
        return self.numbers[0]

    @classmethod
    def of(cls, named: Path, path: Path) -> "OpenedFiles":
        """The files as they are now; `named` is the path before its links were followed, which may lead elsewhere later."""
        names = (str(named), str(wal_of(path)))
        return cls(*names, _numbers(*names))

    def check(self) -> None:
        """Raise where the path leads to other files now."""
        try:
            same = _numbers(self.path, self.wal) == self.numbers
        except (FileNotFoundError, NotADirectoryError):
            same = False
        except OSError as error:
            raise translate(error, Path(self.path)) from error
        if not same:
            raise StoreReplacedError(
                f"The file {shown(self.path)} or its -wal was replaced or removed while it was open, as by zapomni"
                " restore-backup. Start the server again to go on with what is there now, or put back what was there."
            )


def _numbers(path: str, wal: str) -> tuple[int, int]:
    return os.stat(path).st_ino, os.stat(wal).st_ino  # noqa: PTH116 - asked at each transaction, and several times faster
