"""Extracts entities and relations from memories: before a memory is stored, after that, or by a job."""

import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal

from zapomni_core.errors import LLMUnavailableError, ProcessingError
from zapomni_core.jobs.kinds import JobProgress, Postpone
from zapomni_core.memory.add import add_text
from zapomni_core.memory.content import key_of, preview, read_metadata
from zapomni_core.memory.similar import find_similar
from zapomni_core.models import MemoryResult, Reprocessing, UnextractedMemory
from zapomni_core.telemetry import timed
from zapomni_db.errors import DatabaseError, InvalidInputError, MemoryNotFoundError
from zapomni_db.records import Added, Extraction, Job, Memory, NewJob, NewMemory

if TYPE_CHECKING:
    from zapomni_core.http import ProviderFailure
    from zapomni_core.memory.engine import MemoryEngine

log = logging.getLogger("zapomni.extraction")

EXTRACT = "extract"
RETRY_SECONDS = 60.0
HELD_SECONDS = 60.0
"""The time, beside the wait for one answer, for which a memory's job is held back while the call that added it extracts."""
PAGE = 5000
MOST_JOBS = 20_000
"""Jobs that are looked at, the newest: an older one that waits is found by its key when it is queued again."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The extraction from a text, or the reason why there is none yet; and the jobs that are stored with it.

    `counts` are entities and relations; None if no extractor was asked.
    """

    status: Literal["success", "degraded", "queued"] = "success"
    extraction: Extraction | None = None
    jobs: tuple[NewJob, ...] = ()
    counts: tuple[int, int] | None = None


NO_EXTRACTION = Outcome()
"""No extractor is set."""


async def add_memory(
    engine: "MemoryEngine", text: str, metadata: Mapping[str, Any], replaces: str | None, *, wait: bool
) -> MemoryResult:
    """Store a text and extract from it, if an extractor is set: in the order that `on_llm_unavailable` asks for."""
    if not engine.components.extracts:
        return await _store(engine, text, metadata, replaces, NO_EXTRACTION)
    same = await engine.memories.get(engine.workspace, key=key_of(text, metadata))
    if same and (counts := await engine.extracted_counts(same.id)):
        return await _store(engine, text, metadata, replaces, Outcome(counts=counts))
    mode, kind = engine.settings.on_llm_unavailable, engine.extractor_kind(EXTRACT)
    if not wait and engine.asks_llm and not (mode == "fail" and _llm_failed(engine)):
        later = Outcome("queued", jobs=(extract_job(kind),), counts=(0, 0))
        return await _store(engine, text, metadata, replaces, later)
    timestamp = read_metadata(metadata).timestamp or datetime.now(UTC)
    if mode == "fail" or not engine.asks_llm:
        return await _store(engine, text, metadata, replaces, await _extract_first(engine, text, timestamp, same))
    unfinished = _unfinished(mode, kind, engine.settings.llm.wait_seconds)
    stored = await _store(engine, text, metadata, replaces, unfinished)
    with timed("extraction"):
        return await _extract_stored(engine, stored, text, timestamp)


async def _store(
    engine: "MemoryEngine", text: str, metadata: Mapping[str, Any], replaces: str | None, outcome: Outcome
) -> MemoryResult:
    written: list[NewMemory] = []  # more than once if the workspace's embedder is changed meanwhile

    async def write(memory: NewMemory) -> Added:
        written.append(memory)
        (added,) = await engine.memories.add(engine.workspace, [memory])
        return added

    added, not_embedded = await add_text(
        engine,
        text,
        metadata,
        write,
        replaces=replaces,
        extraction=outcome.extraction,
        jobs=outcome.jobs,
    )
    is_news = added.outcome == "stored" and replaces is None
    return MemoryResult(
        added.memory_id,
        added.chunks,
        preview(text),
        added.outcome,
        replaced=None if replaces == added.memory_id else replaces,
        status=outcome.status,
        entities_extracted=outcome.counts[0] if outcome.counts else None,
        relationships_extracted=outcome.counts[1] if outcome.counts else None,
        job_id=added.job_ids[0] if outcome.status == "queued" else None,
        left_out=outcome.extraction.left_out if outcome.extraction else 0,
        facts_moved=added.facts_moved,
        facts_dropped=added.facts_dropped,
        similar=await find_similar(engine, written[-1], added.memory_id) if is_news else None,
        not_embedded=not_embedded,
    )


