"""The lexical leg: BM25 over the terms of a query, with evidence from the neighbours in a conversation."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from zapomni_core.lexicon import translations
from zapomni_core.terms import query_words
from zapomni_db.arrays import Rows
from zapomni_db.store import Snapshot

Scores = NDArray[np.float64]
Posting = tuple[Rows, Rows | Scores]
"""Where something is, and how often."""
Postings = Mapping[str, Posting]

K1 = 0.9
B = 0.4
TRANSLATED = 0.7
"""How much a translation of a word counts."""
MOST_TRANSLATED = 50
"""Terms of a query that is translated. What has more is no question, and looking all of it up would take a second."""
NEIGHBOUR_WEIGHTS = np.array([0.2, 0.4, 0.4, 0.2])  # two before, one before, one after, two after


@dataclass(frozen=True, slots=True)
class Lexical:
    """What the words of a query say of every chunk."""

    scores: Scores
    ideal: float

    def cover(self, scores: Scores) -> float:
        """How much of the query the words of one of these chunks cover, at best."""
        return min(1.0, float(scores.max(initial=0)) / self.ideal) if self.ideal else 0.0


def translated(snapshot: Snapshot, query: str, postings: Postings) -> Postings:
    """Of a query's terms that have translations, the postings with the chunks that hold one and not the word itself."""
    if len(postings) > MOST_TRANSLATED:
        return {}
    known = translations(query_words(query))
    held = snapshot.postings({term for words in known.values() for word in words for term in word})
    others = {term: [_together([held[part] for part in word]) for word in words] for term, words in known.items()}
    return {term: _with_others(snapshot.chunks, postings[term], some) for term, some in others.items()}


def _with_others(chunks: int, own: Posting, others: Iterable[Posting]) -> Posting:
    often = np.zeros(chunks)
    for rows, counts in others:
        often[rows] = np.maximum(often[rows], TRANSLATED * counts)
    rows, counts = own
    often[rows] = counts
    found = np.flatnonzero(often)
    return found, often[found]


def _together(postings: Sequence[Posting]) -> Posting:
    """Where all terms of a word are, and how often at most it can be there."""
    rows, counts = postings[0]
    for others, more in postings[1:]:
        rows, here, there = np.intersect1d(rows, others, assume_unique=True, return_indices=True)
        counts = np.minimum(counts[here], more[there])
    return rows, counts


def score_words(snapshot: Snapshot, postings: Postings) -> Lexical:
    """The lexical score of every chunk for these terms."""
    scores: Scores = np.zeros(snapshot.chunks)
    ideal = 0.0
    around = _Around(snapshot)
    for rows, counts in postings.values():
        weight = inverse_frequency(snapshot.chunks, len(rows))
        ideal += weight
        touched, soft = around.soften(rows, counts)
        scores[touched] += weight * soft * (K1 + 1) / (soft + K1 * around.norms(touched))
    return Lexical(scores, ideal)


def inverse_frequency(chunks: int, holding: int) -> float:
    """How much a term tells that `holding` of so many chunks hold."""
    return float(np.log(1 + (chunks - holding + 0.5) / (holding + 0.5)))


class _Around:
    """Lengths and term counts with a share of the neighbours' in them."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._places = snapshot.places
        self._neighbours = snapshot.neighbours
        self._talks = self._neighbours.max(initial=-1) >= 0
        self._lengths: Scores | Rows = snapshot.lengths
        if self._talks:
            self._lengths = self._lengths + self._shared(snapshot.lengths, self._places)[self._places]
        self._average = (float(self._lengths.mean()) if len(self._lengths) else 1.0) or 1.0

    def norms(self, rows: Rows) -> Scores:
        """How much the length of each chunk takes from what its words say."""
        return np.asarray(1 - B + B * self._lengths[rows] / self._average)

    def soften(self, rows: Rows, counts: Rows | Scores) -> tuple[Rows, Scores]:
        """The rows that a term touches, and its soft frequency in each."""
        if not self._talks or not len(rows):
            return rows, counts.astype(np.float64)
        soft = self._shared(counts.astype(np.float64), self._places[rows])[self._places]
        soft[rows] += counts
        touched = np.flatnonzero(soft)
        return touched, soft[touched]

    def _shared(self, values: Scores | Rows, places: Rows) -> Scores:
        """What each memory gets of the sums of its neighbours' values."""
        sums = np.zeros(len(self._neighbours) + 1)  # a missing neighbour is -1: the last, which stays nothing
        np.add.at(sums, places, values)
        return np.asarray(sums[self._neighbours] @ NEIGHBOUR_WEIGHTS)
