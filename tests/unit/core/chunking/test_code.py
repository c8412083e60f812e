"""Code is cut between definitions at the top level, in any language, parsable or not."""

import pytest

from zapomni_core.chunking import chunk
from zapomni_core.embedding import guess_tokens

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
def test_a_definition_that_fits_is_not_cut_and_keeps_what_is_written_above_it(text, language, size, expected):
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


def test_code_that_cannot_be_parsed_is_cut_all_the_same():
    text = PYTHON.replace(")", "").replace('"', "") + "\0\n" + "def ( ] }\n" * 20
    assert len(beginnings(text, "python")) > 5


@pytest.mark.parametrize("language", ["Python", " rust ", "C++", "tsx"])
def test_the_name_of_a_language_is_taken_however_it_is_written(language):
    text = "".join(f"fn f{number}() {{\n  One. Two. Three. Four. Five.\n}}\n" for number in range(9))
    assert set(beginnings(text, language)) <= {f"fn f{number}() {{" for number in range(9)}
