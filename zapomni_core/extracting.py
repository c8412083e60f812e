"""Reads a text for entities: before it is kept, after it, or by a job, as the user wants it when the model is away."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal

from zapomni_core.errors import LLMUnavailableError, ProcessingError
from zapomni_core.jobs import JobProgress, Postpone
from zapomni_db.errors import DatabaseError, InvalidInputError
from zapomni_db.records import Extraction, Job, NewJob

if TYPE_CHECKING:
    from zapomni_core.engine import MemoryEngine
    from zapomni_core.extraction import Extractor
    from zapomni_core.llm import LLMFailure
    from zapomni_core.models import MemoryResult

log = logging.getLogger("zapomni.extraction")

KIND = "extract"
RETRY_SECONDS = 60.0
HELD_SECONDS = 60.0
"""For how long, beside the wait for one answer, the job of a memory is left alone while whoever added it reads it."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read in a text, or why it has not been yet; and the jobs that are kept with it.

    `counts` are entities and relations; None where nobody was asked to read.
    """

    status: Literal["success", "degraded", "queued"] = "success"
    extraction: Extraction | None = None
    jobs: tuple[NewJob, ...] = ()
    counts: tuple[int, int] | None = None


UNREAD = Reading()
"""A text that nobody is to read."""


async def read(extractor: "Extractor", text: str, timestamp: datetime) -> Reading:
    """What an extractor reads in a text, before it is kept; LLMUnavailableError where its model is away."""
    extraction = await extractor.extract(text, timestamp=timestamp)
    return Reading(extraction=extraction, counts=_counts(extraction))


def read_later(kind: str) -> Reading:
    """A text that a job reads as soon as one can."""
    return Reading("queued", jobs=(extract_job(kind),), counts=(0, 0))


def kept_unread(mode: Literal["store_raw", "queue_retry"], kind: str, wait_seconds: float) -> Reading:
    """A text that is kept before it is read: should the reading fail or be cut short, all is as the mode says."""
    if mode == "store_raw":
        return Reading("degraded", counts=(0, 0))
    return Reading("queued", jobs=(extract_job(kind, seconds=wait_seconds + HELD_SECONDS),), counts=(0, 0))


async def read_kept(engine: "MemoryEngine", kept: "MemoryResult", text: str, timestamp: datetime) -> "MemoryResult":
    """A memory that is kept already, once it is read; or as it was, with the reason, where that does not succeed soon."""
    from zapomni_core.llm.llm import question_limit

    failure: LLMFailure | None = None
    try:
        with question_limit(engine.settings.llm.wait_seconds):
            extraction = await engine.extract(text, timestamp=timestamp)
        if await _record(engine, kept.memory_id, extraction):
            return await _settled(engine, kept, extraction)
    except LLMUnavailableError as error:
        failure = error.failure
        await _put_off(engine, kept.job_id, failure)
    except (ProcessingError, DatabaseError, InvalidInputError):
        # The memory is safe: whoever added it must not be told that adding it failed.
        log.exception("memory_not_read", extra={"memory_id": kept.memory_id})
    return replace(kept, failure=failure)


async def _settled(engine: "MemoryEngine", kept: "MemoryResult", extraction: Extraction) -> "MemoryResult":
    """What to tell of a memory that was read; its job has nothing left to do.

    A job of a memory that was there before may be somebody's receipt: it is not dropped, but finds that out itself.
    """
    if kept.job_id is not None and kept.outcome == "stored":
        await engine.jobs.drop(engine.workspace, [kept.job_id])
    elif kept.job_id is not None:
        await engine.jobs.schedule(engine.workspace, kept.job_id, datetime.now(UTC))
        engine.look_for_jobs()
    entities, relations = _counts(extraction)
    return replace(
        kept,
        status="success",
        job_id=None,
        entities_extracted=entities,
        relationships_extracted=relations,
        left_out=extraction.left_out,
    )


async def _put_off(engine: "MemoryEngine", job_id: str | None, failure: "LLMFailure") -> None:
    """Let the job of a memory wait for the model, instead of for whoever added it; without that it is only begun later."""
    if job_id is None:
        return
    moment = datetime.now(UTC) + timedelta(seconds=_wait(failure))
    try:
        await engine.jobs.schedule(engine.workspace, job_id, moment, failure.message)
    except DatabaseError:
        log.warning("job_not_put_off", exc_info=True, extra={"job": job_id})
    engine.look_for_jobs()


def extract_job(kind: str, memory_id: str | None = None, *, again: bool = False, seconds: float = 0.0) -> NewJob:
    """The job that reads one memory, again if it is read by then; one that is kept with it is told its id by the store."""
    not_before = datetime.now(UTC) + timedelta(seconds=seconds)
    if memory_id is None:
        return NewJob(kind=kind, not_before=not_before)
    payload = {"memory_id": memory_id, **({"again": True} if again else {})}
    return NewJob(kind=kind, payload=payload, key=memory_id, not_before=not_before)


class ExtractMemory:
    """The kind of job that reads one memory. Doing it twice is doing it once: the store keeps the latest reading."""

    async def run(self, engine: "MemoryEngine", job: Job, progress: JobProgress) -> Mapping[str, Any]:  # noqa: ARG002 (it is one step)
        """Read the memory and keep what it speaks of; postponed while the model is away."""
        memory = await engine.memories.get(engine.workspace, str(job.payload["memory_id"]))
        if memory is None or memory.deleted_at or memory.replaced_by:
            return {"skipped": "the memory is not there any more"}
        if not job.payload.get("again") and (counts := await engine.read_before(memory.id)):
            return _told(counts)
        try:
            extraction = await engine.extract(memory.text, timestamp=memory.timestamp or memory.created_at)
        except LLMUnavailableError as error:
            if not error.failure.concerns_provider:
                raise
            raise Postpone(_wait(error.failure), error.failure.message) from error
        await _record(engine, memory.id, extraction)
        return _told(_counts(extraction))


async def _record(engine: "MemoryEngine", memory_id: str, extraction: Extraction) -> bool:
    """Keep what was read in a memory that is there; False where it is not any more."""
    return await engine.graph.record(engine.workspace, memory_id, extraction)


def _told(counts: tuple[int, int]) -> Mapping[str, Any]:
    """The result of a job."""
    return {"entities_extracted": counts[0], "relationships_extracted": counts[1]}


def _counts(extraction: Extraction) -> tuple[int, int]:
    return len(extraction.entities), len(extraction.relations)


def _wait(failure: "LLMFailure") -> float:
    """For how many seconds it is of no use to ask again."""
    return failure.retry_after_seconds or RETRY_SECONDS
