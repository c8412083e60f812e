"""Arrays that grow."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zapomni_db.sqlite.columns import Column


@given(st.lists(st.lists(st.integers(0, 99), max_size=1500), max_size=6))
def test_what_was_handed_out_stays_as_it_was(batches):
    column, handed_out, everything = Column(np.empty((2, 0), np.int64)), [], []
    for batch in batches:
        column.extend(np.array([batch, batch], np.int64))
        everything += batch
        handed_out.append((column.rows, list(everything)))
    assert all(rows.tolist() == [then, then] for rows, then in handed_out)


def test_readers_cannot_write():
    with pytest.raises(ValueError, match="read-only"):
        Column(np.arange(3)).rows[0] = 1


def test_rows_for_readers_only_can_be_followed_by_nothing_and_by_more():
    rows = np.arange(3)
    rows.flags.writeable = False
    column = Column(rows)
    column.extend(np.empty(0, rows.dtype))
    column.extend(np.array([3]))
    assert column.rows.tolist() == [0, 1, 2, 3]
