"""The gate keeps others out where files can be locked, and nobody where they cannot."""

import errno
import sys

import pytest

from zapomni_db.errors import StoreUnavailableError
from zapomni_db.sqlite.gate import Gate

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no such locks")


def test_who_has_no_patience_is_told_that_it_is_held(tmp_path):
    first, second = Gate(tmp_path / "memory.db"), Gate(tmp_path / "memory.db")
    with first.hold(), pytest.raises(StoreUnavailableError), second.hold(0):
        pytest.fail("two hold it at once")
    with second.hold(0):
        pass
    first.close()
    second.close()


@pytest.mark.parametrize("patience", [None, 0])
def test_where_files_cannot_be_locked_nobody_waits(tmp_path, monkeypatch, patience):
    def refuse(_descriptor, _operation):
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    gate = Gate(tmp_path / "memory.db")
    with gate.hold(patience):
        pass
    gate.close()
