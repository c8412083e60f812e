"""The search from end to end: words, then the vector of what the words leave, then ranks, confidence and hits."""

import asyncio
import logging
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from zapomni_core.embedding import Embedder, Profile
from zapomni_core.errors import ProcessingError, ZapomniError
from zapomni_core.masking import without_paths
from zapomni_core.models import SearchHit, SearchResult
from zapomni_core.search.alignment import MOST_HITS, align, can_change
from zapomni_core.search.answers import cut_to, make_hits
from zapomni_core.search.confidence import confidence, verdict
from zapomni_core.search.lexical import Postings, score_words, translated
from zapomni_core.search.ranking import Question, Ranked, rank
from zapomni_core.search.replies import Replies, replies_to, with_replies
from zapomni_core.telemetry import timed
from zapomni_core.terms import Given, query_terms, query_words
from zapomni_db.arrays import Rows, Vector
from zapomni_db.errors import EmbedderMismatchError
from zapomni_db.filters import Filter
from zapomni_db.store import MemoryStore, Snapshot

log = logging.getLogger("zapomni.search")

COMMON_SHARE = 0.15
LEAST_CHUNKS_TO_PRUNE = 50
LEAST_WORDS_LEFT = 2
NO_FILTER = Filter()
PATIENCE_SECONDS = 20.0
"""How long a search waits for the embedder before it goes without: there must be time left for the answer by words."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """What a caller asks for, checked."""

    query: str
    limit: int = 10
    wanted: Filter = NO_FILTER
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class _Words:
    """What the words found; good for as long as the snapshot has the same version."""

    version: int
    postings: Postings
    meaning_of: str | None


@dataclass(frozen=True, slots=True)
class _Found:
    """The query's terms with what gave them, where they are, and the query's vector."""

    asked: Mapping[str, Given]
    postings: Postings
    vector: Vector | None


@dataclass(frozen=True, slots=True)
class _Answer:
    """What a snapshot answers, with more hits than were asked for if a closer look may change their order."""

    result: SearchResult
    ranked: Ranked
    needs_look: bool
    replies: Replies


async def search(store: MemoryStore, embedder: Embedder, workspace: str, request: SearchRequest) -> SearchResult:
    """The memories of a workspace that answer a question; by words alone where the embedder fails, and then it says so."""
    asked = query_terms(request.query)
    with timed("store"):
        looked_up = await store.read(
            workspace, lambda snapshot: _look_up(_by(embedder, snapshot), request.query, asked)
        )
    with timed("embedding"):
        vector, degraded = await _vector(embedder, looked_up.meaning_of)

    def answer(snapshot: Snapshot) -> _Answer:
        _by(embedder, snapshot)
        current = looked_up.postings if snapshot.version == looked_up.version else snapshot.postings(asked)
        return _answer(snapshot, embedder.profile, request, _Found(asked, current, vector))

    with timed("store"):
        answered = await store.read(workspace, answer)
    with timed("embedding"):
        hits = await _closer(embedder, request, answered)
    result = replace(answered.result, hits=_cut(with_replies(hits, answered.replies), request))
    return replace(result, workspace=workspace, degraded=degraded or _unembedded(result.chunks_without_vector))


def _by(embedder: Embedder, snapshot: Snapshot) -> Snapshot:
    """The snapshot, if its vectors are this embedder's: those of another one mean something else."""
    if snapshot.embedder not in (None, embedder.identity):
        raise EmbedderMismatchError("the store's vectors were made by another embedder since it was opened")
    return snapshot


def _look_up(snapshot: Snapshot, query: str, asked: Mapping[str, Given]) -> _Words:
    postings = snapshot.postings(asked)
    return _Words(snapshot.version, postings, without_common_words(snapshot, query, postings))


def without_common_words(snapshot: Snapshot, query: str, postings: Postings) -> str | None:
    """What the vector is made of: the query without words that so many chunks hold that they mean little here.

    A word of several terms, an identifier or a run of Han, is as common as the rarest of them. Stop words stay, but are
    not counted among the words that must remain.
    """
    if not snapshot.chunks:
        return None
    most = COMMON_SHARE * snapshot.chunks
    words = query_words(query)
    rare = [word for word in words if min((len(postings[term][0]) for term in word.terms), default=0) <= most]
    telling = sum(1 for word in rare if word.terms)
    if snapshot.chunks < LEAST_CHUNKS_TO_PRUNE or len(rare) == len(words) or telling < LEAST_WORDS_LEFT:
        return query
    return " ".join(word.word for word in rare)


