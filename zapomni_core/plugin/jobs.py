"""Names for kinds of jobs: the protocol, its progress callback, and the records of the job queue."""

from zapomni_core.jobs import JobKind, JobProgress, Postpone
from zapomni_db.records import Job, JobCounts, NewJob

__all__ = [
    "Job",
    "JobCounts",
    "JobKind",
    "JobProgress",
    "NewJob",
    "Postpone",
]
