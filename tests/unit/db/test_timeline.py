"""When relations were true, from what is said of them."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zapomni_db.periods import ALWAYS, Statement, timeline

BERLIN, PARIS = 1, 2


def say(relation, since=None, until=None, said=None, memory=1):
    return Statement(relation, since, until, said, 1000 + memory, memory, 0)


def spans(*statements):
    return [(one.relation, one.begin, one.valid_until, one.superseded_by) for one in timeline(statements)]


def test_nothing_said_is_no_period():
    assert timeline([]) == []


@pytest.mark.parametrize("order", list(permutations(range(3))), ids=lambda order: "".join(map(str, order)))
def test_each_period_ends_where_another_relation_begins(order):
    statements = [say(BERLIN, 10), say(PARIS, 20), say(BERLIN, 30)]
    assert spans(*(statements[index] for index in order)) == [
        (BERLIN, 10, 20, PARIS),
        (PARIS, 20, 30, BERLIN),
        (BERLIN, 30, None, None),
    ]


def test_a_stated_end_before_the_next_one_stays():
    assert spans(say(BERLIN, 10, 15), say(PARIS, 20)) == [(BERLIN, 10, 15, PARIS), (PARIS, 20, None, None)]


def test_equal_statements_are_one_period():
    assert spans(say(BERLIN, 10), say(BERLIN, 12, memory=2)) == [(BERLIN, 10, None, None)]


def test_a_gap_makes_two_periods_of_which_neither_supersedes_the_other():
    assert spans(say(BERLIN, 10, 15), say(BERLIN, 20)) == [(BERLIN, 10, 15, None), (BERLIN, 20, None, None)]


def test_both_sides_of_a_gap_are_superseded_by_what_follows():
    assert [one[3] for one in spans(say(BERLIN, 10, 15), say(BERLIN, 20), say(PARIS, 30))] == [PARIS, PARIS, None]


def test_an_end_alone_closes_the_period_before_it():
    assert spans(say(BERLIN, 10), say(BERLIN, until=15, said=90)) == [(BERLIN, 10, 15, None)]


def test_an_end_alone_that_is_told_after_the_next_one_began_begins_nothing():
    told = [say(BERLIN, said=10), say(PARIS, said=20, memory=2), say(BERLIN, until=30, said=30, memory=3)]
    assert spans(*told) == [(BERLIN, 10, 20, PARIS), (PARIS, 20, None, None)]


def test_an_end_alone_leaves_the_begin_open():
    assert spans(say(BERLIN, until=15, said=90)) == [(BERLIN, ALWAYS, 15, None)]


def test_the_same_end_said_twice_is_one_period():
    assert spans(say(BERLIN, 10, 15), say(BERLIN, until=15, said=90)) == [(BERLIN, 10, 15, None)]


def test_without_times_the_order_of_learning_decides():
    later = timeline([say(PARIS, memory=2), say(BERLIN, memory=1)])
    assert [(one.relation, one.valid_from, one.superseded_by) for one in later] == [
        (BERLIN, None, PARIS),
        (PARIS, None, None),
    ]


def test_what_is_learned_later_of_an_earlier_time_is_superseded_from_the_start():
    first, _ = timeline([say(PARIS, 20, memory=1), say(BERLIN, 10, memory=2)])
    assert first.superseded_at == first.learned_at == 1002


MOMENTS = st.one_of(st.none(), st.integers(0, 20))
STATEMENTS = st.lists(
    st.builds(
        Statement,
        st.integers(1, 3),
        MOMENTS,
        MOMENTS,
        MOMENTS,
        MOMENTS.map(lambda x: x or 0),
        st.integers(1, 9),
        st.integers(0, 9),
    ),
    max_size=8,
)


@given(STATEMENTS, st.randoms())
def test_the_order_of_arrival_never_counts(statements, chance):
    unique = list({one[5:]: one for one in statements}.values())
    shuffled = chance.sample(unique, len(unique))
    assert timeline(shuffled) == timeline(unique)


@given(STATEMENTS)
def test_only_the_last_relation_is_not_superseded(statements):
    periods = timeline(statements)
    current = {one.relation for one in periods if one.superseded_by is None}
    assert current == ({periods[-1].relation} if periods else set())
