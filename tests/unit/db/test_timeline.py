"""Validity periods of relations, computed from statements."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zapomni_db.timeline import ALWAYS, Statement, timeline

BERLIN, PARIS, ROME = 1, 2, 3


def read(relation, since=None, until=None, timestamp=None, memory=1, **fields):
    """A statement extracted from a memory stored at 1000 or later."""
    return Statement(relation, since, until, timestamp, 1000 + memory, memory, memory, **fields)


def stated(relation, at, since=None, until=None, timestamp=None, **fields):
    """A statement by an agent."""
    return Statement(relation, since, until, timestamp, 0, at, at, stated_at=at, **fields)


def spans(*statements):
    return [(one.relation, one.since, one.until, one.ended_by) for one in timeline(statements)]


def test_a_fact_without_dates_has_no_period():
    assert timeline([]) == []


@pytest.mark.parametrize("order", list(permutations(range(3))), ids=lambda order: "".join(map(str, order)))
def test_an_extracted_fact_ends_where_its_replacement_begins_in_any_order(order):
    said = [
        read(place, since, memory=since, replaces=True) for place, since in ((BERLIN, 10), (PARIS, 20), (BERLIN, 30))
    ]
    assert sorted(spans(*(said[index] for index in order)), key=lambda span: span[1]) == [
        (BERLIN, 10, 20, 20),
        (PARIS, 20, 30, 30),
        (BERLIN, 30, None, None),
    ]


def test_relations_that_replace_nothing_stand_beside_each_other():
    assert spans(read(BERLIN, 10), read(PARIS, 20)) == [(BERLIN, 10, None, None), (PARIS, 20, None, None)]


def test_a_stated_end_before_the_replacing_one_stays():
    assert spans(read(BERLIN, 10, 15), read(PARIS, 20, replaces=True))[0] == (BERLIN, 10, 15, None)


def test_equal_statements_are_one_period():
    assert spans(read(BERLIN, 10), read(BERLIN, 12, memory=2)) == [(BERLIN, 10, None, None)]


def test_a_begin_after_the_end_is_another_period():
    assert spans(read(BERLIN, 10, 15), read(BERLIN, 20)) == [(BERLIN, 10, 15, None), (BERLIN, 20, None, None)]


def test_an_end_alone_closes_the_period_before_it():
    assert spans(read(BERLIN, 10), read(BERLIN, until=15, timestamp=90)) == [(BERLIN, 10, 15, None)]


def test_an_end_alone_leaves_the_begin_unknown():
    (only,) = timeline([read(BERLIN, until=15, timestamp=90)])
    assert (only.begin, only.since, only.until) == (ALWAYS, None, 15)


def test_the_same_end_said_twice_is_one_period():
    assert spans(read(BERLIN, 10, 15), read(BERLIN, until=15, timestamp=90)) == [(BERLIN, 10, 15, None)]


def test_an_end_alone_before_a_dated_period_is_of_an_earlier_one():
    assert spans(stated(BERLIN, 90, since=50), stated(BERLIN, 91, until=40)) == [
        (BERLIN, None, 40, None),
        (BERLIN, 50, None, None),
    ]


def test_an_end_alone_ends_a_period_that_only_seemed_to_begin_later():
    assert spans(stated(BERLIN, 90, timestamp=50), stated(BERLIN, 91, until=40)) == [(BERLIN, None, 40, None)]


def test_the_last_stated_end_counts():
    said = [stated(BERLIN, 90, since=10, until=20), stated(BERLIN, 91, until=30), stated(BERLIN, 92, until=25)]
    assert spans(*said) == [(BERLIN, 10, 25, None)]


def test_a_begin_that_is_stated_later_is_filled_in_and_not_changed():
    said = [stated(BERLIN, 90), stated(BERLIN, 91, since=10), stated(BERLIN, 92, since=5), stated(BERLIN, 93, since=50)]
    assert spans(*said) == [(BERLIN, 10, None, None)]


def test_a_timestamp_does_not_hide_an_earlier_begin():
    assert spans(stated(BERLIN, 90, timestamp=50), stated(BERLIN, 91, since=10)) == [(BERLIN, 10, None, None)]
    assert spans(stated(BERLIN, 90, timestamp=50), stated(BERLIN, 91, since=60)) == [(BERLIN, 50, None, None)]


def test_a_fact_replaced_before_its_guessed_begin_has_an_unknown_begin():
    said = [stated(BERLIN, 90), stated(PARIS, 91, since=50, replaces=True)]
    assert spans(*said) == [(BERLIN, None, 50, 91), (PARIS, 50, None, None)]
    assert timeline(said)[0].begin == ALWAYS


def test_a_fact_replaced_before_its_stated_begin_was_never_true():
    said = [stated(BERLIN, 90, since=60), stated(PARIS, 91, since=50, replaces=True)]
    assert spans(*said) == [(BERLIN, 60, 60, 91), (PARIS, 50, None, None)]


def test_a_planned_end_comes_sooner_by_a_replacing_statement():
    said = [stated(BERLIN, 90, since=10, until=200), stated(PARIS, 91, replaces=True)]
    assert spans(*said)[0] == (BERLIN, 10, 91, 91)


def test_a_planned_end_stays_before_a_replacing_statement_of_a_later_time():
    said = [stated(BERLIN, 90, since=10, until=200), stated(PARIS, 91, since=300, replaces=True)]
    assert spans(*said)[0] == (BERLIN, 10, 200, None)


def test_stated_facts_replace_what_was_read_whatever_its_date():
    said = [read(BERLIN, 80, replaces=True), stated(PARIS, 90, since=50, replaces=True)]
    assert spans(*said) == [(BERLIN, 80, 80, 90), (PARIS, 50, None, None)]


def test_a_replaced_fact_can_be_stated_again():
    said = [stated(BERLIN, 90), stated(PARIS, 91, replaces=True), stated(BERLIN, 92)]
    assert spans(*said) == [(BERLIN, None, 91, 91), (BERLIN, None, None, None), (PARIS, None, None, None)]


MOMENTS = st.one_of(st.none(), st.integers(0, 20))
STATEMENTS = st.lists(
    st.builds(
        Statement,
        relation=st.integers(1, 3),
        since=MOMENTS,
        until=MOMENTS,
        timestamp=MOMENTS,
        created_at=st.integers(0, 20),
        memory=st.integers(1, 9),
        number=st.integers(0, 99),
        stated_at=MOMENTS,
        replaces=st.booleans(),
    ),
    max_size=8,
    unique_by=lambda one: one.number,
)


def seen(statements):
    return sorted(map(repr, timeline(statements)))


@given(STATEMENTS, st.randoms())
def test_the_order_of_arrival_does_not_matter(statements, chance):
    assert seen(chance.sample(statements, len(statements))) == seen(statements)


@given(STATEMENTS, st.integers(1, 3))
def test_the_last_statement_that_replaces_leaves_no_other_open(statements, relation):
    last = stated(relation, 1000, replaces=True)
    is_open = {one.relation for one in timeline([*statements, last]) if one.until is None}
    assert is_open == {relation}


@given(STATEMENTS, st.integers(1, 3))
def test_relations_that_replace_nothing_do_not_touch_each_other(statements, relation):
    said = [one._replace(replaces=False) for one in statements]
    alone = [one for one in said if one.relation == relation]
    assert [one for one in timeline(said) if one.relation == relation] == timeline(alone)


@given(STATEMENTS)
def test_every_statement_that_only_ends_a_relation_leaves_it_ended(statements):
    last = stated(BERLIN, 1000, until=1000)
    assert all(one.until is not None for one in timeline([*statements, last]) if one.relation == BERLIN)
