"""Names in the other alphabet."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from zapomni_core.lexicon.spelling import MOST, spellings


@pytest.mark.parametrize(
    ("word", "other"),
    [
        ("damir", "дамир"),
        ("kamil", "камиль"),
        ("gulshat", "гульшат"),
        ("zelenodolsk", "зеленодольск"),
        ("schmidt", "шмидт"),
        ("müller", "мюллер"),
        ("łukasz", "лукаш"),
        ("шмидт", "schmidt"),
        ("тэмсин", "tamsin"),
        ("алёна", "alyona"),
        ("джек", "jek"),
        ("юлия", "yulia"),
    ],
)
def test_a_name_is_spelled_in_the_other_alphabet(word, other):
    assert other in spellings(word)


@pytest.mark.parametrize(
    ("word", "called"),
    [("марине", "marina"), ("анны", "anna"), ("камиля", "kamil"), ("турине", "turin"), ("тани", "tanya")],
)
def test_a_cyrillic_name_may_be_in_any_case(word, called):
    assert called in spellings(word)


@pytest.mark.parametrize("word", ["", "ab", "豆豆豆", "abc9", "o'neill", "αθήνα", "mіx", "1234"])
def test_what_is_too_short_or_in_another_script_has_no_other_spelling(word):
    assert spellings(word) == set()


@given(st.text(max_size=30) | st.text("abcgshtzуя", min_size=3, max_size=40))
def test_no_word_has_more_spellings_than_are_worth_looking_up(word):
    assert len(spellings(word.casefold())) <= 4 * MOST
