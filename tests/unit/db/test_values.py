"""Texts, JSON and moments are stored without loss."""

import json
from datetime import UTC, datetime, timedelta, timezone
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zapomni_db import values
from zapomni_db.errors import InvalidInputError
from zapomni_db.values import new_id

any_text = st.text(max_size=20)
any_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | any_text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(any_text, inner, max_size=3),
    max_leaves=6,
)
any_metadata = st.dictionaries(any_text, any_json, max_size=4)


@given(any_metadata)
def test_json_comes_back_exactly(value):
    assert repr(values.from_json(values.to_json("metadata", value))) == repr(value)


@given(any_metadata)
def test_canonical_json_does_not_depend_on_the_order_of_keys(value):
    turned = dict(reversed(list(value.items())))
    assert values.to_json("m", value, canonical=True) == values.to_json("m", turned, canonical=True)


@pytest.mark.parametrize("value", [{"a": float("inf")}, {"a": {1, 2}}, {"a": "\udfff"}, {"a": 10**5000}])
def test_values_that_are_not_json_are_refused_by_name(value):
    with pytest.raises(InvalidInputError, match="metadata"):
        values.to_json("metadata", value)


def test_json_that_is_too_deep_is_refused_by_name():
    deep = json.loads("[" * 900 + "]" * 900)
    for _ in range(200_000):
        deep = [deep]
    with pytest.raises(InvalidInputError, match="metadata"):
        values.to_json("metadata", deep)


@given(st.datetimes(timezones=st.just(UTC)))
def test_moments_come_back_to_the_microsecond(moment):
    assert values.from_micros(values.checked_micros("timestamp", moment)) == moment


def test_a_moment_without_a_zone_is_utc():
    assert values.to_micros(datetime(1970, 1, 1, 0, 0, 1)) == 1_000_000  # noqa: DTZ001


def test_a_moment_that_is_before_the_year_one_in_utc_is_refused():
    with pytest.raises(InvalidInputError, match="timestamp"):
        values.checked_micros("timestamp", datetime.min.replace(tzinfo=timezone(timedelta(hours=3))))


@given(st.text(), st.data())
def test_byte_offsets_cut_the_same_as_characters(text, data):
    place = st.integers(0, len(text))
    start, end = sorted([data.draw(place), data.draw(place)])
    offsets = values.byte_offsets(text, [end, start])
    assert text.encode()[offsets[start] : offsets[end]].decode() == text[start:end]


def test_a_digest_depends_on_the_boundaries_of_its_parts():
    assert values.digest(b"ab", b"c") != values.digest(b"a", b"bc")


@given(st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_listed_integers_are_read_back(numbers):
    assert values.integers(",".join(map(str, numbers))).tolist() == numbers
    assert values.integers(None).dtype == np.int64


micros = st.integers(0, 253402300799999999)  # to the end of the year 9999


@given(micros)
def test_an_id_is_a_uuid_of_version_7_that_holds_its_millisecond(moment):
    made = UUID(new_id(moment))
    assert (made.version, made.variant) == (7, "specified in RFC 4122")
    assert made.int >> 80 == moment // 1000


@given(micros, st.integers(1000, 10**12))
def test_later_ids_sort_later(moment, later):
    assert new_id(moment) < new_id(moment + later)


def test_ids_of_the_same_moment_differ():
    assert len({new_id(1) for _ in range(1000)}) == 1000
