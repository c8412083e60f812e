"""The job queue of a SQLite store."""

import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import apsw

from zapomni_db import values
from zapomni_db.jobs import KEPT_MICROSECONDS, JobRow, for_memory
from zapomni_db.records import Job, JobCounts, JobState, NewJob
from zapomni_db.sqlite.connection import one, rows
from zapomni_db.sqlite.threads import Threads

AHEAD_MICROSECONDS = 60 * 1_000_000
"""The longest time ahead of now that a job can have been written; beyond it, the clock was set back."""
PAUSE_MICROSECONDS = 60 * 60 * 1_000_000
"""A job that waits for longer than this waits for a date, which a clock that is set back does not move."""
_MOST_PRUNED = 100  # at a time: other writers wait for it


_COLUMNS = ", ".join(JobRow._fields)
_SELECT = f"SELECT {_COLUMNS} FROM job "  # noqa: S608 - columns of ours
_SAME = "WHERE workspace = ? AND kind = ? AND key = ? AND key != '' AND due_at IS NOT NULL"
_INSERT = f"INSERT INTO job({_COLUMNS}) VALUES({', '.join('?' * len(JobRow._fields))})"


def now() -> int:
    """The moment, by the clock that the processes of a machine share."""
    return time.time_ns() // 1000


def _enqueue_jobs(connection: apsw.Connection, workspace: str, jobs: Sequence[NewJob]) -> list[Job]:
    """Keep jobs, or find those of the same key that wait or run."""
    values.check_text("workspace", workspace)
    return [_enqueue(connection, workspace, job).job for job in jobs]


def enqueue_for(connection: apsw.Connection, workspace: str, memory_id: str, jobs: Sequence[NewJob]) -> tuple[str, ...]:
    """Enqueue jobs for a memory, whose id their payloads get, and those without a key as their key; the ids of the jobs."""
    return tuple([_enqueue(connection, workspace, for_memory(memory_id, job)).uid for job in jobs])


def _enqueue(connection: apsw.Connection, workspace: str, new: NewJob) -> JobRow:
    row = JobRow.new(workspace, new, now())
    found = one(connection, _SELECT + _SAME, workspace, row.kind, row.key)
    if found:
        return JobRow(*found)
    connection.execute(_INSERT, row)
    return row


class _First(NamedTuple):
    """The job of a kind that is due first."""

    due_at: int
    id: int
    updated_at: int

    def is_held_up(self, moment: int) -> bool:
        """Whether it waits because of a clock that was ahead when it was written."""
        is_ahead = self.due_at > moment and self.updated_at > moment + AHEAD_MICROSECONDS
        return is_ahead and self.due_at - self.updated_at <= PAUSE_MICROSECONDS


def _first(connection: apsw.Connection, workspace: str, kind: str) -> _First | None:
    statement = (
        "SELECT due_at, id, updated_at FROM job WHERE workspace = ? AND kind = ? AND due_at IS NOT NULL"
        " ORDER BY due_at, id LIMIT 1"
    )
    found = one(connection, statement, workspace, kind)
    return _First(*found) if found else None


def _next_due(connection: apsw.Connection, workspace: str, kinds: Sequence[str]) -> int | None:
    """When the next job of one of these kinds may begin, or a lease ends; now, where a clock that was ahead holds it up."""
    moment = now()
    found = [first for kind in kinds if (first := _first(connection, workspace, kind))]
    return min((moment if first.is_held_up(moment) else first.due_at for first in found), default=None)


def _claim(
    connection: apsw.Connection, workspace: str, kinds: Sequence[str], worker: str, lease_seconds: float
) -> Job | None:
    """The job that has waited longest, now this worker's; None where none is due."""
    moment = now()
    _prune(connection, moment - KEPT_MICROSECONDS)
    # One kind after the other: asked for together, all that are due would be sorted for the sake of one.
    found = [first for kind in kinds if (first := _first_by_clock(connection, workspace, kind, moment))]
    if not found or min(found).due_at > moment:
        return None
    number = min(found).id
    connection.execute(
        "UPDATE job SET state = 'running', worker = ?, due_at = ?, attempts = attempts + 1, progress = NULL,"
        " message = '', updated_at = ? WHERE id = ?",
        (worker, moment + _micros(lease_seconds), moment, number),
    )
    return JobRow(*one(connection, _SELECT + "WHERE id = ?", number)).job


def _first_by_clock(connection: apsw.Connection, workspace: str, kind: str, moment: int) -> _First | None:
    """The job of a kind that is due first, once none of them is held up by a clock that was ahead."""
    first = _first(connection, workspace, kind)
    if first is None or not first.is_held_up(moment):
        return first
    due = "due_at - updated_at + :now"  # it waits for as long as was meant
    connection.execute(
        f"UPDATE job SET due_at = {due}, not_before = iif(state = 'queued', {due}, not_before), updated_at = :now"  # noqa: S608 - ours
        " WHERE workspace = :workspace AND kind = :kind AND due_at > :now AND updated_at > :now + :ahead"
        " AND due_at - updated_at <= :pause",
        {
            "workspace": workspace,
            "kind": kind,
            "now": moment,
            "ahead": AHEAD_MICROSECONDS,
            "pause": PAUSE_MICROSECONDS,
        },
    )
    return _first(connection, workspace, kind)


