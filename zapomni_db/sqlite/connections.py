"""Connections to the file, and transactions on them."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

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
        # Else a statement with a limit is planned anew each time: its plan might depend on the number.
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        settings = _SETTINGS + (_MACOS_SETTINGS if sys.platform == "darwin" else "")
        connection.execute(settings).fetchall()  # to the end: it would stop at the first that answers
    return connection


@contextmanager
def impatient(connection: apsw.Connection) -> Iterator[None]:
    """What somebody else keeps from being done is not waited for."""
    connection.set_busy_timeout(0)
    try:
        yield
    finally:
        connection.set_busy_timeout(_BUSY_MILLISECONDS)


@contextmanager
def closed_on_error(connection: apsw.Connection) -> Iterator[None]:
    """An error would keep the connection open for as long as somebody keeps the error."""
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
