"""The worker: claims jobs one after the other and runs them."""

import asyncio
import logging
import os
import random
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from zapomni_core.dispatch.watchdog import watched
from zapomni_core.errors import ProcessingError, ZapomniError, writable
from zapomni_core.jobs.kinds import EMBED, Kinds, Postpone
from zapomni_core.text.plural import counted
from zapomni_db.errors import DatabaseError, InvalidInputError
from zapomni_db.records import Job
from zapomni_db.store import JobStore

if TYPE_CHECKING:
    from zapomni_core.memory.engine import MemoryEngine

FIRST_SECONDS = 2.0
LONGEST_SECONDS = 600.0
JITTER = 0.25
LONGEST_ERROR = 500
_DOUBLINGS = 20  # enough for the longest; a job may have been tried any number of times

_SAFE_TO_SHOW = (ZapomniError, DatabaseError, InvalidInputError)


def seconds_after(attempts: int) -> float:
    """The delay after so many attempts: doubled each time, with 25 % jitter."""
    seconds = min(FIRST_SECONDS * 2.0 ** min(attempts - 1, _DOUBLINGS), LONGEST_SECONDS)
    return seconds * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311 - no secret


def error_text(error: BaseException) -> str:
    """The text to store for a failure: its type, and its message only if Zapomni wrote it, since others may quote a memory."""
    name = type(error).__name__
    text = " ".join(str(error).split()) if isinstance(error, _SAFE_TO_SHOW) else ""
    return writable(f"{name}: {text}"[:LONGEST_ERROR] if text else name)


log = logging.getLogger("zapomni.jobs")

PROGRESS_SECONDS = 1.0
"""Between two writes of progress, however often a job reports it."""


class Lease:
    """A worker's hold on the job that it runs: renewed every third of its time, and when there is progress to write."""

    def __init__(self, jobs: JobStore, job: Job, worker: str, seconds: float) -> None:
        self._jobs = jobs
        self._job = job
        self._worker = worker
        self._seconds = seconds
        self._ends = time.monotonic() + seconds
        self._fraction: float | None = None
        self._message = ""
        self._has_progress = asyncio.Event()

    async def progress(self, fraction: float | None, message: str = "") -> None:
        """Set how far the job is. It is written with the next renewal: at once, unless there has just been one."""
        self._fraction = None if fraction is None else min(max(float(fraction), 0.0), 1.0)
        self._message = writable(message or "")
        self._has_progress.set()

    async def keep(self) -> None:
        """Renew the lease until it is lost: taken over by another worker, or not renewed in time."""
        await self._until_progress()
        while await self._renew():
            await asyncio.sleep(min(PROGRESS_SECONDS, self._seconds / 3))
            await self._until_progress()

    async def _renew(self) -> bool:
        """Whether the job is still this worker's; a store that is briefly unreachable does no harm."""
        begun = time.monotonic()
        self._has_progress.clear()
        try:
            kept = await self._jobs.renew(
                self._job.id, self._worker, self._seconds, progress=self._fraction, message=self._message
            )
        except DatabaseError:
            log.warning("job_lease_not_renewed", exc_info=True, extra={"job": self._job.id, "kind": self._job.kind})
            return time.monotonic() < self._ends
        self._ends = begun + self._seconds
        return kept

    async def _until_progress(self) -> None:
        try:
            async with asyncio.timeout(self._seconds / 3):
                await self._has_progress.wait()
        except TimeoutError:
            return


log = logging.getLogger("zapomni.jobs")

LONGEST_PAUSE = 30.0
SHORTEST_PAUSE = 0.05
CANCEL_SECONDS = 1.5
STOP_SECONDS = 4.0
IDLE_STOP_SECONDS = 0.5
POSTPONED_AT_MOST = timedelta(days=7)
MOST_REVIVED = 10_000


class LostLeaseError(Exception):
    """Another worker has taken the job over."""


class EndingError(Exception):
    """The worker is ending."""


