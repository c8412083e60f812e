"""Places where a text may be cut.

A pattern finds places: the end of a match is a place, and its strength says how good a place it is. No place may lie
inside a character as a reader sees it; enough of Unicode's rules are here to keep an emoji whole.
"""

# ruff: noqa: RUF001 (the punctuation of other scripts looks like ours)

import re
import unicodedata
from typing import NamedTuple

ANYWHERE, WORD, LINE, SENTENCE, PARAGRAPH, DEFINITION = range(6)


class Boundary(NamedTuple):
    """One kind of place to cut at."""

    strength: int
    pattern: re.Pattern[str]


Layout = tuple[Boundary, ...]
"""The kinds of places in a text, best first."""

_BLANK_LINES = Boundary(PARAGRAPH, re.compile(r"\n(?>(?:[^\S\n]*+\n)+)"))
_LINES = Boundary(LINE, re.compile(r"\n"))
# Words of Chinese and Japanese have no space between them, but clauses have their commas, and Thai its zero-width space.
WORDS = Boundary(WORD, re.compile(r"[\s\u200b]++|(?<=[、，；：])"))

SENTENCES = Boundary(
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

_DEFINITIONS = Boundary(
    DEFINITION,
    re.compile(
        r"""
        ^ (?: [ \t]++ (?!\*) [^\n]*+  # indented, but not a comment with a star on every line
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
"""In any language, a top-level definition begins with a line that is not indented and does not close anything, after a line
that is empty, indented, or closes something."""

_JOINER = "\u200d"


def is_joined(text: str, at: int) -> bool:
    """Whether a reader sees the characters before and after this place as one."""
    before, after = text[at - 1], text[at]
    if after < "\u0300":
        return before == "\r" and after == "\n"
    return (
        unicodedata.category(after)[0] == "M"
        or _JOINER in (before, after)
        or ("\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff")
        or "\u1160" <= after <= "\u11ff"  # vowels and final consonants of Hangul
        or "\U0001f3fb" <= after <= "\U0001f3ff"  # skin tones
    )


def last_boundary(text: str, start: int, stop: int) -> int:
    """The last place after `start` and up to `stop` that cuts no character; `stop` if there is none.

    `start` must be such a place.
    """
    at = stop
    while at > start and at < len(text) and (is_joined(text, at) or _in_flag(text, start, at)):
        at -= 1
    return at if at > start else stop


def _in_flag(text: str, start: int, at: int) -> bool:
    """Whether a place is inside a flag: a flag is a pair of special letters, so an odd number of them comes before."""
    letters = 0
    while at - letters > start and _is_flag_letter(text[at - letters - 1]):
        letters += 1
    return letters % 2 == 1 and _is_flag_letter(text[at])


def _is_flag_letter(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"
