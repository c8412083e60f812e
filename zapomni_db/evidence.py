"""Where a text says a fact: its quote, else the sentence that holds both names, else the whole text. Pure."""

import re
import unicodedata
from bisect import bisect_right
from functools import cached_property

from zapomni_db.names import UNSPACED, key_of

Span = tuple[int, int]

# The end of a sentence, a blank line, or the line end before the next item of a list.
_SENTENCE_END = re.compile(
    r"[.!?…]+[\"')\]»”’]*\s+|[。！？]+[」』”’]*\s*|\n\s*\n|\n(?=[ \t]*(?:[-*+•>#|]|\d+[.)]))"  # noqa: RUF001 (full width)
)
_LETTER = rf"[^\W{UNSPACED}]"  # a character of a word, in scripts that put spaces between words


class Text:
    """A text in which names and quotes are found."""

    def __init__(self, text: str) -> None:
        self.text = text

    def quote(self, quote: str) -> Span | None:
        """The place of a quote; only white space may differ."""
        found = re.search(_pattern(quote), self.text)
        return found.span() if found else None

    def places(self, name: str) -> list[Span]:
        """Every place of a name, as names are compared; not within a longer word."""
        folded, places = self._folded
        found = [one.span() for one in re.finditer(_bounded(key_of(name)), folded)]
        return [(places[start], places[end]) for start, end in found] if places else found

    def sentence(self, one: str, other: str) -> Span:
        """The first sentence that holds both names, else the whole text."""
        both = {*map(self._sentence_at, self.places(one))} & {*map(self._sentence_at, self.places(other))}
        if not both:
            return 0, len(self.text)
        number = min(both)
        start, end = ([0, *self._ends, len(self.text)][number + at] for at in (0, 1))
        sentence = self.text[start:end]
        return end - len(sentence.lstrip()), start + len(sentence.rstrip())

    def _sentence_at(self, place: Span) -> int:
        return bisect_right(self._ends, place[0])

    @cached_property
    def _ends(self) -> list[int]:
        return [found.end() for found in _SENTENCE_END.finditer(self.text)]

    @cached_property
    def _folded(self) -> tuple[str, list[int]]:
        """The text as names are compared, and where each of its characters stands in the text; nothing for the same place."""
        folded = self.text.casefold()
        if len(folded) == len(self.text) and unicodedata.is_normalized("NFKC", folded):
            return folded, []
        parts, places = [], []
        for start, unit in _units(self.text):
            parts.append(" " if unit.isspace() else key_of(unit))
            places += [start] * len(parts[-1])
        return "".join(parts), [*places, len(self.text)]


def _units(text: str) -> list[tuple[int, str]]:
    """The characters of a text, each with the marks that belong to it, and their places."""
    starts = [place for place, one in enumerate(text) if not (place and unicodedata.combining(one))]
    return [(start, text[start:end]) for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]


def _pattern(words: str) -> str:
    return r"\s+".join(map(re.escape, words.split()))


def _bounded(key: str) -> str:
    """A pattern for a name that does not match within a longer word."""
    before = rf"(?<!{_LETTER})" if re.match(_LETTER, key) else ""
    after = rf"(?!{_LETTER})" if re.match(_LETTER, key[-1:]) else ""
    return before + _pattern(key) + after
