"""The job that builds the graph: extracts entities and relations from memories."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from zapomni_core.plugin import Job, JobProgress, LLMUnavailableError, MemoryEngine, NewJob, Postpone, ProcessingError

log = logging.getLogger("zapomni.plugin.graph")

KIND = "build_graph"
PAGE = 100
TOGETHER = 4
AWAY_SECONDS = 60.0
NO_EXTRACTOR = ""
"""An extractor without a name has read nothing: to it every memory is unread."""


def build_job(engine: MemoryEngine, memory_ids: Sequence[str] = (), *, rebuild: bool = False) -> NewJob:
    """One job for all who ask for the same while it waits or runs; only who has the same extractor does it."""
    kind = engine.reading_kind(KIND)
    if memory_ids:
        chosen = sorted(set(memory_ids))
        key = sha256("\n".join(chosen).encode()).hexdigest()[:32]
        return NewJob(kind=kind, key=key, payload={"memory_ids": chosen})
    return NewJob(kind=kind, key="rebuild" if rebuild else KIND, payload={"rebuild": rebuild})


@dataclass(slots=True)
class _State:
    """How far a job has come: the last memory that is behind it, and how many were read, could not be, and are in all."""

    last: str | None = None
    read: int = 0
    skipped: int = 0
    total: int = 0

    def add(self, memory_ids: Sequence[str], outcomes: Sequence[bool]) -> None:
        """Some memories more are behind it."""
        self.last = memory_ids[-1]
        self.read += outcomes.count(True)
        self.skipped += outcomes.count(False)

    @property
    def part(self) -> float:
        """How much of it is done."""
        done = self.read + self.skipped
        return done / max(self.total, done)


class BuildGraph:
    """Reads memories that its extractor has not read, or those that are named, or all of them anew.

    What was read of a memory is kept at once, instead of what was read of it before: a job that is begun again goes on.
    One that was put off goes on where it was: a model that is away for a while must not be asked about everything again.
    """

    def __init__(self) -> None:
        self._states: dict[str, _State] = {}

    async def run(self, engine: MemoryEngine, job: Job, progress: JobProgress) -> Mapping[str, Any]:
        """How many memories were read, and how many could not be."""
        state = self._states.setdefault(job.id, _State())
        async for memory_ids in _pages(engine, job.payload, state):
            for some in _groups(memory_ids):
                state.add(some, await _read_together(engine, some))
                await progress(state.part, f"read {state.read:,} of {state.total:,} memories")
        self._states.pop(job.id, None)
        return {"extractor": engine.extractor_name, "read": state.read, "skipped": state.skipped}


async def _pages(engine: MemoryEngine, payload: Mapping[str, Any], state: _State) -> AsyncIterator[list[str]]:
    """Ids of memories to read, some at a time, from where the state has come to."""
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
    """Some at a time, but the first alone: it finds out whether a language model that was away is back."""
    if memory_ids:
        yield memory_ids[:1]
    yield from (memory_ids[first : first + TOGETHER] for first in range(1, len(memory_ids), TOGETHER))


async def _read_together(engine: MemoryEngine, memory_ids: Sequence[str]) -> list[bool]:
    """Read some memories at a time: what they speak of is then written together."""
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
