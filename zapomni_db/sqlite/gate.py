"""One writer at a time, among all processes: a lock on a file beside the store.

SQLite's own waiting starves a writer for seconds where ten write at once; a file lock is handed on in order, and the system
lets go of it when a process dies. Where there is no such lock (Windows, some file systems), SQLite's waiting remains.
"""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from zapomni_db.sqlite.failures import held

_PAUSE_SECONDS = 0.005


class Gate:
    """Held around everything that writes."""

    def __init__(self, store: Path) -> None:
        self._store = store
        self._descriptor: int | None = None

    @contextmanager
    def hold(self, patience: float | None = None) -> Iterator[None]:
        """Wait for the gate and hold it; with patience, in seconds, at most so long."""
        descriptor = self._open()
        if patience is None:
            _lock(descriptor)
        else:
            self._try_for(descriptor, patience)
        try:
            yield
        finally:
            _unlock(descriptor)

    def close(self) -> None:
        """Let go of the file."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _open(self) -> int:
        if self._descriptor is None:
            self._descriptor = open_beside(self._store)
        return self._descriptor

    def _try_for(self, descriptor: int, patience: float) -> None:
        end = time.monotonic() + patience
        while not _try_lock(descriptor):
            if time.monotonic() > end:
                raise held(self._store)
            time.sleep(_PAUSE_SECONDS)


def open_beside(store: Path) -> int:
    """A descriptor of the file beside the store."""
    return os.open(f"{store}.lock", os.O_RDWR | os.O_CREAT, 0o600)


if sys.platform == "win32":

    def _lock(_descriptor: int) -> None: ...
    def _unlock(_descriptor: int) -> None: ...
    def _try_lock(_descriptor: int) -> bool:
        return True

else:
    import fcntl

    def _lock(descriptor: int) -> None:
        with suppress(OSError):  # a file system without such locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)

    def _unlock(descriptor: int) -> None:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)

    def _try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            return True
        return True
