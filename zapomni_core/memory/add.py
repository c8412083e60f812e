"""The one way in: cuts, analyses and embeds a text, and gives it to the store as a memory of a kind."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from zapomni_core.dispatch.call import Heartbeat, report_progress
from zapomni_core.embedding import Embedder, log_failure
from zapomni_core.errors import ProcessingError, embedder_too_slow, without_paths
from zapomni_core.http import call_limit
from zapomni_core.jobs.kinds import EMBED
from zapomni_core.memory.content import KnownMetadata, indexed_text, key_of, read_metadata
from zapomni_core.memory.reindex import embed_pending, embed_soon
from zapomni_core.telemetry import timed
from zapomni_core.text.chunks import Chunk, chunk
from zapomni_core.text.plural import counted
from zapomni_core.text.terms import VERSION, terms
from zapomni_db.records import Added, Extraction, NewChunk, NewJob, NewMemory

if TYPE_CHECKING:
    from zapomni_core.memory.engine import MemoryEngine
    from zapomni_db.arrays import Vector

log = logging.getLogger("zapomni.memory")

PROGRESS_SECONDS = 0.9  # more often than the call's own heartbeat
EMBEDDING_SECONDS = 20.0
"""The time that a memory waits for a batch of the embedder before it is stored without vectors."""
CALL_SECONDS = 5.0
"""The same for a request of an embedder on the network."""
LONGEST_INLINE = 2000
"""Characters that are cut and analysed in less time than a thread takes to start."""

T = TypeVar("T")
Write = Callable[[NewMemory], Awaitable[Added]]
_Part = tuple[Chunk, str]
"""A chunk of a text, and its text as the search sees it."""


class Stored(NamedTuple):
    """A text that is stored. `not_embedded` says why it has no vectors yet, if the embedder is away."""

    added: Added
    not_embedded: str = ""


async def add_text(
    engine: "MemoryEngine",
    text: str,
    metadata: Mapping[str, Any],
    write: Write,
    *,
    kind: str = "memory",
    replaces: str | None = None,
    extraction: Extraction | None = None,
    jobs: tuple[NewJob, ...] = (),
) -> Stored:
    """Prepare a text and write it to the store with one of the store's methods; the job runner hears of its jobs.

    A memory is embedded before it is written. If the embedder is away, it is stored without vectors, and a job makes them
    later. The embedder is not loaded for a message or a document: a job embeds it soon afterwards. In a process that runs no
    such jobs, it is embedded before this returns, and stays stored if that fails.
    """
    is_memory = kind == "memory"
    later = not is_memory and engine.does_jobs(EMBED)
    if later:
        jobs = (*jobs, embed_soon())

    async def add(embedder: Embedder) -> Stored:
        prepared = partial(
            prepare, text, metadata, embedder, kind=kind, replaces=replaces, extraction=extraction, by=engine.by
        )
        not_embedded = ""
        try:
            memory = await prepared(embed=is_memory, jobs=jobs)
        except ProcessingError as error:
            if engine.memories.vectors is None:
                raise
            log_failure(log, "stored_without_vectors", error)
            not_embedded = without_paths(str(error))
            memory = await prepared(embed=False, jobs=(*jobs, embed_soon()) if engine.keeps_jobs else jobs)
        with _phase("store", kind):
            added = await with_progress(write(memory), len(memory.chunks) + 2, "writing")
        return Stored(added, not_embedded if added.outcome == "stored" else "")

    stored = await engine.with_embedder(add)
    job_ids = stored.added.job_ids
    if later or stored.not_embedded:
        engine.look_for_jobs(job_ids)
    elif job_ids:
        engine.look_for_jobs()
    if not is_memory and not later:
        await _embed_now(engine)
    return stored


async def prepare(
    text: str,
    metadata: Mapping[str, Any],
    embedder: Embedder,
    *,
    kind: str = "memory",
    embed: bool = True,
    replaces: str | None = None,
    extraction: Extraction | None = None,
    jobs: tuple[NewJob, ...] = (),
    by: str = "",
) -> NewMemory:
    """A text ready for the store: its metadata read, cut into chunks, analysed, and embedded unless that is for later.

    Memories of the same text and metadata share a key; messages and documents have none, since each is one of its own.
    """
    known = read_metadata(metadata, kind)
    with _phase("chunking", kind):
        parts = await _computed(partial(_parts, text, known, embedder), text, 0, "cutting into chunks")
    vectors: Vector | Sequence[None] = await _vectors(embedder, parts) if embed else [None] * len(parts)
    with _phase("analysis", kind):
        chunks = await _computed(partial(_analysed, parts, vectors), text, len(parts) + 1, "reading the words")
    return NewMemory(
        text=text,
        metadata=metadata,
        chunks=chunks,
        embedder=embedder.identity if embedder.identity.dimension else None,
        analyser=VERSION,
        key=key_of(text, metadata) if kind == "memory" else "",
        tags=known.tags,
        source=known.source,
        author=known.author,
        conversation=known.conversation,
        timestamp=known.timestamp,
        replaces=replaces,
        extraction=extraction,
        jobs=jobs,
        by=by,
    )


def _phase(name: str, kind: str) -> AbstractContextManager[Any]:
    """Times a phase for telemetry, which reports the phases of memories only."""
    return timed(name) if kind == "memory" else nullcontext()


async def with_progress(work: Awaitable[T], done: float, message: str) -> T:
    """The result of work that reports no progress of its own; meanwhile progress is reported once a second.

    Progress must grow: it approaches one more than what is done.
    """
    loop, count = asyncio.get_running_loop(), 0
    sent_at = loop.time()

    async def send() -> None:
        nonlocal count, sent_at
        count, sent_at = count + 1, loop.time()
        await report_progress(done + count / (count + 10), None, message)

    heartbeat = Heartbeat(PROGRESS_SECONDS, lambda: sent_at, send)
    try:
        return await work
    finally:
        heartbeat.stop()


async def _computed(work: Callable[[], T], text: str, done: float, message: str) -> T:
    """The result of a computation on a text; for a long text in a thread."""
    if len(text) <= LONGEST_INLINE:
        return work()
    return await with_progress(asyncio.to_thread(work), done, message)


def _parts(text: str, known: KnownMetadata, embedder: Embedder) -> list[_Part]:
    profile = embedder.profile
    found = chunk(
        text,
        tokens=embedder.tokens,
        language=known.language,
        chunk_tokens=profile.chunk_tokens,
        overlap_tokens=profile.overlap_tokens,
    )
    return [(one, indexed_text(known, one.heading, text[one.start : one.end])) for one in found]


def _analysed(parts: Sequence[_Part], vectors: "Vector | Sequence[None]") -> tuple[NewChunk, ...]:
    return tuple([_new_chunk(part, vector) for part, vector in zip(parts, vectors, strict=True)])


def _new_chunk(part: _Part, vector: "Vector | None") -> NewChunk:
    cut, content = part
    return NewChunk(start=cut.start, end=cut.end, heading=cut.heading, terms=tuple(terms(content)), vector=vector)


async def _vectors(embedder: Embedder, parts: Sequence[_Part]) -> "Vector":
    loop = asyncio.get_running_loop()

    async def report(done: int, total: int) -> None:
        limit.reschedule(loop.time() + EMBEDDING_SECONDS)
        await report_progress(done + 1, total + 3, f"embedded {done} of {counted(total, 'chunk')}")

    try:
        with timed("embedding"), call_limit(CALL_SECONDS):
            async with asyncio.timeout(EMBEDDING_SECONDS) as limit:
                return await embedder.embed([content for _, content in parts], on_batch=report)
    except TimeoutError:
        raise embedder_too_slow(embedder.identity.name, EMBEDDING_SECONDS) from None


async def _embed_now(engine: "MemoryEngine") -> None:
    try:
        await engine.with_embedder(lambda embedder: embed_pending(engine.memories, embedder, engine.workspace))
    except ProcessingError:
        log.exception("not_embedded")  # its terms are indexed; the next text that is stored tries again
