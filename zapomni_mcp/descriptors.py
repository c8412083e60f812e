"""Claims standard input and output before any plugin is imported, so that stray output does not reach the client."""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TextIO

_STDIN, _STDOUT, _STDERR = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Descriptors:
    """Private duplicates of standard input and output for the client, which no child inherits."""

    read_fd: int
    write_fd: int


@cache
def claim_stdio() -> Descriptors:
    """Take the descriptors to the client; from now on standard input is empty and standard output is standard error.

    Raises OSError when standard input or output is closed.
    """
    descriptors = Descriptors(_input(), _output())
    _close_in_forks(descriptors)
    _flush_print()
    _redirect_print()
    return descriptors


def claim_stdout() -> TextIO:
    """Return the file for a command's own output; from now on anything else that is printed goes to standard error.

    A replaced ``sys.stdout`` (by a test runner, say) is returned as it is, and no descriptor is touched.
    Raises OSError when standard output is closed.
    """
    stdout = sys.stdout
    if stdout is not None and not _is_on(stdout, _STDOUT):
        sys.stdout = sys.stderr
        return stdout
    _flush_print()
    private = _output()
    _redirect_print()
    return open(private, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)


@cache
def _input() -> int:
    private = _private(_STDIN, "input", sys.__stdin__)
    _point(_STDIN, lambda: os.open(os.devnull, os.O_RDONLY))
    sys.stdin = open(_STDIN, encoding="utf-8", closefd=False)  # noqa: SIM115 - open for the life of the process
    return private


@cache
def _output() -> int:
    private = _private(_STDOUT, "output", sys.__stdout__)
    _point(_STDOUT, _standard_error)
    return private


def _private(fd: int, name: str, stream: TextIO | None) -> int:
    """Duplicate above the standard range. The stream is None where the descriptor was closed when Python started."""
    try:
        if stream is None:
            raise OSError(f"there is no descriptor {fd}")  # noqa: TRY301 - reported like a descriptor that was closed later
        return _duplicate(fd)
    except OSError as error:
        raise OSError(f"standard {name} is closed; start the command with standard {name} connected") from error


def _duplicate(fd: int) -> int:
    if sys.platform == "win32":
        return os.dup(fd)
    import fcntl

    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _STDERR + 1)


def _close_in_forks(descriptors: Descriptors) -> None:
    """Point them at the null device in forked children: the client waits until every copy of the output is closed."""

    def release() -> None:
        for fd in (descriptors.read_fd, descriptors.write_fd):
            _point(fd, lambda: os.open(os.devnull, os.O_RDWR), inheritable=False)

    if sys.platform != "win32":
        os.register_at_fork(after_in_child=release)


def _point(fd: int, opened: Callable[[], int], *, inheritable: bool = True) -> None:
    target = opened()
    os.dup2(target, fd, inheritable)
    os.close(target)


def _standard_error() -> int:
    try:
        return os.dup(_STDERR)
    except OSError:
        return os.open(os.devnull, os.O_WRONLY)


def _flush_print() -> None:
    """Write out what was printed and is still buffered, to wherever descriptor 1 points now."""
    if sys.stdout is not None:
        sys.stdout.flush()


def _redirect_print() -> None:
    sys.stdout = sys.stderr or open(_STDOUT, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - open for the life of the process


def _is_on(stream: TextIO, fd: int) -> bool:
    try:
        return stream.fileno() == fd
    except (AttributeError, OSError, ValueError):
        return False
