"""Errors of the driver and the system are translated, and statements are planned once."""

import errno
import os
from types import SimpleNamespace

import apsw
import pytest

from zapomni_db.errors import StoreFullError, StoreUnavailableError
from zapomni_db.sqlite import SQLiteStore
from zapomni_db.sqlite.connection import open_connection, translate


@pytest.mark.parametrize("error", [apsw.CantOpenError("unable to open database file"), apsw.ReadOnlyError("read-only")])
def test_a_file_system_that_is_mounted_read_only_is_named(tmp_path, monkeypatch, error):
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_flag=os.ST_RDONLY))
    assert "(its file system is mounted read-only)" in str(translate(error, tmp_path / "memory.db"))


def test_an_erofs_error_is_reported_as_a_read_only_file_system(tmp_path):
    error = translate(OSError(errno.EROFS, "Read-only file system"), tmp_path / "memory.db")
    assert isinstance(error, StoreUnavailableError)
    assert "mounted read-only" in str(error)


def disk(**differences):
    """The `statvfs` result of a file system with free space, with some changes."""
    some = {"f_flag": 0, "f_frsize": 4096, "f_blocks": 100, "f_bavail": 50, "f_files": 100, "f_favail": 50}
    return SimpleNamespace(**(some | differences))


@pytest.mark.parametrize(
    ("left", "is_full"),
    [
        ({}, False),
        ({"f_bavail": 0}, True),
        ({"f_bavail": 7}, True),
        ({"f_favail": 0}, True),
        ({"f_blocks": 0, "f_bavail": 0, "f_files": 0, "f_favail": 0}, False),
        ({"f_bavail": 0, "f_favail": 0, "f_flag": os.ST_RDONLY}, False),
    ],
    ids=["room", "no blocks", "too few blocks", "no files", "no limits", "read-only"],
)
@pytest.mark.parametrize("error", [apsw.IOError("disk I/O error"), apsw.CantOpenError("unable to open database file")])
def test_a_disk_is_full_where_the_system_says_so_although_the_driver_does_not(
    tmp_path, monkeypatch, error, left, is_full
):
    monkeypatch.setattr(os, "statvfs", lambda _: disk(**left))
    error = translate(error, tmp_path / "memory.db")
    assert isinstance(error, StoreFullError) is is_full


def test_other_open_errors_keep_the_message_of_the_driver(tmp_path):
    said = str(translate(apsw.CantOpenError("unable to open database file"), tmp_path / "nowhere" / "memory.db"))
    assert "(unable to open database file)" in said


async def test_a_directory_is_not_a_store(tmp_path):
    store = SQLiteStore(tmp_path)
    with pytest.raises(StoreUnavailableError, match="is a directory"):
        await store.stats("default")
    await store.close()


def test_a_statement_with_a_limit_is_planned_once_whatever_the_limit(tmp_path):
    file = tmp_path / "some.db"
    apsw.Connection(str(file)).execute("CREATE TABLE number(value)")
    connection = open_connection(file)
    planned: list[int] = []
    connection.authorizer = lambda action, *_: planned.append(action) or apsw.SQLITE_OK
    connection.execute("SELECT value FROM number LIMIT ?", (1,)).fetchall()
    once = len(planned)

    connection.execute("SELECT value FROM number LIMIT ?", (2,)).fetchall()

    assert once == len(planned) > 0
