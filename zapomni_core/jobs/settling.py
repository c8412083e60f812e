"""Finishes work of a moment before a process ends, so that nobody waits for a process that never comes."""

import asyncio
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from zapomni_core.jobs.kinds import Kinds
from zapomni_db.errors import DatabaseError

if TYPE_CHECKING:
    from zapomni_core.engine import MemoryEngine
    from zapomni_core.jobs.worker import Worker

log = logging.getLogger("zapomni.jobs")


async def settle(engines: "Sequence[MemoryEngine]", kinds: Kinds, kind: str, seconds: float) -> bool:
    """Do the jobs of a kind that wait in the workspaces of these engines, for so long at most; whether all are done.

    One that is begun when the time is over is given back. What was postponed because something is away stays so.
    """
    from zapomni_core.jobs.worker import Worker

    worker = Worker(engines[0], kinds)
    for engine in engines:
        worker.serve(engine)
    task = asyncio.create_task(_settle(engines, worker, kind), name="settling jobs")
    try:
        await asyncio.wait([task], timeout=seconds)
        if not task.done():
            worker.end()
            await asyncio.wait([task], timeout=worker.stop_seconds)
        return task.done() and task.result()
    finally:
        task.cancel()


async def _settle(engines: "Sequence[MemoryEngine]", worker: "Worker", kind: str) -> bool:
    try:
        # A job may leave another one behind, which looks once more for what was stored meanwhile.
        while any([await _hasten(engine, kind) for engine in engines]):
            if worker.is_ending:
                return False
            await worker.finish(kind)
        return not any([await engine.jobs.list(engine.workspace, state="queued", kind=kind) for engine in engines])
    except DatabaseError:
        log.warning("jobs_not_settled", exc_info=True)
        return False


async def _hasten(engine: "MemoryEngine", kind: str) -> int:
    """Let the jobs of a kind that only wait for company be done now; how many there are."""
    waiting = [job.id for job in await engine.jobs.list(engine.workspace, state="queued", kind=kind) if not job.error]
    await engine.jobs.retry(engine.workspace, waiting)
    return len(waiting)