class Worker:
    """Does jobs of these kinds, one at a time, of the workspaces that it serves.

    Any number of workers in any number of processes may serve a workspace.

    A job that fails is tried again, up to `attempts` times, then kept as failed with its last error. `delay` is how long to
    wait after so many attempts. While nothing is due, it looks every `poll_seconds`, and ever less often.
    """

    def __init__(
        self,
        engine: "MemoryEngine",
        kinds: Kinds,
        *,
        name: str | None = None,
        lease_seconds: float = 60,
        poll_seconds: float = 2,
        attempts: int = 8,
        delay: Callable[[int], float] = seconds_after,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.name = name or f"{os.getpid()}-{uuid4().hex[:12]}"
        self._engine = engine
        self._engines = {engine.workspace: engine}
        self._revived: set[str] = set()
        self._kinds = kinds
        self._lease_seconds = lease_seconds
        self._poll_seconds = self._pause = poll_seconds
        self._attempts = attempts
        self._delay = delay
        self._clock = clock
        self._is_busy = False
        self._woken = asyncio.Event()
        self._ending = asyncio.Event()

    def wake(self) -> None:
        """Look for jobs now."""
        self._pause = self._poll_seconds
        self._woken.set()

    def serve(self, engine: "MemoryEngine") -> None:
        """Run jobs of this engine's workspace too."""
        if engine.workspace not in self._engines:
            self._engines[engine.workspace] = engine
            self.wake()

    def end(self) -> None:
        """End soon: a job that runs is cancelled and given back."""
        self._ending.set()
        self._woken.set()

    @property
    def is_ending(self) -> bool:
        """Whether `end` was called."""
        return self._ending.is_set()

    @property
    def stop_seconds(self) -> float:
        """The time to wait for the end: a running job is given back; a store that does not answer is abandoned."""
        return STOP_SECONDS if self._is_busy else IDLE_STOP_SECONDS

    async def run(self, delay: float = 0.0) -> None:
        """Run jobs until `end` is called; starts after a delay unless it is woken."""
        if delay:
            await self._wait(delay)
        is_away = False
        while not self._ending.is_set():
            self._woken.clear()
            try:
                await self._turn()
                is_away = False
            except DatabaseError as error:
                # One traceback: a store may be unreachable all night, and is tried every half minute.
                log.warning("jobs_out_of_reach", exc_info=not is_away, extra={"error": type(error).__name__})
                is_away = True
                await self._rest(None)

    async def finish(self, kind: str) -> None:
        """Run the jobs of one kind that are due now, unless `end` is called."""
        while not self._ending.is_set():
            claimed = await self._claim([kind])
            if claimed is None:
                return
            await self._begin(*claimed)

    async def _turn(self) -> None:
        """Run the next job, or wait until there may be one."""
        await self._engine.measure_queue()
        for engine in [*self._engines.values()]:
            await self._revive(engine)
        if claimed := await self._claim(self._kinds.names):
            self._pause = self._poll_seconds
            await self._begin(*claimed)
        else:
            due = [await engine.jobs.next_due(name, self._kinds.names) for name, engine in [*self._engines.items()]]
            await self._rest(min(filter(None, due), default=None))

    async def _revive(self, engine: "MemoryEngine") -> None:
        """Make postponed jobs due: a new process may have what the last one lacked.

        Failed embedding jobs are queued again too, except those that crashed their processes.
        """
        workspace = engine.workspace
        if workspace in self._revived:
            return
        failed = await engine.jobs.list(workspace, state="failed", kind=EMBED)
        if harmless := [job.id for job in failed if job.attempts <= self._attempts]:
            await engine.jobs.retry(workspace, harmless)
        waiting = await engine.jobs.list(workspace, state="queued", limit=MOST_REVIVED)
        postponed = [job for job in waiting if job.postponed_since and self._kinds.does(job.kind)]
        now = self._clock()
        await asyncio.gather(*(engine.jobs.schedule(workspace, job.id, now) for job in postponed))
        self._revived.add(workspace)

    async def _claim(self, kinds: Sequence[str]) -> "tuple[MemoryEngine, Job] | None":
        """The next job, with the engine of its workspace; the workspaces take turns."""
        for workspace, engine in [*self._engines.items()]:
            if job := await engine.jobs.claim(workspace, kinds, self.name, self._lease_seconds):
                self._engines[workspace] = self._engines.pop(workspace)
                return engine, job
        return None

    async def _begin(self, engine: "MemoryEngine", job: Job) -> None:
        self._is_busy = True
        await self._do(engine, job)
        self._is_busy = False

    async def _rest(self, due: datetime | None) -> None:
        """Wait until it is woken or a job is due, but look regularly: other processes queue jobs too, and crash."""
        await self._wait(self._next_pause(due))

    async def _wait(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        except TimeoutError:
            return

    def _next_pause(self, due: datetime | None) -> float:
        seconds, self._pause = self._pause, min(self._pause * 2, LONGEST_PAUSE)
        return seconds if due is None else min(seconds, max((due - self._clock()).total_seconds(), SHORTEST_PAUSE))

    async def _do(self, engine: "MemoryEngine", job: Job) -> None:
        about = {"job": job.id, "kind": job.kind, "plugin": self._kinds.owner(job.kind), "attempt": job.attempts}
        try:
            result = await self._attempt(engine, job)
            await engine.jobs.finish(job.id, self.name, result)
        except EndingError:
            await engine.jobs.release(job.id, self.name)
        except LostLeaseError:
            log.warning("job_lease_lost", extra=about)
        except Postpone as wish:
            await self._postpone(engine.jobs, job, wish)
        except Exception as error:  # the seam: whatever a kind raises is a failed attempt
            log.exception("job_failed", extra=about)
            await self._fail(engine.jobs, job, error)

    async def _attempt(self, engine: "MemoryEngine", job: Job) -> Mapping[str, Any]:
        """The result of a job, while its lease holds and the worker is not ending."""
        if job.attempts > self._attempts:
            raise ProcessingError(f"its process ended {counted(self._attempts, 'time')} while it ran")
        lease = Lease(engine.jobs, job, self.name, self._lease_seconds)
        running = asyncio.create_task(self._run(engine, job, lease), name=f"job {job.id}")
        keeping = asyncio.create_task(lease.keep())
        ending = asyncio.create_task(self._ending.wait())
        try:
            await asyncio.wait([running, keeping, ending], return_when=asyncio.FIRST_COMPLETED)
            return _outcome(running, keeping)
        finally:
            for task in (running, keeping, ending):
                task.cancel()
            await asyncio.wait([running, keeping, ending], timeout=CANCEL_SECONDS)

    async def _run(self, engine: "MemoryEngine", job: Job, lease: Lease) -> Mapping[str, Any]:
        try:
            with watched(f"job {job.id} ({job.kind}) of plugin '{self._kinds.owner(job.kind)}'"):
                return await self._kinds.run(engine, job, lease.progress)
        except (SystemExit, KeyboardInterrupt) as error:
            # Raised within a task, these would end the server.
            raise ProcessingError(f"it raised {type(error).__name__}") from error

    async def _postpone(self, jobs: JobStore, job: Job, wish: Postpone) -> None:
        now = self._clock()
        if now - (job.postponed_since or now) > POSTPONED_AT_MOST:
            reason = f"postponed for more than {POSTPONED_AT_MOST.days} days: {writable(wish.reason)}"
            await jobs.fail(job.id, self.name, reason, None)
        else:
            seconds = min(max(wish.seconds, SHORTEST_PAUSE), POSTPONED_AT_MOST.total_seconds())
            later = now + timedelta(seconds=seconds)
            await jobs.release(job.id, self.name, later, writable(wish.reason))

    async def _fail(self, jobs: JobStore, job: Job, error: BaseException) -> None:
        """Retry the job later, unless that was the last attempt."""
        retry_at = None
        if job.attempts < self._attempts:
            retry_at = self._clock() + timedelta(seconds=self._delay(job.attempts))
        await jobs.fail(job.id, self.name, error_text(error), retry_at)


def _outcome(running: "asyncio.Task[Mapping[str, Any]]", keeping: "asyncio.Task[None]") -> Mapping[str, Any]:
    """The result of a job, or an exception that says why there is none."""
    if running.cancelled():
        raise ProcessingError("it was cancelled, not by its worker")
    if running.done():
        return running.result()
    if keeping.done():
        keeping.result()
        raise LostLeaseError
    raise EndingError
