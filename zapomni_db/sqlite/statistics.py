"""How much a workspace holds, and the store as a whole."""

from pathlib import Path

import apsw

from zapomni_db.records import StoreStats
from zapomni_db.sqlite import embedders
from zapomni_db.sqlite.connections import one, rows
from zapomni_db.sqlite.files import size_of, wal_of

_LIVE = (
    "SELECT count(*), coalesce(sum(chunks), 0) FROM memory"
    " WHERE workspace = ? AND deleted_at IS NULL AND replaced_by IS NULL"
)
_DELETED = "SELECT count(*) FROM memory WHERE workspace = ? AND deleted_at IS NOT NULL"
_SUPERSEDED = "SELECT count(*) FROM memory WHERE workspace = ? AND replaced_by IS NOT NULL AND deleted_at IS NULL"


def statistics(connection: apsw.Connection, path: Path, workspace: str) -> StoreStats:
    """The figures of a workspace and of the file."""
    memories, chunks = one(connection, _LIVE, workspace)
    serving = embedders.serving(connection, workspace)
    return StoreStats(
        memories=memories,
        chunks=chunks,
        deleted=one(connection, _DELETED, workspace),
        superseded=one(connection, _SUPERSEDED, workspace),
        size_bytes=size_of(path) + size_of(wal_of(path)),
        embedder=serving.identity if serving else None,
        store="sqlite",
        location=str(path),
        workspaces=_workspaces(connection),
        details={"sqlite_version": apsw.sqlite_lib_version(), "format_version": connection.pragma("user_version")},
    )


def _workspaces(connection: apsw.Connection) -> tuple[str, ...]:
    """The workspaces with memories, hidden ones too; three indexes know them together."""
    found = rows(
        connection,
        "SELECT DISTINCT workspace FROM memory WHERE deleted_at IS NULL AND replaced_by IS NULL"
        " UNION SELECT DISTINCT workspace FROM memory WHERE deleted_at IS NOT NULL"
        " UNION SELECT DISTINCT workspace FROM memory WHERE replaced_by IS NOT NULL ORDER BY workspace",
    )
    return tuple(name for (name,) in found)
