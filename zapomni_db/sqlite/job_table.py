"""The table of jobs."""

import apsw

_JOBS = """
CREATE TABLE IF NOT EXISTS job(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    uid TEXT NOT NULL UNIQUE,
    workspace TEXT NOT NULL, kind TEXT NOT NULL, key TEXT NOT NULL,
    payload TEXT NOT NULL,                                      -- JSON
    state TEXT NOT NULL CHECK(state IN ('queued', 'running', 'done', 'failed')),
    attempts INTEGER NOT NULL, progress REAL, message TEXT NOT NULL, error TEXT NOT NULL,
    result TEXT,                                                -- JSON
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,   -- microseconds since 1970
    not_before INTEGER NOT NULL, postponed_since INTEGER,
    due_at INTEGER,     -- queued: when it may begin; running: when the lease ends; NULL: never
    worker TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS job_due ON job(workspace, kind, due_at, id) WHERE due_at IS NOT NULL;
CREATE UNIQUE INDEX IF NOT EXISTS job_key ON job(workspace, kind, key) WHERE key != '' AND due_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS job_state ON job(workspace, state, id);
CREATE INDEX IF NOT EXISTS job_done ON job(updated_at) WHERE state = 'done';
"""


def create_job_table(connection: apsw.Connection) -> None:
    """Make room for jobs."""
    connection.execute(_JOBS)
