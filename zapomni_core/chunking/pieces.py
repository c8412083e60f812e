"""Cuts blocks into pieces small enough to pack: at the best kind of place that makes them small."""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, pairwise
from typing import NamedTuple

from zapomni_core.chunking.graphemes import is_joined, last_seam
from zapomni_core.chunking.layout import ANYWHERE, LINE, PARAGRAPH, Break, Layout
from zapomni_core.chunking.sections import Block

_LONGEST_TOKEN = 16
"""Characters that count as one token at least, whatever the counter says: a chunk has a limit in characters too."""
_STEP = 32
"""Characters of a line, of some words, or of what is cut anywhere: finer pieces would cost time and gain nothing."""


class Piece(NamedTuple):
    """A piece reaches to the start of the next one. Its strength is that of the place where it begins."""

    start: int
    strength: int
    cost: int


def pieces_of(text: str, blocks: Iterable[Block], tokens: Callable[[str], int], limit: int) -> Iterator[Piece]:
    """The pieces of some blocks, most not dearer than half of `limit`, so that they pack well."""
    cutter = _Cutter(text, tokens, limit)
    for block in blocks:
        small_enough = limit if block.whole else limit // 2
        yield from cutter.cut(block.start, block.end, block.layout, PARAGRAPH, small_enough)


class _Cutter:
    def __init__(self, text: str, tokens: Callable[[str], int], limit: int) -> None:
        self._text = text
        self._tokens = tokens
        self._limit = limit
        self._counted = (-1, -1)
        self._count = 0

    def cut(self, start: int, end: int, layout: Layout, strength: int, small_enough: int) -> Iterator[Piece]:
        """Pieces of a part of the text: itself if it is small enough, else by the first kind of place, and so on."""
        cost = self._cost(start, end)
        if cost <= small_enough:
            yield Piece(start, strength, cost)
        elif not layout:
            yield from self._cut_anywhere(start, end, strength)
        else:
            kind, finer = layout[0], layout[1:]
            for first, last in pairwise(chain([start], self._places(kind, start, self._stop(start, end)), [end])):
                begins = strength if first == start else kind.strength
                yield from self.cut(first, last, finer, begins, self._limit // 2)

    def _places(self, kind: Break, start: int, end: int) -> Iterator[int]:
        """Where to cut, with something to follow; lines and words only as finely as is of use."""
        step = _STEP if kind.strength <= LINE else 1
        before = start
        for match in kind.pattern.finditer(self._text, start, end):
            at = match.end()
            if before + step <= at < end and not is_joined(self._text, at):
                yield at
                before = at

    def _cut_anywhere(self, start: int, end: int, strength: int) -> Iterator[Piece]:
        """White space is not cut: what follows the last piece is its own, and may make it dearer than the limit."""
        stop = self._stop(start, end)
        while start < stop:
            at = last_seam(self._text, start, min(start + _STEP, stop))
            yield Piece(start, strength, self._cost(start, at if at < stop else end))
            start, strength = at, ANYWHERE

    def _stop(self, start: int, end: int) -> int:
        """Where the white space at the end of a part begins."""
        return start + len(self._text[start:end].rstrip())

    def _cost(self, start: int, end: int) -> int:
        """White space alone is free. A part that has no place of one kind comes again for the next: it is counted once."""
        if self._counted != (start, end):
            self._counted, self._count = (start, end), self._counted_cost(self._text[start:end])
        return self._count

    def _counted_cost(self, part: str) -> int:
        """White space around it counts for its length only. A long part is not counted: it is too dear anyway."""
        stripped = part.strip()
        least = len(part) // _LONGEST_TOKEN if stripped else 0
        return least if least > self._limit else max(least, self._tokens(stripped))
