"""Packs pieces into chunks: each as full as can be while it ends at a good place."""

from collections.abc import Iterable, Iterator
from itertools import accumulate

from zapomni_core.chunking.layout import LEAST_FILL
from zapomni_core.chunking.pieces import Piece


def first_pieces(pieces: Iterable[Piece], limit: int) -> Iterator[Piece]:
    """The first piece of every chunk. The window holds a quarter more than a chunk, so that the last one is no scrap."""
    window: list[Piece] = []
    total = 0
    for piece in pieces:
        window.append(piece)
        total += piece.cost
        while total > limit + limit // 4:
            yield window[0]
            total -= _take(window, limit, limit)
    while total > limit:
        yield window[0]
        total -= _take(window, limit, total - limit // 4)
    if window:
        yield window[0]


def _take(window: list[Piece], limit: int, most: int) -> int:
    """Removes the pieces of one chunk; returns what they cost."""
    count = _best_cut(window, limit, most)
    cost = sum(piece.cost for piece in window[:count])
    del window[:count]
    return cost


def _best_cut(window: list[Piece], limit: int, most: int) -> int:
    """How many pieces the chunk gets: up to the strongest place that leaves it full enough, the last of several."""
    best, strongest = 1, -1
    for count, filled in enumerate(accumulate(piece.cost for piece in window[:-1]), start=1):
        strength = window[count].strength
        if filled > min(limit, most):
            break
        if filled < LEAST_FILL[strength] * limit:
            strength = -1
        if strength >= strongest:
            best, strongest = count, strength
    return best