def _llm_failed(engine: "MemoryEngine") -> bool:
    """Whether the language model is known to be away: it cannot be asked, or the last call failed."""
    state = engine.llm_state or {}
    return not state.get("available", True) or bool(state.get("failures"))


async def _extract_first(engine: "MemoryEngine", text: str, timestamp: datetime, same: Memory | None) -> Outcome:
    """Extract from a text that is stored only if that succeeds."""
    try:
        with timed("extraction"):
            extraction = await engine.extract(text, timestamp=timestamp)
    except LLMUnavailableError as error:
        raise LLMUnavailableError(error.failure.saying(_nothing_stored(same))) from error
    return Outcome(extraction=extraction, counts=_counts(extraction))


def _nothing_stored(same: Memory | None) -> str:
    if same is None or same.deleted_at:
        return "Nothing was stored."
    return f"Nothing was changed: the same memory was stored before and stays as it is, not read. ID: {same.id}"


def _unfinished(mode: Literal["store_raw", "queue_retry"], kind: str, wait_seconds: float) -> Outcome:
    """For a text that is stored before the extraction: what holds if that fails or is cut short."""
    if mode == "store_raw":
        return Outcome("degraded", counts=(0, 0))
    return Outcome("queued", jobs=(extract_job(kind, seconds=wait_seconds + HELD_SECONDS),), counts=(0, 0))


async def _extract_stored(engine: "MemoryEngine", stored: MemoryResult, text: str, timestamp: datetime) -> MemoryResult:
    """Extract from a memory that is stored; if that does not succeed soon, the result is as before, with the reason."""
    from zapomni_core.http import call_limit

    failure: ProviderFailure | None = None
    try:
        with call_limit(engine.settings.llm.wait_seconds):
            extraction = await engine.extract(text, timestamp=timestamp)
        if await _record(engine, stored.memory_id, extraction):
            return await _extracted(engine, stored, extraction)
    except LLMUnavailableError as error:
        failure = error.failure
        await _put_off(engine, stored.job_id, failure)
    except (ProcessingError, DatabaseError, InvalidInputError):
        # The memory is stored: the call must not say that adding it failed.
        log.exception("memory_not_read", extra={"memory_id": stored.memory_id})
    return replace(stored, failure=failure)


async def _extracted(engine: "MemoryEngine", stored: MemoryResult, extraction: Extraction) -> MemoryResult:
    """The result after the extraction; the memory's job has nothing left to do.

    A job of a memory that existed before may be the receipt of an earlier call: it is not dropped, but run at once.
    """
    if stored.job_id is not None and stored.outcome == "stored":
        await engine.jobs.drop(engine.workspace, [stored.job_id])
    elif stored.job_id is not None:
        await engine.jobs.schedule(engine.workspace, stored.job_id, datetime.now(UTC))
        engine.look_for_jobs()
    entities, relations = _counts(extraction)
    return replace(
        stored,
        status="success",
        job_id=None,
        entities_extracted=entities,
        relationships_extracted=relations,
        left_out=extraction.left_out,
    )


async def _put_off(engine: "MemoryEngine", job_id: str | None, failure: "ProviderFailure") -> None:
    """Let a memory's job wait for the model; if that fails, the job only begins later."""
    if job_id is None:
        return
    moment = datetime.now(UTC) + timedelta(seconds=_wait_seconds(failure))
    try:
        await engine.jobs.schedule(engine.workspace, job_id, moment, failure.message)
    except DatabaseError:
        log.warning("job_not_put_off", exc_info=True, extra={"job": job_id})
    engine.look_for_jobs()


def extract_job(kind: str, memory_id: str | None = None, *, again: bool = False, seconds: float = 0.0) -> NewJob:
    """A job that extracts from one memory; one that is stored together with the memory gets its ID from the store.

    With `again`, also if the extractor has read the memory by then.
    """
    not_before = datetime.now(UTC) + timedelta(seconds=seconds)
    if memory_id is None:
        return NewJob(kind=kind, not_before=not_before)
    payload = {"memory_id": memory_id, **({"again": True} if again else {})}
    return NewJob(kind=kind, payload=payload, key=memory_id, not_before=not_before)


