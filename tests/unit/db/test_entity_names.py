"""Names of entities: when two are equal, and which words find them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zapomni_db.entity_names import key_of, shown, words_of


@pytest.mark.parametrize(
    ("one", "other"),
    [("Ada", "ADA"), ("Straße", "STRASSE"), ("  Ada \n Lovelace ", "ada lovelace"), ("Ｆｏｏ ﬁn", "foo fin")],
)
def test_case_width_and_white_space_do_not_count(one, other):
    assert key_of(one) == key_of(other)


@pytest.mark.parametrize(("one", "other"), [("Ada", "Áda"), ("C", "C++"), ("Anna Lisa", "Annalisa")])
def test_other_differences_count(one, other):
    assert key_of(one) != key_of(other)


@given(st.text())
def test_a_key_is_its_own_key(name):
    assert key_of(key_of(name)) == key_of(name)


@given(st.text())
def test_every_key_has_words(name):
    key = key_of(name)
    assert bool(words_of(key)) == bool(key)


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("ada lovelace", ["ada", "lovelace"]),
        ("o'neil o'neil", ["o", "neil"]),
        ("艾达在", ["艾达", "达在"]),
        ("艾", ["艾"]),
        ("gpu芯片", ["gpu", "芯片"]),
        ("🚀", ["🚀"]),
        ("", []),
        ("x" * 100, ["x" * 64]),
    ],
)
def test_words_are_runs_of_letters_or_pairs_where_nothing_separates_them(key, words):
    assert words_of(key) == words


def test_a_name_is_shown_on_one_line():
    assert shown(" Ada\n Lovelace\t") == "Ada Lovelace"
