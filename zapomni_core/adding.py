"""Makes of a text everything that is kept of it: chunks, terms, vectors."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from zapomni_core.dispatch.call import Heartbeat, report_progress
from zapomni_core.embedding import Embedder
from zapomni_core.extracting import UNREAD, Reading
from zapomni_core.intake import Particulars, key_of, read_particulars
from zapomni_core.telemetry import timed
from zapomni_core.text.chunks import Chunk, chunk
from zapomni_core.text.terms import VERSION, terms
from zapomni_db.records import NewChunk, NewJob, NewMemory

if TYPE_CHECKING:
    from zapomni_db.arrays import Vector

BEAT_SECONDS = 0.9  # sooner than the call itself would say that it goes on
MOST_AT_ONCE = 2000
"""Characters that are cut and analysed faster than a thread is asked to."""
LONGEST_AUTHOR = 200
"""Characters of an author's name that are searched: they stand before every chunk."""

T = TypeVar("T")
_Part = tuple[Chunk, str]
"""A chunk of a text, with what is searched of it."""


async def prepare(
    text: str,
    metadata: Mapping[str, Any],
    embedder: Embedder,
    *,
    replaces: str | None = None,
    reading: Reading = UNREAD,
    by: str = "",
) -> NewMemory:
    """A memory ready to be kept."""
    particulars = read_particulars(metadata)
    with timed("chunking"):
        parts = await _computed(partial(_parts, text, particulars, embedder), text, 0, "cutting into chunks")
    vectors = await _vectors(embedder, parts)
    with timed("analysis"):
        chunks = await _computed(partial(_analysed, parts, vectors), text, len(parts) + 1, "reading the words")
    return NewMemory(
        text=text,
        metadata=metadata,
        chunks=chunks,
        embedder=embedder.identity,
        analyser=VERSION,
        key=key_of(text, metadata),
        tags=particulars.tags,
        source=particulars.source,
        author=particulars.author,
        conversation=particulars.conversation,
        timestamp=particulars.timestamp,
        replaces=replaces,
        extraction=reading.extraction,
        jobs=reading.jobs,
        by=by,
    )


def prepare_for_words(
    text: str, metadata: Mapping[str, Any], particulars: Particulars, embedder: Embedder, jobs: tuple[NewJob, ...]
) -> NewMemory:
    """A memory that is like no other and is found by its words at once; vectors are made later. Nothing is loaded for it."""
    parts = _parts(text, particulars, embedder)
    return NewMemory(
        text=text,
        metadata=metadata,
        chunks=tuple([_new_chunk(part, None) for part in parts]),
        tags=particulars.tags,
        source=particulars.source,
        author=particulars.author,
        timestamp=particulars.timestamp,
        embedder=embedder.identity,
        analyser=VERSION,
        jobs=jobs,
    )


async def _computed(work: Callable[[], T], text: str, done: float, message: str) -> T:
    """The result of computing with a text, in a thread unless the way there takes longer."""
    if len(text) <= MOST_AT_ONCE:
        return work()
    return await attended(asyncio.to_thread(work), done, message)


async def attended(work: Awaitable[T], done: float, message: str) -> T:
    """The result of work that cannot tell how far it is: whoever called hears once a second that it goes on.

    Progress must grow: it comes ever nearer to one more than what is done.
    """
    loop, count = asyncio.get_running_loop(), 0
    told_at = loop.time()

    async def tell() -> None:
        nonlocal count, told_at
        count, told_at = count + 1, loop.time()
        await report_progress(done + count / (count + 10), None, message)

    heartbeat = Heartbeat(BEAT_SECONDS, lambda: told_at, tell)
    try:
        return await work
    finally:
        heartbeat.stop()


def _parts(text: str, particulars: Particulars, embedder: Embedder) -> list[_Part]:
    profile = embedder.profile
    found = chunk(
        text,
        tokens=embedder.tokens,
        language=particulars.language,
        chunk_tokens=profile.chunk_tokens,
        overlap_tokens=profile.overlap_tokens,
    )
    return [(one, indexed_text(particulars, one.heading, text[one.start : one.end])) for one in found]


def _analysed(parts: Sequence[_Part], vectors: "Vector") -> tuple[NewChunk, ...]:
    return tuple([_new_chunk(part, vector) for part, vector in zip(parts, vectors, strict=True)])


def _new_chunk(part: _Part, vector: "Vector | None") -> NewChunk:
    cut, content = part
    return NewChunk(start=cut.start, end=cut.end, heading=cut.heading, terms=tuple(terms(content)), vector=vector)


def indexed_text(particulars: Particulars, heading: str, text: str) -> str:
    """What both legs of the search see of a chunk: `[8 May 2023] Author: Heading > path: text`."""
    moment = particulars.timestamp
    date = f"[{moment.day} {moment:%B} {moment.year}] " if moment else ""
    author = f"{particulars.author[:LONGEST_AUTHOR]}: " if particulars.author else ""
    return f"{date}{author}{f'{heading}: ' if heading else ''}{text}"


async def _vectors(embedder: Embedder, parts: Sequence[_Part]) -> "Vector":
    async def tell(done: int, total: int) -> None:
        await report_progress(done + 1, total + 3, f"embedded {done} of {total} chunks")

    with timed("embedding"):
        return await embedder.embed([content for _, content in parts], on_batch=tell)
