"""Makes vectors: those that chunks still wait for, and those of another embedder while the old ones serve."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from zapomni_core.embedding import Embedder, OnBatch, know_dimension
from zapomni_core.embedding.weight import weight_of
from zapomni_core.errors import ConfigurationError, EmbedderUnavailableError, ProcessingError
from zapomni_core.jobs.kinds import EMBED, JobProgress, Postpone
from zapomni_core.memory.content import KnownMetadata, indexed_text
from zapomni_core.text.plural import counted
from zapomni_core.text.terms import VERSION, terms
from zapomni_db.errors import EmbedderMismatchError
from zapomni_db.records import ChunkFound, Job, NewJob
from zapomni_db.store import MemoryStore, VectorStore

if TYPE_CHECKING:
    from zapomni_core.memory.engine import MemoryEngine

BATCH = 128
"""Chunks that are written at a time: at most these are repeated after a crash."""


SAMPLE = 16
"""Chunks that are embedded to estimate the time of all."""
PATIENCE_SECONDS = 600.0
"""The longest wait for a rate limit, between two steps."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The number of chunks to embed, and about how many tokens they have and how long that takes."""

    chunks: int
    tokens: int = 0
    seconds: float = 0.0


OnPlan = Callable[[Plan], None]


async def reindex(
    store: MemoryStore,
    workspace: str,
    embedder: Embedder,
    on_progress: OnBatch | None = None,
    on_plan: OnPlan | None = None,
) -> int:
    """Embed every chunk that has no vector of this embedder, then switch searches to its vectors; how many were embedded.

    Chunks with terms of an older analyser are analysed first. An interrupted run loses nothing: the next one continues.
    `on_plan` is called before it starts. Progress is reported before the first chunk and after each of the embedder's batches.
    A rate limit of the embedder is waited for; any other failure ends the run.
    """
    target = _vectors(store)
    await know_dimension(embedder)
    await _analyse(target, workspace)
    if on_plan:
        on_plan(await _plan(target, workspace, embedder))
    done = 0
    while True:
        chunks, left = await target.pending(workspace, embedder.identity, BATCH)
        if on_progress:
            await on_progress(done, done + left)
        if chunks:
            await _embed_patiently(target, workspace, embedder, chunks, _shifted(on_progress, done, done + left))
            done += len(chunks)
            continue
        await weight_of(store, workspace, embedder)
        if await _switch(target, workspace, embedder):
            return done


async def _plan(target: VectorStore, workspace: str, embedder: Embedder) -> Plan:
    chunks, total = await target.pending(workspace, embedder.identity, SAMPLE)
    if not chunks:
        return Plan(0)
    await embedder.embed([])
    texts, started = [_content(chunk) for _, chunk in chunks], time.perf_counter()
    await embedder.embed(texts)
    times = total / len(chunks)
    seconds = time.perf_counter() - started
    return Plan(total, round(sum(map(embedder.tokens, texts)) * times), seconds * times)


async def _embed_patiently(
    target: VectorStore,
    workspace: str,
    embedder: Embedder,
    chunks: Sequence[tuple[int, ChunkFound]],
    on_batch: OnBatch | None,
) -> None:
    """Embed chunks, and wait while the embedder is rate limited."""
    waited = 0.0
    while True:
        try:
            return await _embed(target, workspace, embedder, chunks, on_batch)
        except EmbedderUnavailableError as error:
            wait = error.failure.retry_after_seconds or 1.0
            waited += wait
            if error.failure.code != "RATE_LIMIT" or waited > PATIENCE_SECONDS:
                raise
            await asyncio.sleep(wait)


async def _analyse(target: VectorStore, workspace: str) -> None:
    """Replace the terms of chunks that another version of the analyser has made."""
    while chunks := (await target.outdated(workspace, VERSION, BATCH))[0]:
        made = await asyncio.to_thread(lambda found: [terms(_content(chunk)) for _, chunk in found], chunks)
        numbers = [number for number, _ in chunks]
        await target.replace_terms(workspace, VERSION, list(zip(numbers, made, strict=True)))


