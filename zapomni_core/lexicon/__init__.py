"""Words of one meaning in thirteen languages: by them a question finds what was written in another language.

`words.txt` has a line for each meaning and a cell for each language; its words are case-folded. It is searched as one text: an index
of it would take most of a second to make and more memory than everything else that a search needs, and words are looked up only
where those of the question tell too little.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

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
_STOP_WORDS = (ENGLISH, GERMAN, SPANISH, FRENCH, ITALIAN, PORTUGUESE, DUTCH, POLISH, UKRAINIAN, RUSSIAN, TURKISH)
"""In the order of the cells; the languages of the others put no spaces."""


class _Known(NamedTuple):
    """A word of a question, the language that it was found in, and what means the same, by language."""

    word: Word
    language: int
    meaning: list[str]


def translations(words: Sequence[QueryWord]) -> dict[str, set[Word]]:
    """For the terms of a question that are known in its language, the words of other languages that mean the same."""
    known = [one for word in dict.fromkeys(words) for one in _known(word.terms)]
    own = _languages(words, known)
    found: defaultdict[str, set[Word]] = defaultdict(set)
    for one in known:
        if one.language in own:
            others = [cell for language, cell in enumerate(one.meaning) if language not in own]
            alike = {tuple(terms(other)) for cell in others for other in _WORD.findall(cell)} - {(), one.word}
            for term in one.word:
                found[term] |= alike
    return dict(found)


def _languages(words: Iterable[QueryWord], known: Iterable[_Known]) -> set[int]:
    """The languages that most words of a question are of; several where it could be any of them."""
    votes = Counter(language for _, language in {(one.word, one.language) for one in known})
    for word in words:
        votes.update(number for number, some in enumerate(_STOP_WORDS) if word.word.casefold() in some)
    most = max(votes.values(), default=0)
    return {language for language, count in votes.items() if count == most}


def _known(held: Word) -> Iterator[_Known]:
    """The known words in a row of terms, in every language and meaning: the longest, where no spaces part them."""
    while held:
        there = [one for one in _beginning(held[0]) if held[: len(one.word)] == one.word]
        longest = max((len(one.word) for one in there), default=1)
        yield from (one for one in there if len(one.word) == longest)
        held = held[longest:]


def _beginning(term: str) -> Iterator[_Known]:
    """Words that begin like a term, and may have it. English stems write y as i; what is very short has no endings."""
    is_short = len(term) < _SHORT and term < _UNSPACED
    text, start = _text(), f" {term} " if is_short else " " + term.removesuffix("i")
    at = text.find(start)
    while at >= 0:
        line, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
        word = text[at + 1 : text.index(" ", at + 1)]
        yield _Known(tuple(terms(word)), text.count("|", line, at), text[line:end].split("|"))
        at = text.find(start, at + 1)


@cache
def _text() -> str:
    """The lines without the first, which names the languages; a space before and after every word."""
    lines = Path(__file__).with_name("words.txt").read_text("utf-8").partition("\n")[2]
    return "\n " + lines.replace(",", " ,").replace("\n", " \n ")
