"""The job runner: starts the worker of a process when there are jobs for it, and ends it."""

import asyncio
import contextvars
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from zapomni_db.errors import DatabaseError

if TYPE_CHECKING:
    from zapomni_core.jobs.worker import Worker
    from zapomni_core.memory.components import Components
    from zapomni_core.memory.engine import MemoryEngine

log = logging.getLogger("zapomni.jobs")

DELAY_SECONDS = 0.5
"""Between a search that found chunks without a vector and the start of the worker: a program may end before."""


class JobRunner:
    """At most one worker. It starts when jobs are queued here or, in a process that serves jobs, when the store is first used.

    A process that has not used its store does not open it for the sake of jobs: most servers only wait for calls.
    """

    def __init__(self, components: "Components") -> None:
        self._components = components
        self._serving: MemoryEngine | None = None
        self._worker: Worker | None = None
        self._task: asyncio.Task[None] | None = None
        self._woken_for: tuple[str, ...] = ()
        self._is_finishing = False
        self._unfinished: dict[str, MemoryEngine] = {}
        self.is_serving = False

    def serve(self, engine: "MemoryEngine") -> None:
        """From now on, `start` starts a worker."""
        self.is_serving = True
        self._serving = engine.bound()

    def start(self) -> None:
        """Start a worker if this process serves jobs and has not started one."""
        if self._serving is not None:
            engine, self._serving = self._serving, None
            self.wake(engine)

    def wake(self, engine: "MemoryEngine") -> None:
        """Let the worker look for jobs of the engine's workspace now; start one if there is none."""
        if not self._can_work(engine):
            return
        if not self._is_working:
            self._start(engine.bound())
        elif self._worker is not None:
            self._worker.serve(engine.bound())
            self._worker.wake()

    def wake_for(self, engine: "MemoryEngine", job_ids: tuple[str, ...]) -> None:
        """Let the worker look for these jobs, or for any; only once for the same ids, since many memories share a job."""
        if not job_ids or job_ids != self._woken_for or not self._is_working:
            self._woken_for = job_ids
            self._unfinished[engine.workspace] = engine.bound()
            self.wake(engine)

    def wake_later(self, engine: "MemoryEngine") -> None:
        """Let the worker look for jobs that an ended process left, if this process still runs in a moment."""
        self._unfinished[engine.workspace] = engine.bound()
        if not self._can_work(engine):
            return
        if not self._is_working:
            self._start(engine.bound(), DELAY_SECONDS)
        elif self._worker is not None:
            self._worker.serve(engine.bound())

    async def finish(self, kind: str, seconds: float) -> bool:
        """End the worker, then run the jobs of a kind for what was stored or found here; whether none is left.

        A job that is running when the time is over is given back. A job that was postponed stays so.
        """
        await self.close()
        unfinished, self._unfinished = [*self._unfinished.values()], {}
        engines = [engine for engine in unfinished if engine.keeps_jobs and kind in self._components.kinds.names]
        self._is_finishing = True
        try:
            return not engines or await self._finish(engines, kind, seconds)
        finally:
            self._is_finishing = False

    async def close(self) -> None:
        """End the worker; a job that runs is given back."""
        self._serving = None
        is_working, worker, task = self._is_working, self._worker, self._task
        self._worker = self._task = None
        if is_working and worker is not None and task is not None:
            worker.end()
            await asyncio.wait([task], timeout=worker.stop_seconds)
            task.cancel()

    @property
    def _is_working(self) -> bool:
        """Whether a worker is running; one in an event loop that has stopped is not."""
        return self._task is not None and not self._task.done() and self._task.get_loop().is_running()

    def _can_work(self, engine: "MemoryEngine") -> bool:
        return not self._is_finishing and bool(self._components.kinds.names) and _has_loop() and engine.keeps_jobs

    def _start(self, engine: "MemoryEngine", delay: float = 0.0) -> None:
        from zapomni_core.jobs.worker import Worker

        self._worker = Worker(engine, self._components.kinds)
        # In a context of its own: a worker that a tool call started does not report its progress to that call's client.
        self._task = asyncio.create_task(self._worker.run(delay), name="jobs", context=contextvars.Context())
        self._task.add_done_callback(_log_end)

    async def _finish(self, engines: "Sequence[MemoryEngine]", kind: str, seconds: float) -> bool:
        from zapomni_core.jobs.worker import Worker

        worker = Worker(engines[0], self._components.kinds)
        for engine in engines:
            worker.serve(engine)
        task = asyncio.create_task(_run_all(engines, worker, kind), name="finishing jobs")
        try:
            await asyncio.wait([task], timeout=seconds)
            if not task.done():
                worker.end()
                await asyncio.wait([task], timeout=worker.stop_seconds)
            return task.done() and task.result()
        finally:
            task.cancel()


async def _run_all(engines: "Sequence[MemoryEngine]", worker: "Worker", kind: str) -> bool:
    try:
        # A job may queue another one, which looks once more for what was stored meanwhile.
        while any([await _make_due(engine, kind) for engine in engines]):
            if worker.is_ending:
                return False
            await worker.finish(kind)
        return not any([await engine.jobs.list(engine.workspace, state="queued", kind=kind) for engine in engines])
    except DatabaseError:
        log.warning("jobs_not_settled", exc_info=True)
        return False


async def _make_due(engine: "MemoryEngine", kind: str) -> int:
    """Make the jobs of a kind due that only wait to be run together with others; how many there are."""
    waiting = [job.id for job in await engine.jobs.list(engine.workspace, state="queued", kind=kind) if not job.error]
    await engine.jobs.retry(engine.workspace, waiting)
    return len(waiting)


def _has_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _log_end(task: "asyncio.Task[None]") -> None:
    if not task.cancelled() and (error := task.exception()):
        log.error("job_worker_ended", exc_info=error)
