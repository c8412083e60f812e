"""Answers `term_counts` and `candidates` from the live chunks of a workspace: arrays in memory, the rest from the file."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import apsw
import numpy as np
from numpy.typing import NDArray

from zapomni_db import filter_entries
from zapomni_db.arrays import Mask, Rows, Vector
from zapomni_db.errors import EmbedderMismatchError
from zapomni_db.filters import Filter
from zapomni_db.rank import OFFSETS, PER_NEIGHBOUR, idf, textbook_bm25
from zapomni_db.records import Candidate, Candidates, Question, TermCounts
from zapomni_db.sqlite import filter_index, terms, vectors
from zapomni_db.sqlite.connection import damaged, one
from zapomni_db.sqlite.connection import rows as fetch
from zapomni_db.sqlite.vectors import Codes, Embedder
from zapomni_db.values import from_micros, integers, to_micros

RESCORED = 1000
"""Chunks whose exact cosine is read: those nearest by the signs of their vectors."""
RESCORED_IN_LARGE = 2000
LARGE = 200_000

_VECTORS = """
SELECT CAST(group_concat(vector.value, '') AS BLOB) FROM carray(?) wanted CROSS JOIN vector ON vector.id = wanted.value
"""
_CREATED = """
SELECT group_concat(id) FROM memory
WHERE workspace = ? AND created_at BETWEEN coalesce(?, created_at) AND coalesce(?, created_at)
"""
_MEMORIES = "SELECT uid, author FROM carray(?) wanted CROSS JOIN memory ON memory.id = wanted.value"

Scores = NDArray[np.float64]
Postings = dict[str, tuple[Rows, Rows]]


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveChunks:
    """The live chunks of one workspace, for as long as the transaction is open.

    A row is the place of a chunk in the arrays, a place that of a memory. Both follow the order of insertion.
    """

    connection: apsw.Connection
    workspace: str
    serving: Embedder | None
    memory_numbers: Rows
    moments: Rows
    neighbours: Rows
    chunk_numbers: Rows
    places: Rows
    lengths: Rows
    codes: Codes
    embedded: Mask

    def term_counts(self, wanted: Sequence[str]) -> TermCounts:
        found = self._postings(wanted)
        return TermCounts(len(self.chunk_numbers), tuple(len(found[term][0]) for term in wanted))

    def candidates(self, question: Question) -> Candidates:
        mask = self._mask(question.wanted) if question.wanted else np.ones(len(self.chunk_numbers), np.bool_)
        postings = self._postings(question.terms)
        by_words, words_full = self._by_words(question, postings, mask)
        by_vector, vectors_full = self._by_vector(question, mask)
        best = np.union1d(by_words, by_vector)
        places = np.unique(self.places[best])
        rows = np.union1d(best, self._chunks_beside(places))
        return Candidates(
            found=self._found(rows, question, postings, mask),
            links=self._links(places),
            words_full=words_full,
            vectors_full=vectors_full,
            matching=int(np.count_nonzero(np.diff(self.places[mask], prepend=-1))),
            without_vector=int(np.count_nonzero(mask & ~self.embedded)),
        )

    def _postings(self, wanted: Collection[str]) -> Postings:
        """For each term the rows of the chunks that hold it, in order, and how often each does."""
        found = terms.postings(self.connection, wanted)
        return {term: self._live(numbers, counts) for term, (numbers, counts) in found.items()}

    def _live(self, numbers: Rows, counts: Rows) -> tuple[Rows, Rows]:
        rows, live = _find(self.chunk_numbers, numbers)
        return rows, counts[live]

    def _mask(self, wanted: Filter) -> Mask:
        chosen = np.ones(len(self.memory_numbers), np.bool_)
        for group in filter_entries.groups_of(self.workspace, wanted):
            chosen &= self._are(filter_index.holding(self.connection, group))
        if wanted.date_from:
            chosen &= self.moments >= to_micros(wanted.date_from)
        if wanted.date_to:
            chosen &= self.moments <= to_micros(wanted.date_to)
        if wanted.created_from or wanted.created_to:
            bounds = [moment and to_micros(moment) for moment in (wanted.created_from, wanted.created_to)]
            chosen &= self._are(integers(one(self.connection, _CREATED, self.workspace, *bounds)))
        return chosen[self.places]

    def _are(self, numbers: Rows) -> Mask:
        """Which memories have one of these numbers."""
        chosen = np.zeros(len(self.memory_numbers), np.bool_)
        chosen[_find(self.memory_numbers, numbers)[0]] = True
        return chosen

    def _by_words(self, question: Question, postings: Postings, mask: Mask) -> tuple[Rows, bool]:
        scores: Scores = np.zeros(len(mask))
        average = self.lengths.mean() if len(mask) else 1.0
        for term, holding in zip(question.terms, question.counts.holding, strict=True):
            rows, counts = postings[term]
            weight = idf(question.counts.chunks, holding)
            scores[rows] += weight * textbook_bm25(counts, self.lengths[rows], average)
        return self._best(np.flatnonzero(scores * mask), scores, question.by_terms)

    def _by_vector(self, question: Question, mask: Mask) -> tuple[Rows, bool]:
        embedded = mask & self.embedded
        if question.vector is None or not embedded.any():
            return np.empty(0, np.int64), False
        self._check_embedder(question)
        rescored = RESCORED_IN_LARGE if len(mask) > LARGE else RESCORED
        most = max(rescored, question.by_vector + 1)  # one more than asked for tells that the leg is full
        near = vectors.nearest(self.codes, vectors.signs(question.vector), most, embedded)
        cosines = np.zeros(len(mask))
        cosines[near] = self._cosines(near, question.vector)
        return self._best(near, cosines, question.by_vector)

    def _best(self, rows: Rows, scores: Scores, count: int) -> tuple[Rows, bool]:
        """The rows with the highest scores, of equal ones the newest; and whether there were more."""
        if len(rows) <= count:
            return rows, False
        order = np.lexsort((-rows, -self.moments[self.places[rows]], -scores[rows]))
        return rows[order[:count]], True

    def _chunks_beside(self, places: Rows) -> Rows:
        """Of the memories beside these, the chunks nearest to them."""
        beside = []
        for column, offset in enumerate(OFFSETS):
            others = self.neighbours[places, column]
            others = others[others >= 0]
            first = np.searchsorted(self.places, others, "left")
            end = np.searchsorted(self.places, others, "right")
            if offset < 0:
                first = np.maximum(first, end - PER_NEIGHBOUR)
            beside += [(first + step)[first + step < end] for step in range(PER_NEIGHBOUR)]
        return np.concatenate(beside)

    def _links(self, places: Rows) -> list[tuple[str, int, str]]:
        around = self.neighbours[places]
        own, columns = np.nonzero(around >= 0)
        others = around[own, columns]
        every, where = np.unique(np.concatenate([places[own], others]), return_inverse=True)
        ids = [uid for uid, _ in self._memories(every)]
        return [
            (ids[a], OFFSETS[column], ids[b])
            for a, column, b in zip(where[: len(own)], columns, where[len(own) :], strict=True)
        ]

    def _found(self, rows: Rows, question: Question, postings: Postings, mask: Mask) -> list[Candidate]:
        counts = np.zeros((len(rows), len(question.terms)), np.int64)
        for number, term in enumerate(question.terms):
            holding, often = postings[term]
            places, there = _find(rows, holding)
            counts[places, number] = often[there]
        cosines = self._cosines(rows, question.vector).tolist() if question.vector is not None else [None] * len(rows)
        places, where = np.unique(self.places[rows], return_inverse=True)
        memories = self._memories(places)
        moments = [from_micros(micros) for micros in self.moments[places].tolist()]
        return [
            Candidate(str(chunk), memories[at][0], length, tuple(often), cosine, moments[at], memories[at][1], meets)
            for chunk, at, length, often, cosine, meets in zip(
                self.chunk_numbers[rows].tolist(),
                where.tolist(),
                self.lengths[rows].tolist(),
                counts.tolist(),
                (None if cosine is None or np.isnan(cosine) else cosine for cosine in cosines),
                mask[rows].tolist(),
                strict=True,
            )
        ]

    def _memories(self, places: Rows) -> list[tuple[str, str]]:
        """Ids and authors of memories, by place."""
        return list(fetch(self.connection, _MEMORIES, apsw.carray(self.memory_numbers[places]))) if len(places) else []

    def _cosines(self, rows: Rows, vector: Vector) -> Scores:
        """The exact cosines of rows with a unit vector; NaN where a row has no vector."""
        found = np.full(len(rows), np.nan)
        there = self.embedded[rows]
        if there.any():
            found[there] = vectors.cosines(self._vectors(rows[there]), vector)
        return found

    def _vectors(self, rows: Rows) -> Vector:
        assert self.serving is not None  # noqa: S101 - a row is embedded only by the serving embedder
        numbers = self.chunk_numbers[rows] + self.serving.vector_number(0)
        kept = one(self.connection, _VECTORS, apsw.carray(numbers)) or b""
        if len(kept) != len(rows) * self.serving.identity.dimension * np.dtype(np.float16).itemsize:
            raise damaged(Path(self.connection.filename), "vectors are missing")
        return vectors.read_vectors(kept, len(rows))

    def _check_embedder(self, question: Question) -> None:
        if self.serving and question.embedder != self.serving.identity:
            raise EmbedderMismatchError("the store's vectors were made by another embedder than the question's")


def _find(known: Rows, wanted: Rows) -> tuple[Rows, Mask]:
    """The positions of wanted numbers among sorted ones; and which of them are present."""
    if len(known) and known[-1] - known[0] == len(known) - 1:  # without gaps there is nothing to search
        where = wanted - known[0]
        there = (where >= 0) & (where < len(known))
        return where[there], there
    where = np.searchsorted(known, wanted)
    there = where < len(known)
    there[there] = known[where[there]] == wanted[there]
    return where[there], there
