"""Any text can be a term and is found exactly."""

from contextlib import closing

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zapomni_db.sqlite import schema, terms

any_term = st.text(min_size=1) | st.sampled_from(
    ["A", "a", "Ａ", "\ue000", " ", "\x1f", "\x7f", "x" * 201, "x" * 40_000]
)


@pytest.fixture(scope="module")
def connection():
    with closing(apsw.Connection("")) as made:
        schema.create(made)
        yield made


@given(any_term, any_term)
def test_different_terms_are_different_in_the_index(one, other):
    assert (terms.token(one) == terms.token(other)) == (one == other)


@given(st.lists(any_term, max_size=8))
def test_terms_are_found_as_often_as_they_are_there(connection, given_terms):
    connection.execute("SAVEPOINT example")
    try:
        terms.insert(connection, [(7, given_terms), (9, [*given_terms, "also"])])
        for term, (chunks, counts) in terms.postings(connection, given_terms).items():
            assert chunks.tolist() == [7, 9]
            assert counts[0] == given_terms.count(term)
        terms.delete(connection, [7])
        left = terms.postings(connection, given_terms)
        assert {term: chunks.tolist() for term, (chunks, _) in left.items()} == {term: [9] for term in given_terms}
    finally:
        connection.execute("ROLLBACK TO example; RELEASE example")