def _prune(connection: apsw.Connection, before: int) -> None:
    """Forget some jobs that were done before a moment."""
    connection.execute(
        "DELETE FROM job WHERE id IN (SELECT id FROM job WHERE state = 'done' AND updated_at < ? LIMIT ?)",
        (before, _MOST_PRUNED),
    )


def _change(connection: apsw.Connection, uid: str, worker: str, /, **changes: Any) -> bool:
    """Change a job that this worker runs; False where it does not."""
    changes["updated_at"] = now()
    assigned = ", ".join(f"{column} = :{column}" for column in changes)
    held = {"held_uid": uid, "held_worker": worker}
    connection.execute(
        f"UPDATE job SET {assigned} WHERE uid = :held_uid AND worker = :held_worker AND state = 'running'",  # noqa: S608 - columns of ours
        changes | held,
    )
    return connection.changes() > 0


def _renew(
    connection: apsw.Connection, uid: str, worker: str, lease_seconds: float, progress: Mapping[str, Any]
) -> bool:
    """Extend the lease on a job, and record its progress."""
    return _change(connection, uid, worker, due_at=now() + _micros(lease_seconds), **progress)


def _requeue(connection: apsw.Connection, uid: str, worker: str, due_at: int, /, **changes: Any) -> bool:
    """Let a job that this worker runs wait until a moment."""
    return _change(connection, uid, worker, state="queued", worker="", due_at=due_at, not_before=due_at, **changes)


def _release(connection: apsw.Connection, uid: str, worker: str, not_before: int | None, error: str) -> bool:
    """Give back a job as if it had not been begun."""
    row = one(connection, _SELECT + "WHERE uid = ? AND worker = ? AND state = 'running'", uid, worker)
    if not row:
        return False
    held = JobRow(*row)
    since = held.postponed_since
    if not_before is not None and since is None:
        since = now()
    return _requeue(
        connection,
        uid,
        worker,
        now() if not_before is None else not_before,
        attempts=held.attempts - 1,
        error=error or held.error,
        postponed_since=since,
    )


def _schedule(connection: apsw.Connection, workspace: str, uid: str, due_at: int, error: str) -> bool:
    """Let a job that waits be begun then and not before."""
    if not values.is_text(uid):
        return False
    connection.execute(
        "UPDATE job SET due_at = :due, not_before = :due, error = :error, updated_at = :now,"
        " postponed_since = iif(:error = '', postponed_since, coalesce(postponed_since, :now))"
        " WHERE workspace = :workspace AND uid = :uid AND state = 'queued'",
        {"due": due_at, "error": error, "now": now(), "workspace": workspace, "uid": uid},
    )
    return connection.changes() > 0


def _find(connection: apsw.Connection, workspace: str, uid: str) -> Job | None:
    """A job by its id."""
    row = one(connection, _SELECT + "WHERE uid = ? AND workspace = ?", uid, workspace)
    return JobRow(*row).job if row else None


def _newest(
    connection: apsw.Connection, workspace: str, state: JobState | None, kind: str | None, limit: int
) -> Iterator[Job]:
    """Jobs, the newest first."""
    wanted = "WHERE workspace = :workspace"
    wanted += " AND state = :state" if state else ""
    wanted += " AND kind = :kind" if kind is not None else ""
    bound = {"workspace": workspace, "state": state, "kind": kind, "limit": limit}
    for row in connection.execute(f"{_SELECT} {wanted} ORDER BY id DESC LIMIT :limit", bound):
        yield JobRow(*row).job


def _retry(connection: apsw.Connection, workspace: str, uids: Sequence[str] | None) -> int:
    """Queue failed jobs again and make waiting ones due now, except those whose key another job has taken."""
    statement = (
        "UPDATE OR IGNORE job SET state = 'queued', attempts = 0, postponed_since = NULL, not_before = :now, due_at = :now,"
        " updated_at = :now WHERE workspace = :workspace"
        " AND (state = 'failed' OR state = 'queued' AND due_at > :now)"
    )
    bound: dict[str, str | int] = {"now": now(), "workspace": workspace}
    if uids is None:
        connection.execute(statement, bound)
        return int(connection.changes())
    return _each(connection, statement + " AND uid = :uid", bound, uids)


