"""Lines on standard error, which nobody may read: a client that takes none of them does not keep the server waiting."""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from threading import RLock

PATIENCE_SECONDS = 0.25


class LineWriter:
    """Writes whole lines. One for which there is no room, after a short wait, is lost, and so are the next ones.

    As soon as there is room again, a line of ``told_of`` says how many were lost.
    """

    def __init__(self, told_of: Callable[[int], str]) -> None:
        self._told_of = told_of
        self._lost = 0
        self._is_torn = False
        self._renew_lock()
        if sys.platform != "win32":
            os.register_at_fork(after_in_child=self._renew_lock)

    def write(self, line: str) -> None:
        # sys.stderr is None without a console, closed or broken when the client went away; nobody is left to tell.
        with suppress(OSError, ValueError, AttributeError), self._lock:
            fd = _descriptor()
            if fd is None:
                sys.stderr.write(f"{line}\n")
                sys.stderr.flush()
            else:
                self._write(fd, line)

    def _renew_lock(self) -> None:
        self._lock = RLock()  # a line may be written while another one is, by an object's finalizer

    def _write(self, fd: int, line: str) -> None:
        if self._lost and self._put(fd, self._told_of(self._lost)):
            self._lost = 0
        if self._lost or not self._put(fd, line):
            self._lost += 1

    def _put(self, fd: int, line: str) -> bool:
        """Whether there was room for the whole line; one that was torn is at least ended before the next."""
        data = ("\n" * self._is_torn + f"{line}\n").encode(errors="backslashreplace")
        rest = memoryview(data)
        while rest and _has_room(fd, 0.0 if self._lost else PATIENCE_SECONDS):
            rest = rest[os.write(fd, rest[:_PIECE]) :]
        self._is_torn = bool(rest) and (self._is_torn or len(rest) < len(data))
        return not rest


if sys.platform == "win32":
    _PIECE = 4096

    def _descriptor() -> int | None:
        """Windows cannot tell whether there is room."""
        return None

    def _has_room(_fd: int, _seconds: float) -> bool:
        return True

else:
    import select

    _PIECE = select.PIPE_BUF  # what a pipe with room takes without waiting

    def _descriptor() -> int | None:
        """What `sys.stderr` writes to, or None where it is no file of the system's."""
        try:
            return sys.stderr.fileno()
        except (AttributeError, OSError, ValueError):
            return None

    def _has_room(fd: int, seconds: float) -> bool:
        look = select.poll()
        look.register(fd, select.POLLOUT)
        return bool(look.poll(seconds * 1000))
