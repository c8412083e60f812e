"""Words of one meaning in thirteen languages: by them a question finds what was written in another language.

What is not among them may be a name, which is the same in every language, but not in every alphabet.

`words.txt` has a line for each meaning and a cell for each language; its words are case-folded. The words of a language are searched
as one text: an index of all would take seconds to make and more memory than everything else that a search needs, and words are
looked up only where those of the question tell too little.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from zapomni_core.lexicon.spelling import spellings
from zapomni_core.stopwords import (
    DUTCH,
    ENGLISH,
    FRENCH,
    GERMAN,
    ITALIAN,
    POLISH,
    PORTUGUESE,
    RUSSIAN,
    SPANISH,
    TURKISH,
    UKRAINIAN,
)
from zapomni_core.terms import QueryWord, terms

Word = tuple[str, ...]
"""A word by its terms: one, or where a script has no spaces as many as it has pairs of neighbouring characters."""

_WORD = re.compile(r"[^ ,|\n]+")
_SHORT = 3
_UNSPACED = "\u0e00"  # before it, scripts put spaces between words
_CYRILLIC = "\u0400"
_STOP_WORDS = (ENGLISH, GERMAN, SPANISH, FRENCH, ITALIAN, PORTUGUESE, DUTCH, POLISH, UKRAINIAN, RUSSIAN, TURKISH)
"""In the order of the cells; the languages of the others put no spaces."""
_IN_LATIN, _IN_CYRILLIC, _IN_UNSPACED = {0, 1, 2, 3, 4, 5, 6, 7, 10}, {8, 9}, {11, 12}
"""The languages of a script, by their cells."""


class _Known(NamedTuple):
    """A word of a question, the language that it was found in, at which place of its cell, and the line of its meaning."""

    word: Word
    language: int
    place: int
    meaning: str


def translations(words: Sequence[QueryWord]) -> dict[str, set[Word]]:
    """For the terms of a question, the words of other languages that mean the same; for a name, its other spellings."""
    votes = Counter(
        language for word in words for language, some in enumerate(_STOP_WORDS) if word.word.casefold() in some
    )
    likely = _most(votes, beside=1)
    known = [one for word in dict.fromkeys(words) for one in _known(word.terms, likely)]
    votes.update(language for _, language in {(one.word, one.language) for one in known})
    own = _most(votes)
    found: defaultdict[str, set[Word]] = defaultdict(set)
    for one in _usual([one for one in known if one.language in own]):
        others = [cell for language, cell in enumerate(one.meaning.split("|")) if language not in own]
        alike = {tuple(terms(other)) for cell in others for other in _WORD.findall(cell)} - {(), one.word}
        for term in one.word:
            found[term] |= alike
    for word in words:
        if len(word.terms) == 1 and word.terms[0] not in found and (spelled := spellings(word.word.casefold())):
            found[word.terms[0]] = {tuple(terms(one)) for one in spelled} - {()}
    return dict(found)


def _usual(known: Sequence[_Known]) -> list[_Known]:
    """Of the meanings that a word has in a language, those that name it before other words: of them it is the usual word."""
    first: dict[tuple[Word, int], int] = {}
    for one in known:
        first[one[:2]] = min(one.place, first.get(one[:2], one.place))
    return [one for one in known if one.place == first[one[:2]]]


def _most(votes: Counter[int], beside: int = 0) -> set[int]:
    """The languages that most words of a question are of, and those that nearly as many are of."""
    most = max(votes.values(), default=0)
    return {language for language, count in votes.items() if count >= most - beside}


def _known(held: Word, likely: set[int]) -> Iterator[_Known]:
    """The known words in a row of terms, in every meaning and likely language: the longest, where no spaces part them."""
    while held:
        there = [one for one in _beginning(held[0], likely) if held[: len(one.word)] == one.word]
        longest = max((len(one.word) for one in there), default=1)
        yield from (one for one in there if len(one.word) == longest)
        held = held[longest:]


def _beginning(term: str, likely: set[int]) -> Iterator[_Known]:
    """Words that begin like a term, and may have it. English stems write y as i; what is very short has no endings."""
    written_in = _IN_LATIN if term < _CYRILLIC else _IN_CYRILLIC if term < _UNSPACED else _IN_UNSPACED
    is_short = len(term) < _SHORT and term < _UNSPACED
    start = f" {term} " if is_short else " " + term.removesuffix("i")
    for language in sorted(written_in & likely or written_in):
        column = _column(language)
        at = column.find(start)
        while at >= 0:
            line = column.rfind("\n", 0, at) + 1
            number, word = column[line : column.index(" ", line)], column[at + 1 : column.index(" ", at + 1)]
            place = column.count(",", line, at)
            yield _Known(tuple(terms(word)), language, place, _meanings()[int(number)])
            at = column.find(start, at + 1)


@cache
def _column(language: int) -> str:
    """The words of a language with a space before and after each; a line for each meaning, which begins with its number."""
    cells = [line.split("|", language + 1)[language].replace(",", " ,") for line in _meanings()]
    return "\n".join([f"{number} {cell} " for number, cell in enumerate(cells)])


@cache
def _meanings() -> list[str]:
    """The lines without the first, which names the languages."""
    return Path(__file__).with_name("words.txt").read_text("utf-8").splitlines()[1:]
