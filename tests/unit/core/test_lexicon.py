"""Words of one meaning in thirteen languages: what is in the file, and what is found in it."""

from pathlib import Path

import pytest
from zapomni_core.lexicon import translations

from zapomni_core import lexicon
from zapomni_core.terms import query_words, terms

LANGUAGES = ["en", "de", "es", "fr", "it", "pt", "nl", "pl", "uk", "ru", "tr", "zh", "ja"]


@pytest.fixture(scope="module")
def lines():
    text = Path(lexicon.__file__).with_name("words.txt").read_text("utf-8")
    return [[cell.split(", ") for cell in line.split(" | ")] for line in text.splitlines()]


def translated(question):
    return {term: {"".join(word) for word in alike} for term, alike in translations(query_words(question)).items()}


def test_the_first_line_names_the_languages_and_every_line_has_a_cell_for_each(lines):
    assert lines[0] == [[language] for language in LANGUAGES]
    assert {len(cells) for cells in lines} == {len(LANGUAGES)}


def test_every_word_is_one_word_to_the_analyser_and_case_folded(lines):
    words = {word for cells in lines[1:] for cell in cells for word in cell} - {"-"}
    assert [word for word in words if len(query_words(word)) != 1 or not terms(word) or word != word.casefold()] == []


def test_every_meaning_is_told_in_several_languages_and_only_once(lines):
    told = [tuple(map(tuple, cells)) for cells in lines[1:]]
    assert len(told) == len(set(told))
    assert min(sum(cell != ("-",) for cell in cells) for cells in told) >= 6


@pytest.mark.parametrize(
    ("question", "term", "other"),
    [
        ("when is the rent due", "rent", "miet"),
        ("Wo ist der Schlüssel?", "schlüssel", "key"),
        ("в какой день танцы", "танц", "danc"),
        ("¿dónde está la biblioteca?", "biblioteca", "librari"),
        ("who is at the library", "librari", "библиотек"),
        ("my country", "countri", "land"),
        ("red", "red", "rot"),
    ],
)
def test_a_word_is_known_in_whatever_form_gives_its_term(question, term, other):
    assert other in translated(question)[term]


def test_where_no_spaces_part_words_the_longest_are_known_by_each_of_their_terms():
    found = translations(query_words("图书馆几点关门"))
    assert ("librari",) in found["图书"] & found["书馆"]
    assert ("book",) not in found["图书"]
    assert ("图书", "书馆") in translations(query_words("who is at the library"))["librari"]


def test_a_word_is_read_in_the_language_of_the_question():
    """English red is a colour, Spanish red is a net."""
    assert "netz" not in translated("the red house")["red"]
    assert {"netz", "network"} <= translated("la red de la casa")["red"]
    assert "rot" not in translated("la red de la casa")["red"]


def test_only_words_of_other_languages_are_told():
    assert not {"purchas", "bought"} & translated("what did we buy")["buy"]


def test_function_words_tell_the_language():
    """German Gift is poison, an English gift is a present."""
    assert "poison" in translated("Wo ist das Gift?")["gift"]
    assert "geschenk" in translated("where is the gift")["gift"]
    assert not {"present", "cadeau"} & translated("Wo ist das Gift?")["gift"]


def test_without_function_words_any_language_of_the_script_may_be_meant():
    assert {"poison", "geschenk"} <= translated("gift")["gift"]


def test_a_word_counts_in_the_meanings_of_which_it_is_the_most_usual_word():
    """A key opens a door; of what one presses, button is the more usual word."""
    assert "schlüssel" in translated("where is the key")["key"]
    assert "knopf" not in translated("where is the key")["key"]
    assert "knopf" in translated("where is the button")["button"]


def test_what_is_not_known_may_be_a_name_in_another_alphabet():
    assert "шмидт" in translated("where does Schmidt work")["schmidt"]
    assert "schmidt" in translated("где работает Шмидт")["шмидт"]


@pytest.mark.parametrize("question", ["", "the of and", "zzx9 qq", "v2 x i", "§ 7", "\ud800", "|", "-", ", |", "4711"])
def test_what_is_not_known_has_no_translation(question):
    assert translated(question) == {}