async def question_vector(embedder: Embedder, text: str) -> Vector:
    """The vector of a question: of all of it and, as the profile weighs it, of its words without stop words."""
    telling = " ".join(word.word for word in query_words(text) if word.terms)
    weight = embedder.profile.telling_weight
    if not weight or telling in ("", text):
        return np.asarray((await embedder.embed([text], query=True))[0])
    whole, words = await embedder.embed([text, telling], query=True)
    joined = whole + np.float32(weight) * words
    length = np.linalg.norm(joined)
    return np.asarray(joined / length if length else whole)


async def _vector(embedder: Embedder, text: str | None) -> tuple[Vector | None, str | None]:
    """The vector of a query; or why there is none. Nothing to compare it with: no need to load the embedder."""
    if text is None:
        return None, None
    try:
        return await _in_time(embedder, question_vector(embedder, text)), None
    except ZapomniError as error:
        log.exception("query_not_embedded")
        return None, f"Only words were searched, not meaning: {without_paths(str(error)).rstrip('.')}."


async def _in_time(embedder: Embedder, work: Awaitable[T]) -> T:
    """What an embedder makes, unless somebody has waited for it long enough."""
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await work
    except TimeoutError:
        name = embedder.identity.name
        raise ProcessingError(f"The embedder '{name}' took longer than {PATIENCE_SECONDS:g} seconds") from None


def _unembedded(chunks: int) -> str | None:
    """What is said of chunks whose vectors are still to be made."""
    if not chunks:
        return None
    some = "1 chunk has no vector" if chunks == 1 else f"{chunks:,} chunks have no vector"
    return f"{some} yet and can be found by words only, not by meaning; search again in a moment."


async def _closer(embedder: Embedder, request: SearchRequest, answered: _Answer) -> tuple[SearchHit, ...]:
    """The hits in the order that a closer look gives them, where they need one and the embedder has one to offer."""
    hits = answered.result.hits
    if not answered.needs_look:
        return hits
    try:
        aligned = await _in_time(embedder, align(embedder, request.query, hits, answered.ranked))
    except ZapomniError:
        log.exception("hits_not_looked_at_closely")
        return hits
    if aligned is None:
        return hits
    shares = answered.result.confidence * aligned.scores / aligned.scores[0]
    return tuple(
        replace(hits[number], similarity_score=float(share))
        for number, share in zip(aligned.order, shares, strict=True)
    )


def _cut(hits: tuple[SearchHit, ...], request: SearchRequest) -> tuple[SearchHit, ...]:
    """As many hits, and as much of their text, as was asked for."""
    asked_for = list(hits[: request.limit])
    return tuple(asked_for if request.max_tokens is None else cut_to(asked_for, request.max_tokens))


def _answer(snapshot: Snapshot, profile: Profile, request: SearchRequest, found: _Found) -> _Answer:
    """One answer from one snapshot; runs in a thread of the store's."""
    mask = snapshot.mask(request.wanted) if request.wanted else None
    lexical = score_words(snapshot, found.postings)
    cover = lexical.cover(lexical.scores if mask is None else lexical.scores[mask])
    is_unclear = cover < profile.unclear_below
    in_others = translated(snapshot, request.query, found.postings) if is_unclear else {}
    if in_others:
        lexical = score_words(snapshot, {**found.postings, **in_others})
    question = Question(request.query, lexical, found.vector, mask, max(request.limit, MOST_HITS), profile)
    ranked = rank(snapshot, question)
    needs_look = is_unclear and can_change(ranked)
    ranked = ranked if needs_look else ranked[: request.limit]
    sure = confidence(snapshot, ranked, question)
    hits = make_hits(snapshot, ranked, sure, found.asked, found.postings, translated=in_others)
    result = SearchResult(
        hits=tuple(hits),
        confidence=sure,
        verdict=verdict(sure),
        workspace="",
        memories_searched=snapshot.memories if mask is None else _memories_of(snapshot.places[mask]),
        memories_in_workspace=snapshot.memories,
        chunks_without_vector=int(np.count_nonzero(~snapshot.embedded if mask is None else mask & ~snapshot.embedded)),
    )
    return _Answer(result, ranked, needs_look, replies_to(snapshot, ranked, hits, mask))


def _memories_of(places: Rows) -> int:
    """How many memories chunks belong to; places never fall."""
    return int(np.count_nonzero(np.diff(places, prepend=-1)))
