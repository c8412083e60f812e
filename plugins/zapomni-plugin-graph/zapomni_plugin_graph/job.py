"""The job that builds the graph: extracts entities and relations from memories."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from zapomni_core.plugin import MemoryEngine, ProcessingError
from zapomni_core.plugin.extractors import LLMUnavailableError
from zapomni_core.plugin.jobs import Job, JobProgress, NewJob, Postpone

log = logging.getLogger("zapomni.plugin.graph")

KIND = "build_graph"
PAGE = 100
TOGETHER = 4
AWAY_SECONDS = 60.0
NO_EXTRACTOR = ""
"""To an extractor without a name every memory is unread."""


def build_job(engine: MemoryEngine, memory_ids: Sequence[str] = (), *, rebuild: bool = False) -> NewJob:
    """The job to queue. While it waits or runs, equal requests share it; only a worker with the same extractor runs it."""
    kind = engine.extractor_kind(KIND)
    if memory_ids:
        chosen = sorted(set(memory_ids))
        key = sha256("\n".join(chosen).encode()).hexdigest()[:32]
        return NewJob(kind=kind, key=key, payload={"memory_ids": chosen})
    return NewJob(kind=kind, key="rebuild" if rebuild else KIND, payload={"rebuild": rebuild})


@dataclass(slots=True)
class _State:
    """The progress of a job: its last memory, and the numbers of memories read, failed and in all."""

    last: str | None = None
    read: int = 0
    skipped: int = 0
    total: int = 0

    def add(self, memory_ids: Sequence[str], outcomes: Sequence[bool]) -> None:
        """Count some more memories."""
        self.last = memory_ids[-1]
        self.read += outcomes.count(True)
        self.skipped += outcomes.count(False)

    @property
    def part(self) -> float:
        """The part of the job that is done, from 0 to 1."""
        done = self.read + self.skipped
        return done / max(self.total, done)


class BuildGraph:
    """Extracts from memories that the extractor has not read, from named ones, or from all of them again.

    What was extracted from a memory is kept at once, so a job that is started again goes on with the rest. A postponed job
    also goes on with the rest, so a language model that was away is not asked about everything again.
    """

    def __init__(self) -> None:
        self._states: dict[str, _State] = {}

    async def run(self, engine: MemoryEngine, job: Job, progress: JobProgress) -> Mapping[str, Any]:
        """The numbers of memories read and failed."""
        state = self._states.setdefault(job.id, _State())
        async for memory_ids in _pages(engine, job.payload, state):
            for some in _groups(memory_ids):
                state.add(some, await _read_together(engine, some))
                await progress(state.part, f"read {state.read:,} of {state.total:,} memories")
        self._states.pop(job.id, None)
        return {"extractor": engine.extractor_name, "read": state.read, "skipped": state.skipped}


async def _pages(engine: MemoryEngine, payload: Mapping[str, Any], state: _State) -> AsyncIterator[list[str]]:
    """Ids of memories to read, a page at a time, after the last one."""
    if chosen := payload.get("memory_ids"):
        state.total = len(chosen)
        yield [one for one in chosen if state.last is None or one > state.last]
        return
    extractor = NO_EXTRACTOR if payload.get("rebuild") else engine.extractor_name
    while True:
        page, left = await engine.graph.unread(engine.workspace, extractor, PAGE, state.last)
        state.total = state.total or left
        if not page:
            return
        yield page


def _groups(memory_ids: Sequence[str]) -> Iterator[Sequence[str]]:
    """Some at a time, but the first alone: it shows whether a language model that was away is back."""
    if memory_ids:
        yield memory_ids[:1]
    yield from (memory_ids[first : first + TOGETHER] for first in range(1, len(memory_ids), TOGETHER))


async def _read_together(engine: MemoryEngine, memory_ids: Sequence[str]) -> list[bool]:
    """Read some memories at a time, so that what they say is written together."""
    outcomes = await asyncio.gather(*(_read(engine, one) for one in memory_ids), return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
    return [outcome is True for outcome in outcomes]


async def _read(engine: MemoryEngine, memory_id: str) -> bool:
    """Whether a memory was read; not where it is gone, or where the extractor fails at this one."""
    memory = await engine.memories.get(engine.workspace, memory_id)
    if memory is None or memory.deleted_at or memory.replaced_by:
        return False
    try:
        extraction = await engine.extract(memory.text, timestamp=memory.timestamp or memory.created_at)
    except LLMUnavailableError as error:
        if error.failure.concerns_provider:
            raise _wait_for_llm(error) from error
        return _skip(memory_id, error)
    except ProcessingError as error:
        return _skip(memory_id, error)
    return await engine.graph.record(engine.workspace, memory_id, extraction)


def _wait_for_llm(error: LLMUnavailableError) -> Postpone:
    failure = error.failure
    return Postpone(failure.retry_after_seconds or AWAY_SECONDS, f"{failure.message} {failure.suggestion}".strip())


def _skip(memory_id: str, error: Exception) -> bool:
    log.warning("memory_not_read", extra={"memory_id": memory_id, "error": type(error).__name__})
    return False
