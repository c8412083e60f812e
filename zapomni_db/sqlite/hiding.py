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
    """Bring a deleted memory back, or one whose replacement was deleted; inside a transaction."""
    row = memories.find(connection, workspace, uid)
    if row and row.replaced_by is not None and not _is_kept(connection, workspace, row.replaced_by):
        return memories.get(connection, workspace, _reinstate(connection, row))
    return memories.get(connection, workspace, uid) if row and restore_row(connection, row) else None


def _is_kept(connection: apsw.Connection, workspace: str, uid: str) -> bool:
    row = memories.find(connection, workspace, uid)
    return row is not None and row.deleted_at is None


def _reinstate(connection: apsw.Connection, row: Row) -> str:
    """Let a memory be live that has no replacement any more; the id of the one that says the same now."""
    same = memories.find_same(connection, row.workspace, row.content) if row.content else None
    if same:  # it was added once more in the meantime: a memory is kept once
        restore_row(connection, same)
        return same.uid
    connection.execute("UPDATE memory SET deleted_at = NULL, replaced_by = NULL WHERE id = ?", (row.id,))
    upkeep.show(connection, row.id)
    record(connection, row.workspace, row.id, "restored")
    return row.uid


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
    """Let a memory take the place of another, which must be live, unless it has that place already."""
    old = memories.find(connection, workspace, uid)
    if old and old.replaced_by == new.uid:
        return
    if old is None or not old.is_live:
        raise MemoryNotFoundError(
            "There is no such memory to replace in this workspace, or it was deleted or replaced before."
        )
    connection.execute("UPDATE memory SET replaced_by = ? WHERE id = ?", (new.uid, old.id))
    upkeep.hide(connection, old.id)
    record(connection, workspace, old.id, "superseded")


def delete_replaced(connection: apsw.Connection, new: Row) -> None:
    """Count what a memory took the place of as deleted: it will not be searched again unless somebody restores it."""
    for number, _ in memories.replaced_by(connection, new):
        deleted = "UPDATE memory SET deleted_at = ? WHERE id = ? AND deleted_at IS NULL"
        connection.execute(deleted, (time.time_ns() // 1000, number))
        record(connection, new.workspace, number, "deleted")
