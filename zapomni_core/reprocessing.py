"""Memories that the extractor has not read: which they are, and jobs that read them."""

from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING

from zapomni_core.extracting import KIND, extract_job
from zapomni_core.intake import preview
from zapomni_core.models import Reprocessing, UnreadMemory

if TYPE_CHECKING:
    from zapomni_core.engine import MemoryEngine

PAGE = 500
MOST_JOBS = 20_000
"""Jobs that are looked at, the newest: one that is older and waits is found again by its key when it is queued anew."""


async def queue_named(engine: "MemoryEngine", memory_ids: Sequence[str]) -> Reprocessing:
    """Queue the reading of these memories, read before or not; MemoryNotFoundError where one is not there."""
    for memory_id in memory_ids:
        await engine.get_memory(memory_id)
    kind = engine.reading_kind(KIND)
    return Reprocessing(await engine.submit([extract_job(kind, one) for one in dict.fromkeys(memory_ids)]))


async def queue_unread(engine: "MemoryEngine", extractor: str, limit: int) -> Reprocessing:
    """Queue the reading of the oldest memories that the extractor has not read and no job is going to."""
    kind = engine.reading_kind(KIND)
    waiting = await _waiting(engine, kind)
    chosen: list[str] = []
    left = False
    async for memory_id in _unread(engine, extractor):
        if memory_id not in waiting:
            left = len(chosen) == limit
            if left:
                break
            chosen.append(memory_id)
    jobs = await engine.submit([extract_job(kind, memory_id) for memory_id in chosen]) if chosen else []
    _, unread = await engine.graph.unread(engine.workspace, extractor, 0)
    return Reprocessing(jobs, len(waiting), max(unread - len(chosen) - len(waiting), 1) if left else 0)


async def list_unread(engine: "MemoryEngine", extractor: str, limit: int) -> tuple[list[UnreadMemory], int]:
    """The oldest memories that the extractor has not read, and how many there are in all."""
    found, total = await engine.graph.unread(engine.workspace, extractor, limit)
    memories = [await engine.get_memory(memory_id) for memory_id in found]
    return [UnreadMemory(one.id, preview(one.text), one.created_at) for one in memories], total


async def _waiting(engine: "MemoryEngine", kind: str) -> set[str]:
    """The ids of memories that a job is going to read. Asked for at one moment: a job may begin or be put off at any time."""
    jobs = await engine.jobs.list(engine.workspace, kind=kind, limit=MOST_JOBS)
    return {job.key for job in jobs if job.state in ("queued", "running")}


async def _unread(engine: "MemoryEngine", extractor: str) -> AsyncIterator[str]:
    after = None
    while True:
        page, _ = await engine.graph.unread(engine.workspace, extractor, PAGE, after)
        for memory_id in page:
            yield memory_id
        if len(page) < PAGE:
            return
        after = page[-1]
