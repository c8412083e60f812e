"""Ids of memories are UUIDs, and sort as they were made."""

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from zapomni_db.sqlite.ids import new_id

micros = st.integers(0, 253402300799999999)  # to the end of the year 9999


@given(micros)
def test_an_id_is_a_uuid_of_version_7_that_holds_its_millisecond(moment):
    made = UUID(new_id(moment))
    assert (made.version, made.variant) == (7, "specified in RFC 4122")
    assert made.int >> 80 == moment // 1000


@given(micros, st.integers(1000, 10**12))
def test_what_is_made_later_sorts_later(moment, later):
    assert new_id(moment) < new_id(moment + later)


def test_no_two_of_one_moment_are_alike():
    assert len({new_id(1) for _ in range(1000)}) == 1000