class ExtractMemory:
    """The kind of job that extracts from one memory. The store keeps the latest extraction, so running it twice is harmless."""

    async def run(self, engine: "MemoryEngine", job: Job, progress: JobProgress) -> Mapping[str, Any]:  # noqa: ARG002 (it is one step)
        """Extract from the memory and record the result; postponed while the model is away."""
        memory = await engine.memories.get(engine.workspace, str(job.payload["memory_id"]))
        if memory is None or memory.deleted_at or memory.replaced_by:
            return {"skipped": "the memory is not there any more"}
        if not job.payload.get("again") and (counts := await engine.extracted_counts(memory.id)):
            return _job_result(counts)
        try:
            extraction = await engine.extract(memory.text, timestamp=memory.timestamp or memory.created_at)
        except LLMUnavailableError as error:
            if not error.failure.concerns_provider:
                raise
            raise Postpone(_wait_seconds(error.failure), error.failure.message) from error
        await _record(engine, memory.id, extraction)
        return _job_result(_counts(extraction))


async def _record(engine: "MemoryEngine", memory_id: str, extraction: Extraction) -> bool:
    """Record an extraction; False if the memory is not there any more."""
    return await engine.graph.record(engine.workspace, memory_id, extraction)


def _job_result(counts: tuple[int, int]) -> Mapping[str, Any]:
    return {"entities_extracted": counts[0], "relationships_extracted": counts[1]}


def _counts(extraction: Extraction) -> tuple[int, int]:
    return len(extraction.entities), len(extraction.relations)


def _wait_seconds(failure: "ProviderFailure") -> float:
    """The time before which asking again is of no use."""
    return failure.retry_after_seconds or RETRY_SECONDS


async def queue_named(engine: "MemoryEngine", memory_ids: Sequence[str]) -> Reprocessing:
    """Queue the extraction from these memories, extracted before or not; MemoryNotFoundError if one cannot be."""
    chosen = list(dict.fromkeys(memory_ids))
    for memory_id in chosen:
        await _live(engine, memory_id)
    kind = engine.extractor_kind(EXTRACT)
    return Reprocessing(await engine.submit([extract_job(kind, one, again=True) for one in chosen]))


async def queue_unextracted(engine: "MemoryEngine", extractor: str, limit: int) -> Reprocessing:
    """Queue the oldest memories that the extractor has not read and that have no job."""
    kind = engine.extractor_kind(EXTRACT)
    waiting = await _waiting(engine, kind)
    chosen: list[str] = []
    left = 0
    async for memory_id in _unextracted(engine, extractor):
        if memory_id in waiting:
            continue
        if len(chosen) < limit:
            chosen.append(memory_id)
        else:
            left += 1
    jobs = await engine.submit([extract_job(kind, memory_id) for memory_id in chosen]) if chosen else []
    return Reprocessing(jobs, len(waiting), left)


async def list_unextracted(
    engine: "MemoryEngine", extractor: str, limit: int, memory_ids: Sequence[str] | None = None
) -> tuple[list[UnextractedMemory], int]:
    """The oldest memories that the extractor has not read, of those named if any are, and how many there are in all."""
    if memory_ids is None:
        found, total = await engine.graph.unread(engine.workspace, extractor, limit)
        memories = [await engine.get_memory(memory_id) for memory_id in found]
    else:
        named = [await _live(engine, one) for one in dict.fromkeys(memory_ids)]
        memories = [one for one in named if await engine.graph.reading(engine.workspace, one.id, extractor) is None]
        total = len(memories)
    return [UnextractedMemory(one.id, preview(one.text), one.created_at) for one in memories[:limit]], total


async def _live(engine: "MemoryEngine", memory_id: str) -> "Memory":
    """A memory to extract from; MemoryNotFoundError if it is missing, deleted or replaced."""
    memory = await engine.get_memory(memory_id)
    if memory.deleted_at:
        raise MemoryNotFoundError(f"memory {memory.id} is deleted, so it is not read; it can be restored")
    if memory.replaced_by:
        raise MemoryNotFoundError(f"memory {memory.id} is replaced by {memory.replaced_by}, which can be read")
    return memory


async def _waiting(engine: "MemoryEngine", kind: str) -> set[str]:
    """The ids of memories that have an extraction job. One query, since a job may start or be postponed at any time."""
    jobs = await engine.jobs.list(engine.workspace, kind=kind, limit=MOST_JOBS)
    return {job.key for job in jobs if job.state in ("queued", "running")}


async def _unextracted(engine: "MemoryEngine", extractor: str) -> AsyncIterator[str]:
    after = None
    while True:
        page, _ = await engine.graph.unread(engine.workspace, extractor, PAGE, after)
        for memory_id in page:
            yield memory_id
        if len(page) < PAGE:
            return
        after = page[-1]
