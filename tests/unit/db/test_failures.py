"""What the driver and the system say becomes a sentence that says what to do."""

import os
from types import SimpleNamespace

import apsw
import pytest

from zapomni_db.errors import StoreUnavailableError
from zapomni_db.sqlite import SQLiteStore
from zapomni_db.sqlite.failures import translate


@pytest.mark.parametrize("error", [apsw.CantOpenError("unable to open database file"), apsw.ReadOnlyError("read-only")])
def test_a_file_system_that_is_mounted_read_only_is_named(tmp_path, monkeypatch, error):
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_flag=os.ST_RDONLY))
    assert "(its file system is mounted read-only)" in str(translate(error, tmp_path / "memory.db"))


def test_any_other_file_that_cannot_be_opened_is_told_in_the_drivers_words(tmp_path):
    said = str(translate(apsw.CantOpenError("unable to open database file"), tmp_path / "nowhere" / "memory.db"))
    assert "(unable to open database file)" in said


async def test_a_directory_is_no_store(tmp_path):
    store = SQLiteStore(tmp_path)
    with pytest.raises(StoreUnavailableError, match="is a directory: name a file in it"):
        await store.stats("default")
    await store.close()
