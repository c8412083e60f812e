"""Every text is cut into chunks of a modest size, and nothing is lost. Code is cut between its definitions."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.complexity import is_linear
from zapomni_core.embedding import guess_tokens
from zapomni_core.text.chunks import chunk

LANGUAGES = st.sampled_from([None, "markdown", "text", "python", "go", "no such language"])
FRAGMENTS = st.sampled_from(
    [
        *(
            "word ",
            "sentence. ",
            "Line\n",
            "\n\n",
            "\r\n",
            "\r\n\r\n",
            "   ",
            "\t",
            "\u200b",
            "# Title\n",
            "## Sub\n",
            "```\n",
        ),
        *(
            "~~~~py\n",
            "Setext\n===\n",
            "- item\n",
            "1. first\n",
            "| a | b |\n",
            "def f():\n    return 1\n",
            "}\n",
            "class A:\n",
        ),
        *(
            "漢字かな。",
            "、",
            "สวัสดี",
            "שלום עולם. ",
            "हिन्दी।",
            "👨‍👩‍👧‍👦",
            "🇺🇦",
            "👍🏽",
            "e\u0301\u0323",
            "\ud800",
            "\udc00",
            "\0",
            "...",
        ),
        *("x" * 70, "=" * 40, " " * 50, "\n" * 20, "https://example.org/a/b?c=d&e=f", '"quoted."'),
    ]
)
PYTHON = '''"""A module."""

import os


@decorated
def first(a, b):
    """Says something.

    And something more.
    """
    if a:
        return b

    return os.path.join(a, b)

# about the class
class Second:
    x = 1

    def method(self):
        return self.x
def third():
    return 3
'''
JAVASCRIPT = """import x from "x";

/**
 * Says something.
 */
export function first(a) {
  if (a) {
    return 1;
  }

  return 2;
}
const second = {
  key: [
    1,
  ],
};

class Third {
  method() {}
}
"""
GO = """package main

import "fmt"

// First says something.
func First() {
\tfmt.Println("one")

\tfmt.Println("two")
}

