"""Neighbours in a conversation are those that stand there, however they came in."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from zapomni_db.sqlite.neighbours import link

NOBODY = np.empty((0, 4), np.int64)
memories = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), max_size=30)


def arrays(listed):
    both = np.array(listed, np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def expected(listed):
    rows = []
    for place, (_, thread) in enumerate(listed):
        same = sorted((moment, other) for other, (moment, its) in enumerate(listed) if its == thread and thread)
        at = same.index((listed[place][0], place)) if thread else 0
        around = [at - 2, at - 1, at + 1, at + 2]
        rows.append([same[index][1] if 0 <= index < len(same) else -1 for index in around])
    return rows


@given(memories)
def test_neighbours_are_the_two_before_and_after_by_moment_then_place(listed):
    assert link(NOBODY, *arrays(listed)).tolist() == expected(listed)


@given(memories, memories)
def test_linking_what_came_later_is_the_same_as_linking_all(first, later):
    before = link(NOBODY, *arrays(first))
    moments, threads = arrays(first + later)
    after = link(before, moments, threads, threads[len(first) :])
    assert after.tolist() == expected(first + later)
