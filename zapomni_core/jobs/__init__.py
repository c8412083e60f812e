"""Background jobs: their kinds, which plugins can add, and the worker that runs them."""

from zapomni_core.jobs.kinds import JobKind, JobProgress, Kinds, Postpone

__all__ = ["JobKind", "JobProgress", "Kinds", "Postpone"]
