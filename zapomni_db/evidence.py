"""The evidence of a fact in a text: its quote, else the sentence that holds both names, else the whole text. Pure."""

import re
import unicodedata
from bisect import bisect_right
from functools import cached_property

from zapomni_db.entity_names import UNSPACED, key_of

Span = tuple[int, int]

# The end of a sentence, a blank line, or the line end before the next item of a list.
_SENTENCE_END = re.compile(
    r"[.!?…]+[\"')\]»”’]*\s+|[。！？]+[」』”’]*\s*|\n\s*\n|\n(?=[ \t]*(?:[-*+•>#|]|\d+[.)]))"  # noqa: RUF001 (full width)
)
_INSIDE = re.compile(rf"[^\W{UNSPACED}]{{2}}")  # of a word, in scripts that put spaces between words


class Text:
    """A text in which names and quotes are found."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._places: dict[str, list[Span]] = {}
        self._sentences: dict[str, set[int]] = {}

    def quote(self, quote: str) -> Span | None:
        """The place of a quote; only white space may differ."""
        found = re.search(_pattern(quote), self.text)
        return found.span() if found else None

    def places(self, name: str) -> list[Span]:
        """Every place of a name, as names are compared; not within a longer word."""
        key = key_of(name)
        if key not in self._places:
            folded, places = self._folded
            found = [one.span() for one in re.finditer(_pattern(key), folded) if _is_whole(folded, *one.span())]
            self._places[key] = [(places[start], places[end]) for start, end in found] if places else found
        return self._places[key]

    def sentence(self, one: str, other: str) -> Span:
        """The first sentence that holds both names, else the whole text."""
        both = self._sentences_of(one) & self._sentences_of(other)
        if not both:
            return 0, len(self.text)
        number = min(both)
        start, end = ([0, *self._ends, len(self.text)][number + at] for at in (0, 1))
        sentence = self.text[start:end]
        return end - len(sentence.lstrip()), start + len(sentence.rstrip())

    def _sentences_of(self, name: str) -> set[int]:
        """The numbers of the sentences that hold a name."""
        if name not in self._sentences:
            self._sentences[name] = {bisect_right(self._ends, start) for start, _ in self.places(name)}
        return self._sentences[name]

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


def _is_whole(text: str, start: int, end: int) -> bool:
    """Whether a part of a text is not cut out of a longer word."""
    return not any(_INSIDE.fullmatch(text[max(0, place - 1) : place + 1]) for place in (start, end))
