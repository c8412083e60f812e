"""The job queue of a FalkorDB store. Every change is one statement; moments are those of the server's clock."""

import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from zapomni_db import values
from zapomni_db.falkordb.client import FalkorDBClient, Rows
from zapomni_db.falkordb.cypher import limited, name_of
from zapomni_db.falkordb.transaction import Transaction, workspace_id
from zapomni_db.jobs import KEPT_MICROSECONDS, JobRow, for_memory
from zapomni_db.records import Job, JobCounts, JobState, NewJob

# While a job waits or runs, `ready` names its workspace and kind, and `taken` its key, or itself where it has none.
_COLUMNS = ", ".join(f"j.{name}" for name in JobRow._fields)
_MOMENTS = """
j += r.job, j.created_at = r.now, j.updated_at = r.now, j.not_before = coalesce(r.due, r.now), j.due_at = coalesce(r.due, r.now)
"""
_ENQUEUE = f"""
WITH 1000 * timestamp() AS now UNWIND $rows AS r
WITH {{taken: r.taken, job: r.job, due: r.due, place: r.place, now: now}} AS r
MERGE (j:Job {{taken: r.taken}}) ON CREATE SET {_MOMENTS} RETURN r.place, {_COLUMNS}
"""
# Where another has just taken its key, the transaction fails and begins again.
_CREATE = f"WITH {{job: r.job, due: r.due, now: 1000 * timestamp()}} AS r CREATE (j:Job) SET {_MOMENTS}"
_WAITING = "MATCH (j:Job {taken: $taken}) RETURN j.uid"
_CLAIM = f"""
WITH 1000 * timestamp() AS now
MATCH (j:Job) WHERE j.ready IN $ready AND j.due_at < now + 1000
WITH j, now ORDER BY j.due_at, j.number LIMIT 1
SET j.state = 'running', j.worker = $worker, j.due_at = now + $lease, j.attempts = j.attempts + 1, j.progress = NULL,
    j.message = '', j.updated_at = now
RETURN {_COLUMNS}
"""
_HELD = """
WITH 1000 * timestamp() AS now
MATCH (j:Job {uid: $uid}) WHERE j.worker = $worker AND j.state = 'running'
SET j.updated_at = now, j += $changes
"""
_RENEW = _HELD + ", j.due_at = now + $lease RETURN 1"
_END = _HELD + ", j.worker = '', j.due_at = NULL, j.ready = NULL, j.taken = NULL"
_FINISH, _FAIL = _END + ", j.done_at = now RETURN 1", _END + " RETURN 1"
_REQUEUE = _HELD + ", j.state = 'queued', j.worker = '', j.due_at = $due, j.not_before = $due RETURN 1"
_RELEASE = """
WITH 1000 * timestamp() AS now
MATCH (j:Job {uid: $uid}) WHERE j.worker = $worker AND j.state = 'running'
SET j.updated_at = now, j.state = 'queued', j.worker = '', j.attempts = j.attempts - 1,
    j.due_at = coalesce($due, now), j.not_before = coalesce($due, now),
    j.error = CASE $error WHEN '' THEN j.error ELSE $error END,
    j.postponed_since = CASE WHEN $due IS NULL THEN j.postponed_since ELSE coalesce(j.postponed_since, now) END
RETURN 1
"""
_SCHEDULE = """
WITH 1000 * timestamp() AS now
MATCH (j:Job {uid: $uid}) WHERE j.ws = $ws AND j.state = 'queued'
SET j.updated_at = now, j.due_at = $due, j.not_before = $due, j.error = $error,
    j.postponed_since = CASE $error WHEN '' THEN j.postponed_since ELSE coalesce(j.postponed_since, now) END
RETURN 1
"""
_ALL, _NAMED = "MATCH (j:Job {ws: $ws})", "UNWIND $uids AS uid MATCH (j:Job {uid: uid}) WHERE j.ws = $ws WITH j"
# Of several jobs of one key only one may wait: none that failed where another waits or runs, and else the first.
_RETRY = """
{which} WHERE j.state = 'failed' OR j.state = 'queued' AND j.due_at > 1000 * timestamp()
OPTIONAL MATCH (other:Job {{taken: j.name}}) WHERE other.uid <> j.uid
WITH j, other WHERE other IS NULL
WITH j ORDER BY j.number
WITH j.name AS name, collect(j) AS same
UNWIND same[..1] AS j WITH j, 1000 * timestamp() AS now
SET j.state = 'queued', j.attempts = 0, j.postponed_since = NULL, j.not_before = now, j.due_at = now, j.updated_at = now,
    j.ready = j.queue, j.taken = j.name
RETURN count(j)
"""
_DROP = """
UNWIND $uids AS uid MATCH (j:Job {uid: uid})
WHERE j.ws = $ws AND (j.state <> 'running' OR j.due_at < 1000 * timestamp() + 1000)
DELETE j RETURN count(j)
"""
_PRUNE = "MATCH (j:Job) WHERE j.done_at < 1000 * timestamp() - $kept WITH j LIMIT $most DELETE j"
_MOST_PRUNED = 100  # at a time: other writers wait for it


