"""Answers `term_counts` and `candidates` by statements: the store counts, compares vectors and filters, Python adds up.

Nothing is kept between two calls. Each leg is exact, but for one thing: in a large workspace, chunks are not proposed for the
commonest words of a question alone, unless they hold all of its words.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from zapomni_db import values
from zapomni_db.arrays import Rows
from zapomni_db.errors import EmbedderMismatchError
from zapomni_db.falkordb.add import count_in, term_name
from zapomni_db.falkordb.chunks import chunk_uid
from zapomni_db.falkordb.client import FalkorDBClient
from zapomni_db.falkordb.filters import conditions
from zapomni_db.falkordb.memories import state_of
from zapomni_db.falkordb.neighbours import Beside, Turn, beside
from zapomni_db.falkordb.transaction import Workspace, read_workspace, workspace_id
from zapomni_db.rank import idf, textbook_bm25
from zapomni_db.records import Candidate, Candidates, Question, TermCounts

MOST_POSTINGS = 20_000
"""Chunks that are looked up for words, the rarest words first."""
SCORED = 4
"""For each chunk that is proposed by its words, so many are scored: those that hold the most telling words."""

_HOLDING = "MATCH (c:Chunk) WHERE $term IN c.terms RETURN count(c)"
_NUMBERS = "RETURN string.join(collect(toString(c.number)), ',')"
_MATCHING = "MATCH (m:Memory) WHERE m.state = $live{} RETURN count(m)"
_PENDING = "MATCH (c:Chunk) WHERE c.pending = $ws AND c.live = $ws{} RETURN count(c)"
_NEAREST = """
WITH vecf32($vector) AS asked MATCH (c:Chunk) WHERE c.live = $ws AND c.{0} IS NOT NULL{1}
WITH c, vec.cosineDistance(c.{0}, asked) AS distance ORDER BY distance, c.moment DESC, c.number DESC LIMIT $limit
RETURN c.number
"""
_CHUNKS = """
UNWIND $uids AS uid MATCH (c:Chunk {{uid: uid}}) WHERE c.live = $ws
RETURN c.number, c.memory_id, c.length, c.words, c.moment, c.author, c.talk, c.first_chunk, {} AS cosine, {} AS meets
"""
_COSINE = "1 - vec.cosineDistance(c.{}, vecf32($vector))"


class Chunk(NamedTuple):
    """A chunk that may be proposed. `talk` names its conversation, `first_chunk` is the first one of its memory."""

    number: int
    memory_id: str
    length: int
    words: str
    moment: int
    author: str
    talk: str | None
    first_chunk: int
    cosine: float | None
    meets: bool

    @property
    def turn(self) -> Turn:
        """Its memory in its conversation."""
        return Turn(self.moment, self.first_chunk)


async def term_counts(client: FalkorDBClient, name: str, terms: Sequence[str]) -> TermCounts:
    """The number of live chunks, and of those that hold each term."""
    workspace = await read_workspace(client, workspace_id(name))
    counted = await asyncio.gather(*[client.read(_HOLDING, {"term": term_name(name, term)}) for term in terms])
    return TermCounts(workspace.chunks, tuple(rows[0][0] for rows in counted))


async def candidates(client: FalkorDBClient, name: str, question: Question) -> Candidates:
    """The best chunks by words and by vector, and those beside them in their conversations."""
    ws = workspace_id(name)
    workspace = await read_workspace(client, ws)
    if question.vector is not None and workspace.embedder not in (None, question.embedder):
        raise EmbedderMismatchError("the store's vectors were made by another embedder than the question's")
    return await Search(client, name, ws, workspace, question).candidates()


@dataclass(frozen=True, slots=True)
class Search:
    """A question to a workspace."""

    client: FalkorDBClient
    name: str
    ws: str
    workspace: Workspace
    question: Question

    async def candidates(self) -> Candidates:
        """The candidates that the store proposes."""
        by_words, by_vector, matching, pending = await asyncio.gather(
            self._by_words(), self._by_vector(), self._matching(), self._pending()
        )
        known = {one.number: one for one in by_words[: self.question.by_terms]}
        known |= await self._chunks(by_vector[: self.question.by_vector], known)
        near = await beside(self.client, self.ws, {one.turn: one.talk for one in known.values() if one.talk})
        beyond = (turn.nearest_chunks(offset) for around in near.values() for offset, turn in around.items())
        known |= await self._chunks(set(chain.from_iterable(beyond)), known)
        terms = [term_name(self.name, term) for term in self.question.terms]
        return Candidates(
            found=[self._candidate(known[number], terms) for number in sorted(known)],
            links=_links(near, known),
            words_full=len(by_words) > self.question.by_terms,
            vectors_full=len(by_vector) > self.question.by_vector,
            matching=matching,
            without_vector=pending,
        )

    async def _by_words(self) -> list[Chunk]:
        """The chunks with the best BM25 of the question's words; one more than asked for tells that there are others."""
        weights = self._weights()
        numbers, scores = _summed(await self._holding(weights))
        most = SCORED * (self.question.by_terms + 1)
        likely = numbers[np.lexsort((-numbers, -scores))[:most]]
        average = self.workspace.length / max(1, self.workspace.chunks) or 1.0

        def merit(one: Chunk) -> tuple[float, int, int]:
            bm25 = (
                weight * textbook_bm25(count_in(one.words, term), one.length, average)
                for term, weight in weights.items()
            )
            return sum(bm25), one.moment, one.number

        found = await self._chunks(likely.tolist())
        return sorted(found.values(), key=merit, reverse=True)[: self.question.by_terms + 1]

    def _weights(self) -> dict[str, float]:
        """The idf of each of the question's terms that the workspace has, the rarest first."""
        counts = self.question.counts
        rarest = sorted(zip(counts.holding, self.question.terms, strict=True))
        return {term_name(self.name, term): idf(counts.chunks, holding) for holding, term in rarest if holding}

    async def _holding(self, weights: Mapping[str, float]) -> list[tuple[Rows, float]]:
        """Chunks that hold words, and what that adds to their scores.

        Without a filter, the commonest words count only where the chunk holds all words that tell more.
        """
        terms = list(weights)
        few = len(terms) if self.question.wanted else min(len(terms), self._few())
        postings = await asyncio.gather(*[self._holding_all(terms[at : at + 1]) for at in range(few)])
        found = list(zip(postings, weights.values(), strict=False))
        seen = np.empty(0, np.int64)
        for many in range(len(terms), few, -1):
            if len(seen) >= self.question.by_terms:
                break
            others = np.setdiff1d(await self._holding_all(terms[:many]), seen)
            found.append((others, sum(weights[term] for term in terms[few:many])))
            seen = np.union1d(seen, others)
        return found

    def _few(self) -> int:
        """The number of terms, the rarest first, that few enough chunks hold together; at least one."""
        sums = np.cumsum(sorted(filter(None, self.question.counts.holding)))
        return max(1, int(np.count_nonzero(sums <= MOST_POSTINGS)))

    async def _holding_all(self, terms: Sequence[str]) -> Rows:
        """The chunks that meet the filter and hold all of these words."""
        which, parameters = conditions(self.name, self.question.wanted, "c")
        names = {f"t{place}": term for place, term in enumerate(terms)}
        holding = " AND ".join(f"${name} IN c.terms" for name in names)
        found = await self.client.read(f"MATCH (c:Chunk) WHERE {holding}{which} {_NUMBERS}", {**names, **parameters})
        return values.integers(found[0][0])

    async def _by_vector(self) -> list[int]:
        """The chunks with the best cosines; one more than asked for tells that there are others."""
        if self.question.vector is None or self.workspace.embedder is None:
            return []
        which, parameters = conditions(self.name, self.question.wanted, "c")
        given = {"ws": self.ws, "vector": self.question.vector, "limit": self.question.by_vector + 1}
        found = await self.client.read(_NEAREST.format(self.workspace.vector, which), given | parameters)
        return [number for (number,) in found]

    async def _matching(self) -> int:
        """The number of memories that meet the filter."""
        if not self.question.wanted:
            return self.workspace.memories
        return await self._count(_MATCHING, "m", {"live": state_of(self.ws, "live")})

    async def _pending(self) -> int:
        """The number of chunks that meet the filter and have no vector."""
        return await self._count(_PENDING, "c", {"ws": self.ws})

    async def _count(self, statement: str, node: str, parameters: Mapping[str, Any]) -> int:
        which, more = conditions(self.name, self.question.wanted, node)
        found = await self.client.read(statement.format(which), {**parameters, **more})
        return int(found[0][0])

    async def _chunks(self, numbers: Iterable[int], known: Mapping[int, Chunk] | None = None) -> dict[int, Chunk]:
        """Chunks by their numbers, but for known ones."""
        uids = [chunk_uid(self.ws, number) for number in numbers if number not in (known or {})]
        if not uids:
            return {}
        which, parameters = conditions(self.name, self.question.wanted, "c")
        given = {"ws": self.ws, "uids": uids, **parameters}
        cosine = "NULL"
        if self.question.vector is not None and self.workspace.embedder:
            cosine, given["vector"] = _COSINE.format(self.workspace.vector), self.question.vector
        found = await self.client.read(_CHUNKS.format(cosine, f"true{which}"), given)
        return {row[0]: Chunk(*row) for row in found}

    def _candidate(self, one: Chunk, terms: Sequence[str]) -> Candidate:
        return Candidate(
            chunk=chunk_uid(self.ws, one.number),
            memory_id=one.memory_id,
            length=one.length,
            counts=tuple(count_in(one.words, term) for term in terms),
            cosine=one.cosine,
            moment=values.from_micros(one.moment),
            author=one.author,
            meets=bool(one.meets),
        )


def _summed(found: Sequence[tuple[Rows, float]]) -> tuple[Rows, Any]:
    """Chunks and what they get from all words together."""
    numbers, places = np.unique(
        np.concatenate([np.empty(0, np.int64), *[rows for rows, _ in found]]), return_inverse=True
    )
    weights = [np.full(len(rows), weight) for rows, weight in found]
    return numbers, np.bincount(places, np.concatenate([np.empty(0), *weights]), len(numbers))


def _links(near: Beside, known: Mapping[int, Chunk]) -> list[tuple[str, int, str]]:
    """The links between neighbours whose chunks are known."""
    ids = {one.first_chunk: one.memory_id for one in known.values()}
    return [
        (ids[first_chunk], offset, ids[turn.first_chunk])
        for first_chunk, around in near.items()
        for offset, turn in around.items()
        if turn.first_chunk in ids
    ]