type Second struct {
\tField int
}
"""

TEXTS = st.text() | st.lists(FRAGMENTS, max_size=120).map("".join)


def chunks_of(text, language=None, *, size=40, overlap=8):
    return chunk(text, tokens=guess_tokens, language=language, chunk_tokens=size, overlap_tokens=overlap)


@given(TEXTS, LANGUAGES)
def test_the_fresh_parts_are_the_text(text, language):
    assert "".join(text[part.fresh : part.end] for part in chunks_of(text, language)) == text


@given(TEXTS.filter(bool))
def test_a_text_that_fits_is_one_chunk(text):
    assert len(chunks_of(text, "text", size=max(guess_tokens(text), len(text) // 8 + 1))) == 1


@given(TEXTS, LANGUAGES)
def test_no_chunk_is_larger_than_asked_but_for_its_overlap(text, language):
    for part in chunks_of(text, language):
        fresh = text[part.fresh : part.end].strip()
        assert guess_tokens(fresh) <= 40
        assert len(fresh) <= 40 * 16 + 32
        assert guess_tokens(text[part.start : part.fresh].strip()) <= 8


@given(TEXTS, LANGUAGES)
def test_an_overlap_reaches_no_further_back_than_the_chunk_before(text, language):
    parts = chunks_of(text, language)
    assert all(part.start <= part.fresh < part.end for part in parts)
    assert all(before.fresh <= after.start for before, after in pairwise(parts))


@given(TEXTS, LANGUAGES)
def test_no_chunk_is_blank_unless_the_text_is(text, language):
    if text.strip():
        assert all(text[part.fresh : part.end].strip() for part in chunks_of(text, language))


@given(TEXTS, LANGUAGES)
def test_the_same_text_is_cut_in_the_same_way(text, language):
    assert chunks_of(text, language) == chunks_of(text, language)


@pytest.mark.parametrize("gap", [" ", "\n", "\r\n", "\t", "\u00a0", "\n  "])
@pytest.mark.parametrize("language", [None, "markdown", "text", "python"])
def test_wide_gaps_are_not_in_the_chunks(gap, language):
    text = "first" + gap * 10_000 + "second" + gap * 10_000 + "third"
    parts = [text[part.start : part.end] for part in chunks_of(text, language)]
    assert [part.strip() for part in parts] == ["first", "second", "third"]


def test_an_empty_text_has_no_chunks():
    assert chunks_of("") == []


def test_a_short_text_is_one_chunk():
    text = "  Anna moved to Lisbon in May.\n"
    (only,) = chunks_of(text)
    assert (only.start, only.fresh, only.end, only.heading) == (0, 0, len(text), "")


def test_a_text_is_cut_between_paragraphs_where_that_leaves_chunks_full_enough():
    paragraphs = [f"Paragraph {number} has a few words. It has two sentences.\n\n" for number in range(9)]
    parts = chunks_of("".join(paragraphs))
    starts = {sum(map(len, paragraphs[:number])) for number in range(9)}
    assert len(parts) > 2
    assert {part.fresh for part in parts} <= starts


def test_a_long_paragraph_is_cut_between_sentences():
    text = " ".join(f"The sentence with number {number} says little." for number in range(30))
    assert all(text[part.fresh :].startswith("The sentence") for part in chunks_of(text))


def test_a_long_sentence_is_cut_between_words():
    text = "word " * 500
    assert all(text[part.fresh :].startswith("word") for part in chunks_of(text))


@pytest.mark.parametrize(
    "sentence", ["今天的天气真的很好我们去公园散步吧。", "今日は天気がとても良いので公園を散歩しましょう！"]
)
def test_scripts_without_spaces_have_sentence_marks_of_their_own(sentence):
    text = sentence * 40
    parts = chunks_of(text)
    assert len(parts) > 5
    assert all(part.fresh % len(sentence) == 0 for part in parts)


@pytest.mark.parametrize("character", ["👨‍👩‍👧‍👦", "🇺🇦", "👍🏽", "e\u0301\u0323", "각", "\r\n"])
def test_characters_of_several_code_points_are_not_cut(character):
    text = character * 2000
    parts = chunks_of(text, "text")
    assert all(part.start % len(character) == part.fresh % len(character) == 0 for part in parts)


def test_a_letter_with_a_thousand_marks_is_cut():
    assert len(chunks_of("e" + "\u0301" * 10_000)) > 5


def test_the_last_chunk_is_not_tiny():
    text = "word " * 42
    sizes = [guess_tokens(text[part.fresh : part.end]) for part in chunks_of(text)]
    assert len(sizes) == 2
    assert min(sizes) >= 10


def test_a_chunk_repeats_the_last_sentence_of_the_one_before():
    text = "Five words are right here. " * 40
    _, second, *_ = chunks_of(text)
    assert text[second.start : second.fresh] == "Five words are right here. "


def test_an_overlap_of_a_long_sentence_begins_at_a_word():
    text = "abcde " * 200
    _, second, *_ = chunks_of(text)
    assert text[second.start : second.fresh] == "abcde " * 8


def test_the_counter_of_tokens_sees_each_character_a_few_times_and_never_a_long_text():
    lengths = []

    def tokens(text):
        lengths.append(len(text))
        return guess_tokens(text)

    text = "A sentence of some words, as they come. " * 2500 + "x" * 100_000 + "\n\nparagraph" * 5000
    chunk(text, tokens=tokens)
    assert max(lengths) <= 200 * 16 + 15
    assert sum(lengths) < 8 * len(text)


def test_a_counter_that_sees_no_tokens_does_not_make_endless_chunks():
    text = "word " * 10_000
    assert max(part.end - part.start for part in chunk(text, tokens=lambda text: 0)) < 4000


@pytest.mark.parametrize("text", ["x" * 1_000_000, "\n" * 300_000, "." * 100_000, "# " * 100_000, "```\n" * 50_000])
def test_a_very_large_text_is_cut(text):
    parts = chunk(text, tokens=guess_tokens)
    assert "".join(text[part.fresh : part.end] for part in parts) == text


@pytest.mark.parametrize("language", [None, "markdown", "python"])
@pytest.mark.parametrize(
    "unit",
    [
        *(
            " ",
            "\n",
            " \n",
            "\r",
            "\r\n",
            "\t",
            "\u3000",
            "\u200b",
            "#",
            "# a\n",
            "`",
            "```\n",
            "~~~\n",
            "<",
            "[",
            "](",
            "{",
            "}\n",
        ),
        *(
            "a",
            "A",
            "_",
            "1.",
            ". ",
            '."',
            "…",
            "!?",
            "- a\n",
            "| a |\n",
            "a\n=\n",
            "\n\na\n---x\n",
            "    x\n",
            "x\n\n",
            "getUserName",
        ),
        *("漢", "漢。", "。」", "ก", "aя", "\u0301", "👩\u200d", "🇦", "👍🏽", "\ud83d\ude00", "def a():\n  x\n"),
    ],
)
def test_the_work_grows_with_the_length_of_the_text_and_no_faster(unit, language):
    assert is_linear(lambda text: chunk(text, tokens=guess_tokens, language=language), unit, 5_000)


def beginnings(text, language, size=30):
    parts = chunk(text, tokens=guess_tokens, language=language, chunk_tokens=size, overlap_tokens=5)
    assert "".join(text[part.fresh : part.end] for part in parts) == text
    return [text[part.fresh : part.end].splitlines()[0] for part in parts]


@pytest.mark.parametrize(
    ("text", "language", "size", "expected"),
    [
        (PYTHON, "python", 40, ['"""A module."""', "@decorated", "# about the class"]),
        (JAVASCRIPT, "javascript", 40, ['import x from "x";', "/**", "const second = {"]),
        (GO, "go", 30, ["package main", "// First says something.", "type Second struct {"]),
    ],
)
def test_a_definition_that_fits_is_not_cut_and_keeps_the_lines_above_it(text, language, size, expected):
    assert beginnings(text, language, size) == expected


def test_a_definition_begins_where_indented_lines_end_without_an_empty_line():
    assert beginnings(PYTHON, "python", 30)[-1] == "def third():"


def test_small_definitions_share_a_chunk():
    text = "".join(f"def f{number}():\n    return {number}\n\n\n" for number in range(4))
    assert len(beginnings(text, "python", size=100)) == 1


def test_a_long_definition_is_cut_between_its_lines():
    text = "def long():\n" + "".join(f"    value_{number} = {number}\n" for number in range(100))
    assert all(line.startswith(("def", "    value_")) for line in beginnings(text, "python"))


def test_no_overlap_reaches_over_the_beginning_of_a_definition():
    parts = chunk(PYTHON, tokens=guess_tokens, language="python", chunk_tokens=30, overlap_tokens=5)
    at = PYTHON.index("@decorated")
    assert next(part.start for part in parts if part.fresh == at) == at


def test_code_that_cannot_be_parsed_is_cut_too():
    text = PYTHON.replace(")", "").replace('"', "") + "\0\n" + "def ( ] }\n" * 20
    assert len(beginnings(text, "python")) > 5


@pytest.mark.parametrize("language", ["Python", " rust ", "C++", "tsx"])
def test_spellings_of_a_language_name_are_equivalent(language):
    text = "".join(f"fn f{number}() {{\n  One. Two. Three. Four. Five.\n}}\n" for number in range(9))
    assert set(beginnings(text, language)) <= {f"fn f{number}() {{" for number in range(9)}
