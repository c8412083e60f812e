"""Where a text may be cut, the best places first: the end of a match is a place, the strength says how good it is."""

# ruff: noqa: RUF001 (the punctuation of other scripts looks like ours)

import re
from typing import NamedTuple

ANYWHERE, WORD, LINE, SENTENCE, PARAGRAPH, DEFINITION = range(6)

LEAST_FILL = (1.0, 0.5, 0.5, 0.5, 0.3, 0.15)
"""How full a chunk must be, by strength, to end at such a place rather than at a weaker one further on."""


class Break(NamedTuple):
    """A kind of place to cut at."""

    strength: int
    pattern: re.Pattern[str]


Layout = tuple[Break, ...]

_BLANK_LINES = Break(PARAGRAPH, re.compile(r"\n(?>(?:[^\S\n]*+\n)+)"))
_LINES = Break(LINE, re.compile(r"\n"))
# Words of Chinese and Japanese have no space between them, but clauses have their commas, and Thai its zero-width space.
WORDS = Break(WORD, re.compile(r"[\s\u200b]++|(?<=[、，；：])"))

SENTENCES = Break(
    SENTENCE,
    re.compile(
        r"""
        (?<=[.!?…]) (?<!\s\d\.) (?<!\s\d\d\.) ["'”’»)\]]*+ \s++ (?![a-zа-яё])
        | (?<=[。！？｡।॥؟۔።။។։]) ["'”’»」』）)\s]*+ (?![。！？｡])
        | \n (?=[^\S\n]*+ (?: [-*+•‣] | \d{1,3}[.)] ) [^\S\n] | \|)  # an item of a list, a row of a table
        """,
        re.VERBOSE,
    ),
)

_DEFINITIONS = Break(
    DEFINITION,
    re.compile(
        r"""
        ^ (?: [ \t]++ (?!\*) [^\n]*+  # indented, but not a comment of the kind that has a star on every line
            | (?: [})\]] | end\b ) [^\n]*+
            | [ \t\r]*+
        ) \n
        (?= [^\s})\]] ) (?! (?: else | elif | elsif | except | finally | catch | end | then | done | fi | esac )\b )
        """,
        re.VERBOSE | re.MULTILINE,
    ),
)

PROSE: Layout = (_BLANK_LINES, SENTENCES, _LINES, WORDS)
CODE: Layout = (_DEFINITIONS, _BLANK_LINES, _LINES, WORDS)
"""A definition at the top level is told by its layout, in any language: a line that is not indented and does not close
anything, after an empty line, an indented one, or one that closes something."""