def _drop(connection: apsw.Connection, workspace: str, uids: Sequence[str]) -> int:
    """Remove jobs that are not running."""
    statement = "DELETE FROM job WHERE workspace = :workspace AND uid = :uid AND (state != 'running' OR due_at <= :now)"
    return _each(connection, statement, {"now": now(), "workspace": workspace}, uids)


def _each(connection: apsw.Connection, statement: str, bound: dict[str, Any], uids: Sequence[str]) -> int:
    changed = 0
    for uid in filter(values.is_text, dict.fromkeys(uids)):
        connection.execute(statement, bound | {"uid": uid})
        changed += connection.changes()
    return changed


def _counts(connection: apsw.Connection, workspace: str) -> JobCounts:
    """The number of jobs in each state."""
    counted = rows(connection, "SELECT state, count(*) FROM job WHERE workspace = ? GROUP BY state", workspace)
    return JobCounts(**dict(counted))


def _micros(seconds: float) -> int:
    return int(seconds * 1_000_000)


class SQLiteJobs:
    """A JobStore in the file of the memories. Asking what is due does not write, and waits for no lock."""

    def __init__(self, threads: Threads) -> None:
        self._threads = threads

    async def enqueue(self, workspace: str, jobs: Sequence[NewJob]) -> list[Job]:
        return await self._threads.write(lambda connection: _enqueue_jobs(connection, workspace, jobs))

    async def claim(self, workspace: str, kinds: Sequence[str], worker: str, lease_seconds: float) -> Job | None:
        due = await self._next_due(workspace, kinds)
        if due is None or due > now():
            return None
        return await self._threads.write(lambda connection: _claim(connection, workspace, kinds, worker, lease_seconds))

    async def renew(
        self, job_id: str, worker: str, lease_seconds: float, progress: float | None = None, message: str = ""
    ) -> bool:
        changes: dict[str, Any] = {} if progress is None else {"progress": float(progress)}
        if message:
            changes["message"] = values.check_text("message", message)
        return await self._threads.write(lambda connection: _renew(connection, job_id, worker, lease_seconds, changes))

    async def finish(self, job_id: str, worker: str, result: Mapping[str, Any]) -> bool:
        changes = {"progress": 1.0, "message": "", "error": "", "result": values.to_json("result", dict(result))}
        return await self._threads.write(
            lambda connection: _change(connection, job_id, worker, state="done", worker="", due_at=None, **changes)
        )

    async def fail(self, job_id: str, worker: str, error: str, retry_at: datetime | None) -> bool:
        changes = {"error": values.check_text("error", error), "postponed_since": None}
        if retry_at is None:
            return await self._threads.write(
                lambda connection: _change(
                    connection, job_id, worker, state="failed", worker="", due_at=None, **changes
                )
            )
        due = values.checked_micros("retry_at", retry_at)
        return await self._threads.write(lambda connection: _requeue(connection, job_id, worker, due, **changes))

    async def release(self, job_id: str, worker: str, not_before: datetime | None = None, error: str = "") -> bool:
        values.check_text("error", error)
        due = None if not_before is None else values.checked_micros("not_before", not_before)
        return await self._threads.write(lambda connection: _release(connection, job_id, worker, due, error))

    async def schedule(self, workspace: str, job_id: str, not_before: datetime, error: str = "") -> bool:
        values.check_text("workspace", workspace)
        values.check_text("error", error)
        due = values.checked_micros("not_before", not_before)
        return await self._threads.write(lambda connection: _schedule(connection, workspace, job_id, due, error))

    async def get(self, workspace: str, job_id: str) -> Job | None:
        if not (values.is_text(workspace) and values.is_text(job_id)):
            return None
        return await self._threads.query(lambda connection: _find(connection, workspace, job_id))

    async def list(
        self, workspace: str, *, state: JobState | None = None, kind: str | None = None, limit: int = 100
    ) -> list[Job]:
        values.check_text("workspace", workspace)
        values.check_text("kind", kind or "")
        return await self._threads.query(lambda connection: [*_newest(connection, workspace, state, kind, limit)])

    async def retry(self, workspace: str, job_ids: Sequence[str] | None = None) -> int:
        values.check_text("workspace", workspace)
        return await self._threads.write(lambda connection: _retry(connection, workspace, job_ids))

    async def drop(self, workspace: str, job_ids: Sequence[str]) -> int:
        values.check_text("workspace", workspace)
        return await self._threads.write(lambda connection: _drop(connection, workspace, job_ids))

    async def counts(self, workspace: str) -> JobCounts:
        values.check_text("workspace", workspace)
        return await self._threads.query(lambda connection: _counts(connection, workspace))

    async def next_due(self, workspace: str, kinds: Sequence[str]) -> datetime | None:
        return values.from_micros_or_none(await self._next_due(workspace, kinds))

    async def _next_due(self, workspace: str, kinds: Sequence[str]) -> int | None:
        values.check_text("workspace", workspace)
        return await self._threads.query(lambda connection: _next_due(connection, workspace, kinds))
