"""Reads a text for entities before it is kept, or leaves that to a job: what the user wants when the model is away."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal

from zapomni_core.errors import LLMUnavailableError
from zapomni_core.jobs import JobProgress, Postpone
from zapomni_core.jobs.embedding import embed_soon
from zapomni_db.records import Extraction, Job, NewJob

if TYPE_CHECKING:
    from zapomni_core.engine import MemoryEngine
    from zapomni_core.extraction import Extractor
    from zapomni_core.llm import LLMFailure

KIND = "extract"
RETRY_SECONDS = 60.0

Mode = Literal["fail", "store_raw", "queue_retry"]


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read in a text, or why it has not been yet; and the jobs that are kept with it."""

    status: Literal["success", "degraded", "queued"] = "success"
    extraction: Extraction | None = None
    jobs: tuple[NewJob, ...] = ()
    failure: "LLMFailure | None" = None

    @property
    def entities(self) -> int | None:
        """How many entities were read; None where nobody was asked to."""
        return len(self.extraction.entities) if self.extraction else self._nothing

    @property
    def relations(self) -> int | None:
        """How many relations were read; None where nobody was asked to."""
        return len(self.extraction.relations) if self.extraction else self._nothing

    @property
    def _nothing(self) -> int | None:
        return None if self.status == "success" else 0


UNREAD = Reading()
"""A text that nobody is to read."""


async def read(extractor: "Extractor", text: str, timestamp: datetime | None, mode: Mode) -> Reading:
    """What an extractor reads in a text; where its model is away, what the mode says is to be done about it."""
    try:
        extraction = await extractor.extract(text, timestamp=timestamp)
    except LLMUnavailableError as error:
        if mode == "fail":
            raise
        if mode == "store_raw":
            return Reading("degraded", failure=error.failure)
        return Reading("queued", jobs=(extract_job(seconds=_wait(error.failure)),), failure=error.failure)
    return Reading(extraction=extraction, jobs=_embedding(extraction))


def read_later() -> Reading:
    """A text that a job reads as soon as one can."""
    return Reading("queued", jobs=(extract_job(),))


def extract_job(memory_id: str | None = None, *, seconds: float = 0.0) -> NewJob:
    """The job that reads one memory; one that is kept with its memory is told the id by the store."""
    not_before = datetime.now(UTC) + timedelta(seconds=seconds)
    if memory_id is None:
        return NewJob(kind=KIND, not_before=not_before)
    return NewJob(kind=KIND, payload={"memory_id": memory_id}, key=memory_id, not_before=not_before)


class ExtractMemory:
    """The kind of job that reads one memory. Doing it twice is doing it once: the store keeps the latest reading."""

    async def run(self, engine: "MemoryEngine", job: Job, progress: JobProgress) -> Mapping[str, Any]:  # noqa: ARG002 (it is one step)
        """Read the memory and keep what it speaks of; postponed while the model is away."""
        memory = await engine.memories.get(engine.workspace, str(job.payload["memory_id"]))
        if memory is None or memory.deleted_at or memory.replaced_by:
            return {"skipped": "the memory is not there any more"}
        try:
            extraction = await engine.extract(memory.text, timestamp=memory.timestamp)
        except LLMUnavailableError as error:
            if not error.failure.concerns_provider:
                raise
            raise Postpone(_wait(error.failure), error.failure.message) from error
        await engine.graph.record(engine.workspace, memory.id, extraction)
        await engine.submit(_embedding(extraction))
        return {"entities_extracted": len(extraction.entities), "relationships_extracted": len(extraction.relations)}


def _embedding(extraction: Extraction) -> tuple[NewJob, ...]:
    """The job that makes the vectors of entities; they are found by their names before that."""
    return (embed_soon(),) if extraction.entities else ()


def _wait(failure: "LLMFailure") -> float:
    """For how many seconds it is of no use to ask again."""
    return failure.retry_after_seconds or RETRY_SECONDS
