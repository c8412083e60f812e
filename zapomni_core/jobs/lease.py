"""A worker's hold on the job that it runs."""

import asyncio
import logging
import time

from zapomni_core.failures import writable
from zapomni_db.errors import DatabaseError
from zapomni_db.records import Job
from zapomni_db.store import JobStore

log = logging.getLogger("zapomni.jobs")

TELL_SECONDS = 1.0
"""Between two writes of progress, however often a job tells of it."""


class Lease:
    """Renewed every third of its time, and when there is progress to tell."""

    def __init__(self, jobs: JobStore, job: Job, worker: str, seconds: float) -> None:
        self._jobs = jobs
        self._job = job
        self._worker = worker
        self._seconds = seconds
        self._ends = time.monotonic() + seconds
        self._fraction: float | None = None
        self._message = ""
        self._told = asyncio.Event()

    async def progress(self, fraction: float | None, message: str = "") -> None:
        """Note how far the job is; it is written with the next renewal, which comes at once if none was just now."""
        self._fraction = None if fraction is None else min(max(float(fraction), 0.0), 1.0)
        self._message = writable(message or "")
        self._told.set()

    async def keep(self) -> None:
        """Renew it until it is lost: taken over by another worker, or not renewed in time."""
        await self._until_told()
        while await self._renew():
            await asyncio.sleep(min(TELL_SECONDS, self._seconds / 3))
            await self._until_told()

    async def _renew(self) -> bool:
        """Whether the job is still this worker's; a store that is away for a moment loses nothing."""
        begun = time.monotonic()
        self._told.clear()
        try:
            kept = await self._jobs.renew(
                self._job.id, self._worker, self._seconds, progress=self._fraction, message=self._message
            )
        except DatabaseError:
            log.warning("job_lease_not_renewed", exc_info=True, extra={"job": self._job.id, "kind": self._job.kind})
            return time.monotonic() < self._ends
        self._ends = begun + self._seconds
        return kept

    async def _until_told(self) -> None:
        try:
            async with asyncio.timeout(self._seconds / 3):
                await self._told.wait()
        except TimeoutError:
            return
