"""Takes memories out of every search and brings them back. Nothing is removed: a memory is hidden by what its row says."""

import time

import apsw

from zapomni_db.errors import MemoryNotFoundError
from zapomni_db.records import Memory
from zapomni_db.sqlite import memories
from zapomni_db.sqlite.changes import record
from zapomni_db.sqlite.graph import upkeep
from zapomni_db.sqlite.memories import Row


def delete(connection: apsw.Connection, workspace: str, uid: str) -> Memory | None:
    """Hide a memory that is not deleted yet; inside a transaction."""
    row = memories.find(connection, workspace, uid)
    if row is None or row.deleted_at is not None:
        return None
    connection.execute("UPDATE memory SET deleted_at = ? WHERE id = ?", (time.time_ns() // 1000, row.id))
    if row.is_live:
        upkeep.hide(connection, row.id)
    record(connection, workspace, row.id, "deleted")
    return memories.get(connection, workspace, uid)


def restore(connection: apsw.Connection, workspace: str, uid: str) -> Memory | None:
    """Bring a deleted memory back; inside a transaction."""
    row = memories.find(connection, workspace, uid)
    return memories.get(connection, workspace, uid) if row and restore_row(connection, row) else None


def restore_row(connection: apsw.Connection, row: Row) -> bool:
    """Bring a memory back; False if it was not deleted."""
    if row.deleted_at is None:
        return False
    connection.execute("UPDATE memory SET deleted_at = NULL WHERE id = ?", (row.id,))
    if row.replaced_by is None:
        upkeep.show(connection, row.id)
    record(connection, row.workspace, row.id, "restored")
    return True


def supersede(connection: apsw.Connection, workspace: str, uid: str, new: Row) -> None:
    """Let a memory take the place of another, which must be live; linked both ways."""
    old = memories.find(connection, workspace, uid)
    if old is None or not old.is_live:
        raise MemoryNotFoundError(
            "There is no such memory to replace in this workspace, or it was deleted or replaced before."
        )
    connection.execute("UPDATE memory SET replaced_by = ? WHERE id = ?", (new.uid, old.id))
    connection.execute("UPDATE memory SET replaces = ? WHERE id = ?", (old.uid, new.id))
    upkeep.hide(connection, old.id)
    record(connection, workspace, old.id, "superseded")
