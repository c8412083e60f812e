"""Work that is done later: kinds of jobs, which plugins may bring, and the worker that does them."""

from zapomni_core.jobs.kinds import JobKind, JobProgress, Kinds, Postpone

__all__ = ["JobKind", "JobProgress", "Kinds", "Postpone"]
