"""The queue of a SQLite store: jobs that survive their processes."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from zapomni_db.records import Job, JobCounts, JobState, NewJob
from zapomni_db.sqlite import queue, values
from zapomni_db.sqlite.access import Access


class SQLiteJobs:
    """A JobStore in the file of the memories. Asking whether something is due writes nothing and waits for nobody."""

    def __init__(self, access: Access) -> None:
        self._access = access

    async def enqueue(self, workspace: str, jobs: Sequence[NewJob]) -> list[Job]:
        return await self._access.write(lambda connection: queue.enqueue(connection, workspace, jobs))

    async def claim(self, workspace: str, kinds: Sequence[str], worker: str, lease_seconds: float) -> Job | None:
        due = await self._next_due(workspace, kinds)
        if due is None or due > queue.now():
            return None
        return await self._access.write(
            lambda connection: queue.claim(connection, workspace, kinds, worker, lease_seconds)
        )

    async def renew(
        self, job_id: str, worker: str, lease_seconds: float, progress: float | None = None, message: str = ""
    ) -> bool:
        told: dict[str, Any] = {} if progress is None else {"progress": float(progress)}
        if message:
            told["message"] = values.check_text("message", message)
        return await self._access.write(lambda connection: queue.renew(connection, job_id, worker, lease_seconds, told))

    async def finish(self, job_id: str, worker: str, result: Mapping[str, Any]) -> bool:
        told = {"progress": 1.0, "message": "", "error": "", "result": values.to_json("result", dict(result))}
        return await self._access.write(
            lambda connection: queue.change(connection, job_id, worker, state="done", worker="", due_at=None, **told)
        )

    async def fail(self, job_id: str, worker: str, error: str, retry_at: datetime | None) -> bool:
        told = {"error": values.check_text("error", error), "postponed_since": None}
        if retry_at is None:
            return await self._access.write(
                lambda connection: queue.change(
                    connection, job_id, worker, state="failed", worker="", due_at=None, **told
                )
            )
        due = values.checked_micros("retry_at", retry_at)
        return await self._access.write(lambda connection: queue.requeue(connection, job_id, worker, due, **told))

    async def release(self, job_id: str, worker: str, not_before: datetime | None = None, error: str = "") -> bool:
        values.check_text("error", error)
        due = None if not_before is None else values.checked_micros("not_before", not_before)
        return await self._access.write(lambda connection: queue.release(connection, job_id, worker, due, error))

    async def schedule(self, workspace: str, job_id: str, not_before: datetime, error: str = "") -> bool:
        values.check_text("workspace", workspace)
        values.check_text("error", error)
        due = values.checked_micros("not_before", not_before)
        return await self._access.write(lambda connection: queue.schedule(connection, workspace, job_id, due, error))

    async def get(self, workspace: str, job_id: str) -> Job | None:
        if not (values.is_text(workspace) and values.is_text(job_id)):
            return None
        return await self._access.query(lambda connection: queue.find(connection, workspace, job_id))

    async def list(
        self, workspace: str, *, state: JobState | None = None, kind: str | None = None, limit: int = 100
    ) -> list[Job]:
        values.check_text("workspace", workspace)
        values.check_text("kind", kind or "")
        return await self._access.query(lambda connection: [*queue.newest(connection, workspace, state, kind, limit)])

    async def retry(self, workspace: str, job_ids: Sequence[str] | None = None) -> int:
        values.check_text("workspace", workspace)
        return await self._access.write(lambda connection: queue.retry(connection, workspace, job_ids))

    async def drop(self, workspace: str, job_ids: Sequence[str]) -> int:
        values.check_text("workspace", workspace)
        return await self._access.write(lambda connection: queue.drop(connection, workspace, job_ids))

    async def counts(self, workspace: str) -> JobCounts:
        values.check_text("workspace", workspace)
        return await self._access.query(lambda connection: queue.counts(connection, workspace))

    async def next_due(self, workspace: str, kinds: Sequence[str]) -> datetime | None:
        return values.from_micros_or_none(await self._next_due(workspace, kinds))

    async def _next_due(self, workspace: str, kinds: Sequence[str]) -> int | None:
        values.check_text("workspace", workspace)
        return await self._access.query(lambda connection: queue.next_due(connection, workspace, kinds))
