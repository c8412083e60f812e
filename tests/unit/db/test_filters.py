"""Validation of search filters."""

import json
from datetime import UTC, datetime

import pytest

from zapomni_db.errors import InvalidInputError
from zapomni_db.filters import Filter, parse_filter, parse_metadata_filter


def test_empty_filters_match_everything():
    assert not parse_filter(None)
    assert not parse_filter({})
    assert Filter() == parse_filter({})


def test_a_value_and_a_list_of_values_are_the_same():
    assert parse_filter({"source": "a", "tags": "b"}) == parse_filter({"source": ["a"], "tags": ["b", "b"]})


def test_each_key_finds_its_place():
    wanted = parse_filter({"kind": "k", "conversation": "c", "author": ["a", "b"], "project": ["x", 1, True, None]})
    assert wanted == Filter(
        kinds=("k",), conversations=("c",), authors=("a", "b"), metadata={"project": ("x", 1, True, None)}
    )


@pytest.mark.parametrize("spelled", ["5F6C3A52-0000-4000-8000-0000000000AB", "5f6c3a52000040008000" + "0000000000ab"])
def test_a_session_is_found_however_its_id_is_written(spelled):
    as_kept = "5f6c3a52-0000-4000-8000-0000000000ab"
    assert parse_filter({"conversation": ["talk", spelled]}).conversations == ("talk", spelled, as_kept)
    assert parse_filter({"conversation": as_kept}).conversations == (as_kept,)


def test_an_object_asks_for_each_value_in_it():
    wanted = parse_filter({"a": {"b": 1, "c": {"d": ["x", "y"]}}})
    assert wanted.metadata == {"a": {"b": (1,), "c": {"d": ("x", "y")}}}
    assert list(wanted.metadata_values) == [(("a", "b"), (1,)), (("a", "c", "d"), ("x", "y"))]
    with pytest.raises(InvalidInputError, match="more than 100"):
        parse_filter({"a": {f"key {number}": number for number in range(101)}})


def test_a_number_that_json_cannot_hold_is_refused():
    with pytest.raises(InvalidInputError, match=r"^filters\.size "):
        parse_filter({"size": 10**5000})
    with pytest.raises(InvalidInputError, match=r"^asked\.size "):
        parse_metadata_filter("asked", {"size": [1, -(10**5000)]})


def test_a_day_covers_the_whole_day_and_a_time_without_a_zone_is_utc():
    wanted = parse_filter({"date_from": "2026-05-08", "date_to": "2026-05-08"})
    assert wanted.date_from == datetime(2026, 5, 8, tzinfo=UTC)
    assert wanted.date_to == datetime(2026, 5, 8, 23, 59, 59, 999_999, tzinfo=UTC)
    assert parse_filter({"date_from": "2026-05-08T12:00"}).date_from == datetime(2026, 5, 8, 12, tzinfo=UTC)
    assert parse_filter({"date_to": "2026-05-08T12:00+02:00"}).date_to == datetime(2026, 5, 8, 10, tzinfo=UTC)


def test_more_than_a_hundred_tags_and_keys_are_refused():
    many = {"tags": ["a", "b"]} | {f"key {number}": 1 for number in range(99)}
    with pytest.raises(InvalidInputError, match=r"^filters .*\b100\b"):
        parse_filter(many)
    with pytest.raises(InvalidInputError, match=r"^asked .*\b100\b"):
        parse_metadata_filter("asked", many)


@pytest.mark.parametrize("day", ["2026-05-08", "20260508", "2026-W19-5", "2026W195"])
def test_a_day_may_be_written_as_iso_8601_allows(day):
    wanted = parse_filter({"date_from": day, "date_to": day})
    assert wanted == parse_filter({"date_from": "2026-05-08", "date_to": "2026-05-08"})


@pytest.mark.parametrize(
    "filters",
    [
        {"tags": []},
        {"tags": [1]},
        {"tags": ""},
        {"source": None},
        {"kind": {"a": 1}},
        {"date_from": "yesterday"},
        {"date_from": 5},
        {"date_to": "2026-13-01"},
        {"project": {}},
        {"project": {"nested": []}},
        {"project": {"nested": [{"deeper": 1}]}},
        {"project": json.loads('{"a":' * 200 + "1" + "}" * 200)},
        {"project": []},
        {"project": [["a"]]},
        {"date_from": "2026-05-09", "date_to": "2026-05-08"},
    ],
    ids=repr,
)
def test_a_wrong_filter_is_refused_by_name(filters):
    with pytest.raises(InvalidInputError, match=f"filters.{next(iter(filters))}"):
        parse_filter(filters)


@pytest.mark.parametrize("key", ["tags", "source", "author", "conversation", "kind", "project"])
@pytest.mark.parametrize("value", ["half \ud800", ["whole", "\udfff"]], ids=ascii)
def test_a_lone_surrogate_is_refused_with_field_and_rule(key, value):
    with pytest.raises(InvalidInputError, match=rf"^filters\.{key} must not contain lone surrogates"):
        parse_filter({key: value})


@pytest.mark.parametrize("key", ["tags", "project"])
def test_a_lone_surrogate_is_refused_with_the_name_of_the_argument(key):
    with pytest.raises(InvalidInputError, match=rf"^asked\.{key} must not contain lone surrogates"):
        parse_metadata_filter("asked", {key: "\udcff"})


@pytest.mark.parametrize(
    ("key", "rule"), [("\udcff", "a key of filters must not contain lone surrogates"), (5, "filters must have texts")]
)
def test_a_key_must_be_a_string(key, rule):
    with pytest.raises(InvalidInputError, match=f"^{rule}"):
        parse_filter({key: "value"})
