"""The files of a store: made for their owner alone, on a disk of this machine, and still the same while they are open."""

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from zapomni_db.errors import StoreReplacedError, StoreUnavailableError
from zapomni_db.sqlite.failures import damaged, shown
from zapomni_db.sqlite.witness import Witness

_SMALLEST = 512  # bytes of a page: SQLite would take a shorter file for a new one, and overwrite it
_MOUNTS = Path("/proc/self/mountinfo")
_NETWORK = ("9p", "afs", "ceph", "cifs", "fuse.sshfs", "glusterfs", "lustre", "ncpfs", "nfs", "nfs4", "smb3", "smbfs")


def wal_of(path: Path) -> Path:
    """The file with what was committed last."""
    return Path(f"{path}-wal")


def check_name(path: Path) -> None:
    """SQLite takes names in UTF-8 only, where the system takes any bytes."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise StoreUnavailableError(
            f"The path {shown(path)} is not UTF-8, and SQLite opens no other files: choose another name."
        ) from None


def make_file(path: Path, witness: Witness) -> None:
    """An empty file, readable by its owner alone, unless there is a file; nothing where one was and is no more."""
    check_name(path)
    if path.is_dir():
        raise StoreUnavailableError(f"The store {shown(path)} is a directory: name a file in it.")
    _refuse_lost(path, witness)
    _make_directory(path.parent)
    _refuse_network(path)
    if not path.exists():
        witness.forget()
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def _refuse_lost(path: Path, witness: Witness) -> None:
    """SQLite would take an emptied file for a new one, and would throw away the -wal of one that is missing or empty."""
    noted = witness.read()
    wal_size, size = _size(wal_of(path)), _size(path)
    if size >= _SMALLEST:
        _refuse_strange_wal(path, wal_size)
        return
    if size:
        raise damaged(path, "the file is too short")
    if wal_size:
        raise damaged(path, "the file is missing or empty, but its -wal is there")
    if noted and path.is_file() and witness.read() == noted:  # else another process is making it just now
        raise damaged(path, "the file is empty, but memories were kept in it")


def _refuse_strange_wal(path: Path, wal_size: int) -> None:
    """A copy says that it has no -wal. SQLite would take whichever it finds, and mix the two.

    The size was taken first: a new store says that it has a -wal before there is one.
    """
    if not wal_size:
        return
    with path.open("rb") as file:
        header = file.read(20)
    if header[18:20] == b"\1\1":
        raise StoreUnavailableError(
            f"The file {shown(path)} was put in the place of a store whose -wal is still there, and which does not belong to it:"
            f" delete {shown(wal_of(path))} and {shown(f'{path}-shm')} to go on with the file as it is. Nothing was changed."
            " The next time, zapomni restore-backup does it all."
        )


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _make_directory(directory: Path) -> None:
    if not directory.exists():
        _make_directory(directory.parent)
        directory.mkdir(mode=0o700, exist_ok=True)


def _refuse_network(path: Path) -> None:
    """The processes of a store share memory, which they cannot over a network."""
    if _MOUNTS.exists() and (kind := file_system(path, _MOUNTS.read_text(errors="replace"))) in _NETWORK:
        raise StoreUnavailableError(
            f"The store {shown(path)} is on a network file system ({kind}): choose a local disk."
        )


def file_system(path: Path, mounts: str) -> str:
    """The kind of file system that a path is on, by the text of /proc/self/mountinfo."""
    found, kind = "", ""
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        where = re.sub(r"\\(\d{3})", lambda octal: chr(int(octal[1], 8)), before.split(" ")[4])
        if len(where) >= len(found) and path.is_relative_to(where):
            found, kind = where, after.split(" ")[0]
    return kind


@dataclass(frozen=True, slots=True)
class Footprint:
    """Which files a path led to when it was opened. SQLite goes on writing into files that were taken away."""

    path: str
    wal: str
    numbers: tuple[int, int]

    @classmethod
    def of(cls, path: Path) -> "Footprint":
        """The files as they are now."""
        named = (str(path), str(wal_of(path)))
        return cls(*named, _numbers(*named))

    def check(self) -> None:
        """Raise where the path leads to other files now."""
        try:
            same = _numbers(self.path, self.wal) == self.numbers
        except FileNotFoundError:
            same = False
        if not same:
            raise StoreReplacedError(
                f"The file {shown(self.path)} or its -wal was replaced or removed while it was open, as by zapomni"
                " restore-backup. Start the server again to go on with what is there now, or put back what was there."
            )


def _numbers(path: str, wal: str) -> tuple[int, int]:
    return os.stat(path).st_ino, os.stat(wal).st_ino  # noqa: PTH116 - asked at each transaction, and several times faster
