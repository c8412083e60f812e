"""Scores the candidates of a store by words, with those of neighbours in the conversation, vectors, and the author's name.

docs/decisions/0005-search.md has the reasons, and the gain of each step.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from zapomni_core.embedding import Profile
from zapomni_core.text.terms import query_terms, query_words, words
from zapomni_db.rank import idf
from zapomni_db.records import Candidate, Candidates, Question, TermCounts

SATURATION = 0.6
FULL_COVER = 0.6
NEIGHBOUR_WEIGHTS = {1: 0.4, 2: 0.2}
SHORT_NEIGHBOUR = 15
"""Terms of a neighbour up to which it counts in full; a longer one counts proportionally less."""

COMMON_SHARE = 0.15
LEAST_CHUNKS_TO_PRUNE = 50
LEAST_WORDS_LEFT = 2

COSINE_DIGITS = 6
"""With more digits, equal vectors differ by their place in a matrix, and equal texts would not be ordered by age."""

LEAST_IN_IDENTIFIER, LEAST_DIGITS = 5, 4
_WORD = re.compile(r"\w+")
_DIGIT_GROUPS = re.compile(r"(?<!\w)\d(?:[ ().+/-]{0,2}\d){8,}(?!\w)")

Scores = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Scored:
    """The candidates that meet the filter, with parallel arrays of their scores.

    `words` is the share of the question that the words of a chunk and its neighbours cover, `own` the terms that the chunk
    itself has, and `lent` whether a neighbour has a term that it lacks.
    """

    chunks: Sequence[Candidate]
    total: Scores
    words: Scores
    words_part: Scores
    meaning_part: Scores
    cosines: Scores | None
    own: Mask
    lent: Mask
    by_author: Mask

    def best(self) -> list[int]:
        """The best chunk of each memory: by score, then newest, then id."""
        ordered = sorted(
            range(len(self.chunks)),
            key=lambda n: (-self.total[n], -self.chunks[n].moment.timestamp(), self.chunks[n].memory_id, n),
        )
        first: dict[str, int] = {}
        for number in ordered:
            first.setdefault(self.chunks[number].memory_id, number)
        return list(first.values())


def without_common_words(text: str, terms: Sequence[str], counts: TermCounts) -> str:
    """Remove the words of a question that many chunks have, before it is embedded.

    A word of several terms, an identifier or a run of Han, is as common as the rarest of them. Stop words stay, and do
    not count among the words that must remain.
    """
    holding = dict(zip(terms, counts.holding, strict=True))
    asked = query_words(text)
    most = COMMON_SHARE * counts.chunks
    rare = [word for word in asked if min((holding[term] for term in word.terms), default=0) <= most]
    content = sum(1 for word in rare if word.terms)
    if counts.chunks < LEAST_CHUNKS_TO_PRUNE or len(rare) == len(asked) or content < LEAST_WORDS_LEFT:
        return text
    return " ".join(word.word for word in rare)


def names_known_identifier(text: str, terms: Sequence[str], counts: TermCounts) -> bool:
    """Whether a question has a hash or number of which a chunk has a term: vectors of identifiers look alike."""
    holding = dict(zip(terms, counts.holding, strict=True))
    return any(holding.get(term) for identifier in _identifiers(text) for term in query_terms(identifier))


def _identifiers(text: str) -> list[str]:
    """Words of at least five characters with at least four digits, and groups of nine digits and more."""
    found = [
        word
        for word in _WORD.findall(text)
        if len(word) >= LEAST_IN_IDENTIFIER and sum(map(str.isdigit, word)) >= LEAST_DIGITS
    ]
    return found + _DIGIT_GROUPS.findall(text)


def score(text: str, question: Question, proposed: Candidates, profile: Profile) -> Scored:
    """Score every candidate that meets the filter. Scores do not depend on the number of candidates."""
    every = proposed.found
    counts = np.array([one.counts for one in every], np.float64).reshape(len(every), len(question.terms))
    soft = counts + _from_neighbours(proposed, counts)
    weights = np.array([idf(question.counts.chunks, holding) for holding in question.counts.holding])
    covered = (1 + SATURATION) * soft / (soft + SATURATION) @ weights / (weights.sum() or 1.0)
    kept = np.array([number for number, one in enumerate(every) if one.meets], np.int64)
    chunks, covered = [every[number] for number in kept], covered[kept]
    cosines = None if question.vector is None else _known_cosines(chunks)
    words_part = covered * min(1.0, float(covered.max(initial=0)) / FULL_COVER)
    meaning_part = np.zeros(len(chunks)) if cosines is None else (profile.vector_weight or 0.0) * cosines
    by_author = _named_authors(text, chunks)
    own = counts[kept] > 0
    return Scored(
        chunks=chunks,
        total=words_part + meaning_part + profile.author_bonus * by_author,
        words=covered,
        words_part=words_part,
        meaning_part=meaning_part,
        cosines=cosines,
        own=own,
        lent=np.asarray(((soft[kept] > 0) & ~own).any(axis=1)),
        by_author=by_author,
    )


def _from_neighbours(proposed: Candidates, counts: Scores) -> Scores:
    """Return the term counts that each chunk gets from the candidates of neighbouring memories."""
    memories = {memory_id: number for number, memory_id in enumerate({one.memory_id for one in proposed.found})}
    of_chunks = np.array([memories[one.memory_id] for one in proposed.found], np.int64)
    lengths = np.array([one.length for one in proposed.found], np.float64)
    damping = np.minimum(1.0, SHORT_NEIGHBOUR / np.maximum(lengths, 1.0))
    lendable = np.zeros((len(memories), counts.shape[1]))
    np.add.at(lendable, of_chunks, counts * damping[:, None])
    lent = np.zeros_like(lendable)
    for one, offset, other in _all_links(proposed.links):
        if one in memories and other in memories:
            lent[memories[one]] += NEIGHBOUR_WEIGHTS[abs(offset)] * lendable[memories[other]]
    return lent[of_chunks]


def _all_links(links: Sequence[tuple[str, int, str]]) -> set[tuple[str, int, str]]:
    """Return the links of a store in both directions, and those between two neighbours of one memory."""
    around: dict[str, list[tuple[int, str]]] = {}
    for one, offset, other in links:
        around.setdefault(one, [(0, one)]).append((offset, other))
    return {
        (one, there - here, other)
        for beside in around.values()
        for here, one in beside
        for there, other in beside
        if abs(there - here) in NEIGHBOUR_WEIGHTS
    }


def _known_cosines(chunks: Sequence[Candidate]) -> Scores | None:
    """Return the cosines, with the lowest one for chunks without a vector; None if no chunk has a vector."""
    known = [one.cosine for one in chunks if one.cosine is not None]
    if not known:
        return None
    lowest = min(known)
    return np.round(np.array([lowest if one.cosine is None else one.cosine for one in chunks]), COSINE_DIGITS)


def _named_authors(text: str, chunks: Sequence[Candidate]) -> Mask:
    """Mark the chunks whose author has a whole word in common with the question."""
    asked = set(words(text))
    named = {author for author in {one.author for one in chunks} if not asked.isdisjoint(words(author))}
    return np.array([one.author in named for one in chunks], np.bool_)
