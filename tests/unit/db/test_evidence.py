"""Names, quotes and sentences in texts."""

import pytest

from zapomni_db.entity_names import snake_case
from zapomni_db.evidence import Text


def cut(text, spans):
    return [text[start:end] for start, end in spans]


@pytest.mark.parametrize(
    ("text", "name", "found"),
    [
        ("Ada met ADA, ada.", "Ada", ["Ada", "ADA", "ada"]),
        ("Adam and Nada", "Ada", []),
        ("parser_v2, parser-v2", "parser", ["parser"]),
        ("New\n York", "new york", ["New\n York"]),
        ("Straße, STRASSE", "strasse", ["Straße", "STRASSE"]),
        ("\uff21da, A\u0301da", "Áda", ["A\u0301da"]),
        ("\uff21da… and Ada", "ada", ["\uff21da", "Ada"]),
        ("在Acme工作", "acme", ["Acme"]),
        ("在Acme工作", "工作", ["工作"]),
        ("use C++ (not C)", "C++", ["C++"]),
        ("", "Ada", []),
    ],
)
def test_names_are_found_as_they_are_compared_and_as_whole_words(text, name, found):
    assert cut(text, Text(text).places(name)) == found


def test_a_quote_may_differ_in_white_space_alone():
    text = "one  two\nthree.four"
    assert cut(text, [Text(text).quote(" two three.four ")]) == ["two\nthree.four"]
    assert Text(text).quote("Two three") is None
    assert Text(text).quote("two three,four") is None


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("Ada came. Ada met Bob! Bob left.", "Ada met Bob!"),
        ("Ada (v1.2) met Bob.", "Ada (v1.2) met Bob."),
        ('"Ada met Bob." And so on', '"Ada met Bob."'),
        ("Ada\nmet Bob", "Ada\nmet Bob"),
        ("Ada\n\nBob", "Ada\n\nBob"),
        ("# Ada\n- Ada, Bob\n2. Bob", "- Ada, Bob"),
        ("Ada。Ada和Bob。", "Ada和Bob。"),
        ("neither", "neither"),
    ],
)
def test_the_first_sentence_with_both_names_is_found_else_the_whole_text(text, sentence):
    assert cut(text, [Text(text).sentence("Ada", "Bob")]) == [sentence]


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        ("Works At", "works_at"),
        ("HTTPServer", "httpserver"),
        ("isА", "is_а"),
        ("été-né", "été_né"),
        ("e\u0301te\u0301", "été"),
        ("v2Of", "v2_of"),
        ("__a__b__", "a_b"),
        ("→ !", ""),
    ],
)
def test_snake_case_is_for_any_script(words, kept):
    assert snake_case(words) == kept
