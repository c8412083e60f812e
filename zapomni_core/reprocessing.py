"""Memories that the extractor has not read: which they are, and jobs that read them."""

from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING

from zapomni_core.extracting import KIND, extract_job
from zapomni_core.intake import preview
from zapomni_core.models import Reprocessing, UnreadMemory
from zapomni_db.errors import MemoryNotFoundError

if TYPE_CHECKING:
    from zapomni_core.engine import MemoryEngine
    from zapomni_db.records import Memory

PAGE = 5000
MOST_JOBS = 20_000
"""Jobs that are looked at, the newest: one that is older and waits is found again by its key when it is queued anew."""


async def queue_named(engine: "MemoryEngine", memory_ids: Sequence[str]) -> Reprocessing:
    """Queue the reading of these memories, read before or not; MemoryNotFoundError where one is not to be read."""
    chosen = list(dict.fromkeys(memory_ids))
    for memory_id in chosen:
        await _live(engine, memory_id)
    kind = engine.reading_kind(KIND)
    return Reprocessing(await engine.submit([extract_job(kind, one, again=True) for one in chosen]))


async def queue_unread(engine: "MemoryEngine", extractor: str, limit: int) -> Reprocessing:
    """Queue the reading of the oldest memories that the extractor has not read and no job is going to."""
    kind = engine.reading_kind(KIND)
    waiting = await _waiting(engine, kind)
    chosen: list[str] = []
    left = 0
    async for memory_id in _unread(engine, extractor):
        if memory_id in waiting:
            continue
        if len(chosen) < limit:
            chosen.append(memory_id)
        else:
            left += 1
    jobs = await engine.submit([extract_job(kind, memory_id) for memory_id in chosen]) if chosen else []
    return Reprocessing(jobs, len(waiting), left)


async def list_unread(
    engine: "MemoryEngine", extractor: str, limit: int, memory_ids: Sequence[str] | None = None
) -> tuple[list[UnreadMemory], int]:
    """The oldest memories that the extractor has not read, of those named if any are, and how many there are in all."""
    if memory_ids is None:
        found, total = await engine.graph.unread(engine.workspace, extractor, limit)
        memories = [await engine.get_memory(memory_id) for memory_id in found]
    else:
        named = [await _live(engine, one) for one in dict.fromkeys(memory_ids)]
        memories = [one for one in named if await engine.graph.reading(engine.workspace, one.id, extractor) is None]
        total = len(memories)
    return [UnreadMemory(one.id, preview(one.text), one.created_at) for one in memories[:limit]], total


async def _live(engine: "MemoryEngine", memory_id: str) -> "Memory":
    """A memory that may be read; MemoryNotFoundError where it is not there, hidden or replaced."""
    memory = await engine.get_memory(memory_id)
    if memory.deleted_at:
        raise MemoryNotFoundError(f"memory {memory.id} is deleted, so it is not read; it can be restored")
    if memory.replaced_by:
        raise MemoryNotFoundError(f"memory {memory.id} is replaced by {memory.replaced_by}, which can be read")
    return memory


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