def _properties(workspace: str, new: NewJob, place: int) -> dict[str, Any]:
    """The properties of a new job. Its moments come from the server's clock, its number from this machine's."""
    created = time.time_ns()
    row = JobRow.new(workspace, new, created // 1000)
    ws, queue = workspace_id(workspace), _queue(workspace, row.kind)
    name = name_of("job", ws, row.kind, row.key) if row.key else row.uid
    own = {"ws": ws, "queue": queue, "ready": queue, "name": name, "taken": name, "number": created + place}
    due = None if new.not_before is None else row.due_at
    return {"taken": name, "job": row._asdict() | own, "due": due, "place": place}


def _queue(workspace: str, kind: str) -> str:
    return name_of("queue", workspace, kind)


async def enqueue_for(transaction: Transaction, memory_id: str, jobs: Sequence[NewJob]) -> tuple[str, ...]:
    """Enqueue jobs for a memory, whose id their payloads get, and those without a key as their key; the ids of the jobs."""
    made: dict[str, str] = transaction.state.setdefault("jobs", {})  # by what they take
    uids = []
    for new in jobs:
        row = _properties(transaction.name, for_memory(memory_id, new), len(made))
        taken = row["taken"]
        if taken not in made:
            found = await transaction.read(_WAITING, taken=taken)
            made[taken] = found[0][0] if found else row["job"]["uid"]
            if not found:
                transaction.write(_CREATE, row)
        uids.append(made[taken])
    return tuple(uids)


class FalkorDBJobs:
    """A JobStore in the graph of the memories."""

    def __init__(self, client: FalkorDBClient) -> None:
        self._client = client

    async def enqueue(self, workspace: str, jobs: Sequence[NewJob]) -> list[Job]:
        values.check_text("workspace", workspace)
        rows = [_properties(workspace, new, place) for place, new in enumerate(jobs)]
        found = await self._client.query(_ENQUEUE, {"rows": rows})
        return [JobRow(*row).job for _, *row in sorted(found, key=lambda row: int(row[0]))]

    async def claim(self, workspace: str, kinds: Sequence[str], worker: str, lease_seconds: float) -> Job | None:
        values.check_text("workspace", workspace)
        asked = {"ready": _queues(workspace, kinds), "worker": worker, "lease": _micros(lease_seconds)}
        found = await self._client.query(_CLAIM, asked) if kinds else []
        if not found:
            return None
        await self._client.query(_PRUNE, {"kept": KEPT_MICROSECONDS, "most": _MOST_PRUNED})
        return JobRow(*found[0]).job

    async def renew(
        self, job_id: str, worker: str, lease_seconds: float, progress: float | None = None, message: str = ""
    ) -> bool:
        changes: dict[str, Any] = {} if progress is None else {"progress": float(progress)}
        if message:
            changes["message"] = values.check_text("message", message)
        return await self._change(_RENEW, job_id, worker, lease=_micros(lease_seconds), changes=changes)

    async def finish(self, job_id: str, worker: str, result: Mapping[str, Any]) -> bool:
        changes = {"progress": 1.0, "message": "", "error": "", "result": values.to_json("result", dict(result))}
        return await self._change(_FINISH, job_id, worker, changes={"state": "done", **changes})

    async def fail(self, job_id: str, worker: str, error: str, retry_at: datetime | None) -> bool:
        changes = {"error": values.check_text("error", error), "postponed_since": None}
        if retry_at is None:
            return await self._change(_FAIL, job_id, worker, changes={"state": "failed", **changes})
        due = values.checked_micros("retry_at", retry_at)
        return await self._change(_REQUEUE, job_id, worker, due=due, changes=changes)

    async def release(self, job_id: str, worker: str, not_before: datetime | None = None, error: str = "") -> bool:
        values.check_text("error", error)
        due = None if not_before is None else values.checked_micros("not_before", not_before)
        return await self._change(_RELEASE, job_id, worker, due=due, error=error)

    async def schedule(self, workspace: str, job_id: str, not_before: datetime, error: str = "") -> bool:
        values.check_text("workspace", workspace)
        values.check_text("error", error)
        due = values.checked_micros("not_before", not_before)
        asked = {"ws": workspace_id(workspace), "uid": job_id, "due": due, "error": error}
        return values.is_text(job_id) and bool(await self._client.query(_SCHEDULE, asked))

    async def get(self, workspace: str, job_id: str) -> Job | None:
        if not (values.is_text(workspace) and values.is_text(job_id)):
            return None
        found = await self._client.read(
            f"MATCH (j:Job {{uid: $uid}}) WHERE j.ws = $ws RETURN {_COLUMNS}",
            {"uid": job_id, "ws": workspace_id(workspace)},
        )
        return JobRow(*found[0]).job if found else None

    async def list(
        self, workspace: str, *, state: JobState | None = None, kind: str | None = None, limit: int = 100
    ) -> list[Job]:
        values.check_text("workspace", workspace)
        values.check_text("kind", kind or "")
        wanted = {"state": state or None, "kind": kind}
        which = "".join(f" AND j.{name} = ${name}" for name, value in wanted.items() if value is not None)
        found = await self._client.read(
            f"MATCH (j:Job) WHERE j.ws = $ws{which} RETURN {_COLUMNS} ORDER BY j.number DESC LIMIT $limit",
            {"ws": workspace_id(workspace), "limit": limited(limit), **wanted},
        )
        return [JobRow(*row).job for row in found]

    async def retry(self, workspace: str, job_ids: Sequence[str] | None = None) -> int:
        values.check_text("workspace", workspace)
        which = _ALL if job_ids is None else _NAMED
        return await self._count(_RETRY.format(which=which), workspace, job_ids)

    async def drop(self, workspace: str, job_ids: Sequence[str]) -> int:
        values.check_text("workspace", workspace)
        return await self._count(_DROP, workspace, job_ids)

    async def counts(self, workspace: str) -> JobCounts:
        values.check_text("workspace", workspace)
        found: Rows = await self._client.read(
            "MATCH (j:Job {ws: $ws}) RETURN j.state, count(j)", {"ws": workspace_id(workspace)}
        )
        return JobCounts(**{state: count for state, count in found})  # noqa: C416

    async def next_due(self, workspace: str, kinds: Sequence[str]) -> datetime | None:
        values.check_text("workspace", workspace)
        asked = {"ready": _queues(workspace, kinds)}
        found: Rows = await self._client.read("MATCH (j:Job) WHERE j.ready IN $ready RETURN min(j.due_at)", asked)
        return values.from_micros_or_none(found[0][0])

    async def _change(self, statement: str, job_id: str, worker: str, **asked: Any) -> bool:
        """Change a job that this worker runs; False where it does not."""
        return bool(await self._client.query(statement, {"uid": job_id, "worker": worker, **asked}))

    async def _count(self, statement: str, workspace: str, job_ids: Sequence[str] | None) -> int:
        uids = list(filter(values.is_text, dict.fromkeys(job_ids or ())))
        found = await self._client.query(statement, {"ws": workspace_id(workspace), "uids": uids})
        return int(found[0][0]) if found else 0


def _queues(workspace: str, kinds: Sequence[str]) -> list[str]:
    return [_queue(workspace, kind) for kind in kinds]


def _micros(seconds: float) -> int:
    return int(seconds * 1_000_000)
