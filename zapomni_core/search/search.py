"""The search: count terms, embed the question, ask the store for candidates, score them, make hits."""

import asyncio
import logging
from collections.abc import Awaitable
from dataclasses import dataclass, replace
from typing import TypeVar

from zapomni_core.embedding import Embedder, log_failure
from zapomni_core.embedding.weight import is_cyrillic, weight_of
from zapomni_core.errors import ZapomniError, embedder_too_slow, without_paths
from zapomni_core.http import call_limit
from zapomni_core.models import SearchResult
from zapomni_core.search.answer import confidence, cut_to, make_hits, verdict
from zapomni_core.search.score import names_known_identifier, score, without_common_words
from zapomni_core.telemetry import timed
from zapomni_core.text.terms import query_terms
from zapomni_db.arrays import Vector
from zapomni_db.filters import NO_FILTER, Filter
from zapomni_db.records import Candidates, Question, TermCounts
from zapomni_db.store import MemoryStore

log = logging.getLogger("zapomni.search")

EMBEDDING_SECONDS = 20.0
"""The time that a search waits for the embedder before it continues with words alone."""
CALL_SECONDS = 5.0
"""The same for a request of an embedder on the network."""
LEG_GROWTH = 4
"""The factor by which the next request asks for more chunks, if a full leg brought too few memories."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """A search, validated."""

    query: str
    limit: int = 10
    wanted: Filter = NO_FILTER
    max_tokens: int | None = None


async def search(store: MemoryStore, embedder: Embedder, workspace: str, request: SearchRequest) -> SearchResult:
    """Find the memories of a workspace that answer a question; by words alone if the embedder fails, which the result says."""
    asked = query_terms(request.query)
    terms = tuple(asked)
    with timed("store"):
        counts = await store.term_counts(workspace, terms)
    with timed("embedding"):
        telling = _telling(request.query, terms, counts)
        vector, weight, degraded = await _vector(store, embedder, workspace, request.query, telling)
    profile = replace(embedder.profile, vector_weight=weight)
    question = Question(terms=terms, counts=counts, vector=vector, embedder=embedder.identity, wanted=request.wanted)
    with timed("store"):
        proposed = await _proposed(store, workspace, question, request.limit)
    scored = score(request.query, question, proposed, profile)
    sure = confidence(scored, counts.chunks, profile)
    with timed("store"):
        hits = await make_hits(store, workspace, scored, asked, sure=sure, limit=request.limit)
    return SearchResult(
        hits=tuple(hits if request.max_tokens is None else cut_to(hits, request.max_tokens)),
        confidence=sure,
        verdict=verdict(sure),
        workspace=workspace,
        memories_searched=proposed.matching,
        filtered=bool(request.wanted),
        degraded=degraded or _unembedded(proposed.without_vector),
        chunks_without_vector=proposed.without_vector,
    )


async def _proposed(store: MemoryStore, workspace: str, question: Question, limit: int) -> Candidates:
    """Get candidates of enough memories, or of all that meet the filter. One long document can fill a leg."""
    while True:
        proposed = await store.candidates(workspace, question)
        memories = {one.memory_id for one in proposed.found if one.meets}
        enough = limit if proposed.matching is None else min(limit, proposed.matching)
        if len(memories) >= enough or not (proposed.words_full or proposed.vectors_full):
            return proposed
        question = replace(question, by_terms=question.by_terms * LEG_GROWTH, by_vector=question.by_vector * LEG_GROWTH)


def _telling(query: str, terms: tuple[str, ...], counts: TermCounts) -> str:
    """Return the words of a question to embed; none in an empty workspace, so that the embedder is not loaded."""
    if not counts.chunks or names_known_identifier(query, terms, counts):
        return ""
    return without_common_words(query, terms, counts)


async def _vector(
    store: MemoryStore, embedder: Embedder, workspace: str, query: str, telling: str
) -> tuple[Vector | None, float, str | None]:
    """Return the vector of a question's telling words and its weight, or why there is none. Empty words have none."""
    if not telling:
        return None, 0.0, None

    async def embedded() -> tuple[Vector | None, float, None]:
        known = await weight_of(store, workspace, embedder)
        if not known.weight or (not known.cyrillic and is_cyrillic(query)):
            return None, 0.0, None
        return (await embedder.embed([telling], query=True))[0], known.weight, None

    try:
        return await _in_time(embedder, embedded())
    except ZapomniError as error:
        log_failure(log, "query_not_embedded", error)
        return None, 0.0, f"Only words were searched, not meaning: {without_paths(str(error)).rstrip('.')}."


async def _in_time(embedder: Embedder, work: Awaitable[T]) -> T:
    try:
        with call_limit(CALL_SECONDS):
            async with asyncio.timeout(EMBEDDING_SECONDS):
                return await work
    except TimeoutError:
        raise embedder_too_slow(embedder.identity.name, EMBEDDING_SECONDS) from None


def _unembedded(chunks: int) -> str | None:
    if not chunks:
        return None
    some = "1 chunk has no vector" if chunks == 1 else f"{chunks:,} chunks have no vector"
    return f"{some} yet and can be found by words only, not by meaning; search again in a moment."
