"""Where this process's worker is: started when there is work for it, ended with the engine."""

import asyncio
import contextvars
import logging
from typing import TYPE_CHECKING

from zapomni_core.jobs.kinds import Kinds
from zapomni_core.jobs.settling import settle
from zapomni_core.loops import is_in_a_loop

if TYPE_CHECKING:
    from zapomni_core.engine import MemoryEngine
    from zapomni_core.jobs.worker import Worker

log = logging.getLogger("zapomni.jobs")


BEGIN_SECONDS = 0.5
"""From a search that met work to its beginning: whoever searches once is gone by then."""


class Workplace:
    """One worker at most. It begins with the first job queued here or, where the place is open, with the store's first use.

    A process that has not used its store must not open it for the sake of jobs: most servers wait, and most have none.
    """

    def __init__(self, kinds: Kinds) -> None:
        self._kinds = kinds
        self._serving: MemoryEngine | None = None
        self._worker: Worker | None = None
        self._task: asyncio.Task[None] | None = None
        self._looked_for: tuple[str, ...] = ()
        self._is_settling = False
        self._owing: dict[str, MemoryEngine] = {}
        self.is_open = False

    def open(self, engine: "MemoryEngine") -> None:
        """From now on the store's first use is reason enough to begin."""
        self.is_open = True
        self._serving = engine

    def note_use(self) -> None:
        """The store is used: begin, where the place is open and nobody has begun."""
        if self._serving is not None and is_in_a_loop():
            engine, self._serving = self._serving, None
            self.begin(engine)

    def begin(self, engine: "MemoryEngine") -> None:
        """Let a worker look for jobs now; the one that is there, or a new one, where any kind of job is known."""
        if not self._can_work(engine):
            return
        if not self._is_working:
            self._start(engine)
        elif self._worker is not None:
            self._worker.serve(engine)
            self._worker.wake()

    def begin_for(self, engine: "MemoryEngine", job_ids: tuple[str, ...]) -> None:
        """Let a worker look for these jobs; once, where one job is for many memories. Without ids: for any."""
        if not job_ids or job_ids != self._looked_for or not self._is_working:
            self._looked_for = job_ids
            self._owing[engine.workspace] = engine
            self.begin(engine)

    def begin_later(self, engine: "MemoryEngine") -> None:
        """Let a worker look for jobs that somebody left here, if this process is still there in a moment."""
        self._owing[engine.workspace] = engine
        if not self._can_work(engine):
            return
        if not self._is_working:
            self._start(engine, BEGIN_SECONDS)
        elif self._worker is not None:
            self._worker.serve(engine)

    async def settle(self, kind: str, seconds: float) -> bool:
        """Do the jobs of a kind that wait because of what was stored or met here, for so long at most; whether all are done.

        The worker is ended first.
        """
        await self.close()
        owing = [engine for engine in self._owing.values() if engine.keeps_jobs and kind in self._kinds.names]
        self._owing = {}
        self._is_settling = True
        try:
            return not owing or await settle(owing, self._kinds, kind, seconds)
        finally:
            self._is_settling = False

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
        """Whether there is a worker that lives: one in an event loop that has stopped does not."""
        return self._task is not None and not self._task.done() and self._task.get_loop().is_running()

    def _can_work(self, engine: "MemoryEngine") -> bool:
        """Whether there may be a worker here. To ask this is a use of the store: afterwards there may be one already."""
        return not self._is_settling and bool(self._kinds.names) and is_in_a_loop() and engine.keeps_jobs

    def _start(self, engine: "MemoryEngine", delay: float = 0.0) -> None:
        from zapomni_core.jobs.worker import Worker

        self._worker = Worker(engine, self._kinds)
        # In a context of its own: a worker that a tool call started does not report its progress to that call's client.
        self._task = asyncio.create_task(self._worker.run(delay), name="jobs", context=contextvars.Context())
        self._task.add_done_callback(_tell_of_end)


def _tell_of_end(task: "asyncio.Task[None]") -> None:
    if not task.cancelled() and (error := task.exception()):
        log.error("job_worker_ended", exc_info=error)
