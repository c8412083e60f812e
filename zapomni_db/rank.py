"""Proposes candidates for stores that can iterate their chunks; and the formulas that every store may use."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np

from zapomni_db.arrays import Vector
from zapomni_db.records import Candidate, Candidates, Question, TermCounts

OFFSETS = (-2, -1, 1, 2)
"""The places of neighbours in a conversation, seen from a memory."""
PER_NEIGHBOUR = 4
"""Chunks of a neighbour that are proposed: those nearest to the memory."""

_K1, _B = 1.2, 0.75


class RankedChunk(NamedTuple):
    """A live chunk of a workspace. Chunks of a memory follow each other, memories come in the order of insertion."""

    chunk: str
    memory_id: str
    terms: Counter[str]
    vector: Vector | None
    moment: datetime
    author: str
    conversation: str
    meets: bool


def idf(chunks: int, holding: int) -> float:
    """The inverse document frequency of a term that `holding` of `chunks` chunks hold."""
    return math.log(1 + (chunks - holding + 0.5) / (holding + 0.5))


def textbook_bm25(counts: Any, lengths: Any, average: float) -> Any:
    """BM25 of one term without its idf, for numbers or arrays."""
    return counts * (_K1 + 1) / (counts + _K1 * (1 - _B + _B * lengths / average))


def term_counts(chunks: Iterable[RankedChunk], terms: Sequence[str]) -> TermCounts:
    """The number of chunks, and of those that hold each term."""
    total, holding = 0, Counter[str]()
    for one in chunks:
        total += 1
        holding.update(term for term in terms if term in one.terms)
    return TermCounts(total, tuple(holding[term] for term in terms))


def candidates(chunks: Sequence[RankedChunk], question: Question) -> Candidates:
    """The best chunks by terms and by vector, and those beside them in their conversations."""
    meeting = [number for number, one in enumerate(chunks) if one.meets]
    cosines = [_cosine(one.vector, question.vector) for one in chunks]
    scores = _word_scores(chunks, question)
    by_words = _best_first(chunks, {n: scores[n] for n in meeting if scores[n]})
    by_vector = _best_first(chunks, {n: cosine for n in meeting if (cosine := cosines[n]) is not None})
    best = {*by_words[: question.by_terms], *by_vector[: question.by_vector]}
    beside, links = _beside(chunks, best)
    return Candidates(
        found=[_candidate(chunks[n], question, cosines[n]) for n in sorted(best | beside)],
        links=links,
        words_full=len(by_words) > question.by_terms,
        vectors_full=len(by_vector) > question.by_vector,
        matching=len({chunks[n].memory_id for n in meeting}),
        without_vector=sum(chunks[n].vector is None for n in meeting),
    )


def _best_first(chunks: Sequence[RankedChunk], scores: Mapping[int, float]) -> list[int]:
    """Of equal scores the newest first."""
    return sorted(scores, key=lambda n: (scores[n], chunks[n].moment, n), reverse=True)


def _cosine(vector: Vector | None, asked: Vector | None) -> float | None:
    if vector is None or asked is None:
        return None
    return float(np.dot(vector, asked) / max(float(np.linalg.norm(vector)), 1e-30))


def _word_scores(chunks: Sequence[RankedChunk], question: Question) -> list[float]:
    lengths = [one.terms.total() for one in chunks]
    average = sum(lengths) / len(lengths) if chunks else 1.0
    weights = [idf(question.counts.chunks, holding) for holding in question.counts.holding]
    return [
        sum(
            weight * textbook_bm25(one.terms[term], length, average)
            for term, weight in zip(question.terms, weights, strict=True)
            if term in one.terms
        )
        for one, length in zip(chunks, lengths, strict=True)
    ]


def _beside(chunks: Sequence[RankedChunk], best: set[int]) -> tuple[set[int], list[tuple[str, int, str]]]:
    """The chunks of neighbours that are nearest to the best memories; and the links between the memories."""
    numbers: dict[str, list[int]] = {}
    conversations: dict[str, list[str]] = {}
    for number, one in enumerate(chunks):
        numbers.setdefault(one.memory_id, []).append(number)
    for own in sorted(numbers.values(), key=lambda own: (chunks[own[0]].moment, own[0])):
        if chunks[own[0]].conversation:
            conversations.setdefault(chunks[own[0]].conversation, []).append(chunks[own[0]].memory_id)
    wanted = {chunks[number].memory_id for number in best}
    beside: set[int] = set()
    links = []
    for memories in conversations.values():
        for place, memory_id in enumerate(memories):
            for offset in OFFSETS if memory_id in wanted else ():
                if 0 <= place + offset < len(memories):
                    other = memories[place + offset]
                    links.append((memory_id, offset, other))
                    beside.update(numbers[other][-PER_NEIGHBOUR:] if offset < 0 else numbers[other][:PER_NEIGHBOUR])
    return beside, links


def _candidate(one: RankedChunk, question: Question, cosine: float | None) -> Candidate:
    counts = tuple(one.terms[term] for term in question.terms)
    return Candidate(
        one.chunk, one.memory_id, one.terms.total(), counts, cosine, one.moment, one.author, meets=one.meets
    )
