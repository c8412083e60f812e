"""Finds in a text what a model says to have read there. What is not there was not read."""

# ruff: noqa: RUF001 (the apostrophes of other hands look like ours)

import re
from functools import lru_cache

LONGEST_QUOTE = 1000
LONGEST_NAME = 200
"""Characters that are looked for: a model that gives more has not chosen."""
MOST_PLACES = 1000
_SHORTEST_STEM = 3
_ENDING = 2
"""Characters of a word's end that its grammar may change."""
_MARKS = "[*_`]*+"
_ANY_SINGLE = "['’‘ʼ]"
_ANY_DOUBLE = '["“”„«»]'
_PIECE = re.compile(r"[^\W_]+|[^\w\s*`]")
_SINGLE, _DOUBLE = re.compile(_ANY_SINGLE), re.compile(_ANY_DOUBLE)


def find_quote(text: str, quote: str) -> tuple[int, int] | None:
    """Where a text has a quote: to the letter, else without the marks of Markdown, with other white space or quotation marks.

    None where it has not.
    """
    quote = quote.strip()
    if not quote or len(quote) > LONGEST_QUOTE:
        return None
    start = text.find(quote)
    if start >= 0:
        return start, start + len(quote)
    words = [_MARKS.join(map(_spelled, pieces)) for word in quote.split() if (pieces := _PIECE.findall(word))]
    found = re.search(rf"{_MARKS}\s+{_MARKS}".join(words), text) if words else None
    return found.span() if found else None


def find_name(text: str, name: str) -> list[tuple[int, int]]:
    """The places where a text has a name as words of their own, whatever their case and the white space between them."""
    if not name or len(name) > LONGEST_NAME:
        return []
    return [found.span() for found in _exactly(name).finditer(text)][:MOST_PLACES]


def find_inflected(text: str, name: str, quote: str) -> tuple[int, int] | None:
    """Where a quote that the text has names something in another case: `Москве` for `Москва`."""
    place = find_quote(text, quote)
    if place is None or not name or len(name) > LONGEST_NAME:
        return None
    found = _inflected(name).search(text, *place)
    return found.span() if found else None


@lru_cache(maxsize=256)
def _exactly(name: str) -> re.Pattern[str]:
    # A script without spaces has no words of their own: only what can stand alone must.
    before = r"(?<![^\W_])" if _is_spaced(name[0]) else ""
    after = r"(?![^\W_])" if _is_spaced(name[-1]) else ""
    return re.compile(before + r"\s+".join(map(_spelled, name.split())) + after, re.IGNORECASE)


@lru_cache(maxsize=256)
def _inflected(name: str) -> re.Pattern[str]:
    stems = [(word, word[: max(_SHORTEST_STEM, len(word) - _ENDING)]) for word in name.split()]
    words = [re.escape(stem) + rf"\w{{0,{len(word) - len(stem) + _ENDING}}}" for word, stem in stems]
    return re.compile(r"(?<!\w)" + r"\s+".join(words) + r"(?!\w)", re.IGNORECASE)


def _spelled(word: str) -> str:
    """The pattern of a word, whichever apostrophes and quotation marks it is written with."""
    return _DOUBLE.sub(_ANY_DOUBLE, _SINGLE.sub(_ANY_SINGLE, re.escape(word)))


def _is_spaced(character: str) -> bool:
    return character.isalnum() and character < "\u0e00"