async def embed_pending(
    store: MemoryStore, embedder: Embedder, workspace: str, on_progress: OnBatch | None = None
) -> int:
    """Embed the chunks of a workspace that have no vector; how many. Running it several times at once is harmless.

    EmbedderMismatchError if the workspace has been switched to another embedder meanwhile. One that has none yet, because the
    embedder was away when its first memory was stored, gets this one.
    """
    target = _vectors(store)
    await know_dimension(embedder)
    done = 0
    while True:
        serving = await store.embedder(workspace)
        if serving not in (None, embedder.identity):
            raise EmbedderMismatchError(f"embedder '{embedder.identity.name}' does not serve any more")
        chunks, left = await target.pending(workspace, embedder.identity, BATCH)
        if not chunks:
            if serving or await _switch(target, workspace, embedder):
                return done
            continue
        await _embed(target, workspace, embedder, chunks, _shifted(on_progress, done, done + left))
        done += len(chunks)


async def count_pending(store: MemoryStore, workspace: str) -> int:
    """The number of chunks of a workspace without a vector of its embedder."""
    identity = await store.embedder(workspace)
    if store.vectors is None:
        return 0
    if identity is None:
        return (await store.stats(workspace)).chunks
    return (await store.vectors.pending(workspace, identity, 1))[1]


async def count_outdated(store: MemoryStore, workspace: str) -> int:
    """The number of chunks of a workspace with terms of another version of the analyser."""
    return (await store.vectors.outdated(workspace, VERSION, 1))[1] if store.vectors else 0


async def _embed(
    target: VectorStore,
    workspace: str,
    embedder: Embedder,
    chunks: Sequence[tuple[int, ChunkFound]],
    on_batch: OnBatch | None,
) -> None:
    vectors = await embedder.embed([_content(chunk) for _, chunk in chunks], on_batch=on_batch)
    numbers = [number for number, _ in chunks]
    await target.fill(workspace, embedder.identity, list(zip(numbers, vectors, strict=True)))


def _content(chunk: ChunkFound) -> str:
    """The text that was embedded and analysed when the chunk was added."""
    return indexed_text(KnownMetadata(author=chunk.author, timestamp=chunk.timestamp), chunk.heading, chunk.text)


def _shifted(on_progress: OnBatch | None, before: int, total: int) -> OnBatch | None:
    """Progress of one step as part of the whole."""
    if on_progress is None:
        return None

    async def tell(done: int, _: int) -> None:
        await on_progress(before + done, total)

    return tell


async def _switch(target: VectorStore, workspace: str, embedder: Embedder) -> bool:
    """Whether searches use the new vectors now; not yet if a memory has been added meanwhile."""
    try:
        await target.switch(workspace, embedder.identity)
    except EmbedderMismatchError:
        if not (await target.pending(workspace, embedder.identity, 1))[0]:
            raise
        return False
    return True


def _vectors(store: MemoryStore) -> VectorStore:
    if store.vectors is None:
        raise ConfigurationError("this store cannot get the vectors of another embedder; begin a new one for that")
    return store.vectors


AGAIN = "again"
SOON = timedelta(seconds=0.5)
"""Texts that are stored within this time are embedded together."""
LATER = timedelta(seconds=3)
AWAY_SECONDS = 60.0


def embed_soon() -> NewJob:
    """A job for everything that is stored until it has run."""
    return NewJob(kind=EMBED, key=EMBED, not_before=datetime.now(UTC) + SOON)


class EmbedPending:
    """The kind of job that embeds the chunks of a workspace that have no vector."""

    async def run(self, engine: "MemoryEngine", job: Job, progress: JobProgress) -> Mapping[str, Any]:

        async def tell(done: int, total: int) -> None:
            await progress(done / total, f"embedded {done} of {counted(total, 'chunk')}")

        memories, workspace = engine.memories, engine.workspace
        try:
            made = await engine.with_embedder(lambda embedder: embed_pending(memories, embedder, workspace, tell))
        except EmbedderUnavailableError as error:
            raise Postpone(error.failure.retry_after_seconds or AWAY_SECONDS, error.failure.message) from error
        except ProcessingError as error:
            raise Postpone(AWAY_SECONDS, "the embedder fails") from error
        except (ConfigurationError, EmbedderMismatchError) as error:
            raise Postpone(AWAY_SECONDS, "this process does not have the embedder of the workspace") from error
        if job.key != AGAIN:
            # A text that is stored now shares this job's key although the job is past it: another job looks once more.
            await engine.submit([NewJob(kind=EMBED, key=AGAIN, not_before=datetime.now(UTC) + LATER)])
        return {"chunks": made}
