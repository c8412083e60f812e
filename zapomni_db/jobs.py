"""Jobs as every store keeps them."""

from dataclasses import replace
from typing import NamedTuple
from uuid import uuid4

from zapomni_db import values
from zapomni_db.records import Job, JobState, NewJob

KEPT_MICROSECONDS = 7 * 24 * 60 * 60 * 1_000_000
"""The time for which a finished job is kept."""


class JobRow(NamedTuple):
    """A job as it is kept. `due_at` is when it may begin or, while it runs, when its lease ends."""

    uid: str
    workspace: str
    kind: str
    key: str
    payload: str
    state: JobState
    attempts: int
    progress: float | None
    message: str
    error: str
    result: str | None
    created_at: int
    updated_at: int
    not_before: int
    postponed_since: int | None
    due_at: int | None
    worker: str

    @property
    def job(self) -> Job:
        """The job as the store gives it out."""
        return Job(
            id=self.uid,
            workspace=self.workspace,
            kind=self.kind,
            key=self.key,
            payload=values.from_json(self.payload),
            state=self.state,
            attempts=self.attempts,
            progress=self.progress,
            message=self.message,
            error=self.error,
            result=None if self.result is None else values.from_json(self.result),
            created_at=values.from_micros(self.created_at),
            updated_at=values.from_micros(self.updated_at),
            not_before=values.from_micros(self.not_before),
            postponed_since=values.from_micros_or_none(self.postponed_since),
        )

    @classmethod
    def new(cls, workspace: str, new: NewJob, created: int) -> "JobRow":
        """A new job; InvalidInputError names the field that cannot be kept."""
        due = created if new.not_before is None else values.checked_micros("not_before", new.not_before)
        return cls(
            uid=str(uuid4()),
            workspace=workspace,
            kind=values.check_text("kind", new.kind),
            key=values.check_text("key", new.key),
            payload=values.to_json("payload", dict(new.payload)),
            state="queued",
            attempts=0,
            progress=None,
            message="",
            error="",
            result=None,
            created_at=created,
            updated_at=created,
            not_before=due,
            postponed_since=None,
            due_at=due,
            worker="",
        )


def for_memory(memory_id: str, new: NewJob) -> NewJob:
    """A job whose payload names a memory, which is also its key where it has none."""
    return replace(new, payload={**new.payload, "memory_id": memory_id}, key=new.key or memory_id)
