"""Changes memories: deletes, restores and replaces them, and gives them other metadata. Nothing is removed here."""

import time

import apsw

from zapomni_db.errors import MemoryNotFoundError
from zapomni_db.records import Change, Memory
from zapomni_db.sqlite import memories, values
from zapomni_db.sqlite.changes import record
from zapomni_db.sqlite.facets import drop_facets, keep_facets
from zapomni_db.sqlite.graph import timeline
from zapomni_db.sqlite.memories import Row


def apply(connection: apsw.Connection, workspace: str, uid: str, change: Change, by: str) -> Memory | None:
    """Change a memory, if the change applies to it; inside a transaction."""
    row = memories.find(connection, workspace, uid)
    if row is None:
        return None
    values.check_text("by", by)
    if change.metadata is not None and not _set_metadata(connection, row, change, by):
        return None
    if change.deleted is True:
        return memories.get(connection, workspace, uid) if _delete(connection, row, by) else None
    if change.deleted is False:
        return _restore(connection, row, by)
    return memories.get(connection, workspace, uid)


def _set_metadata(connection: apsw.Connection, row: Row, change: Change, by: str) -> bool:
    """Give a memory other metadata; False where somebody else has done so meanwhile."""
    if change.instead_of is not None and values.from_json(row.metadata) != dict(change.instead_of):
        return False
    new = row._replace(
        metadata=values.to_json("metadata", dict(change.metadata or {})),
        tags=values.to_json("tags", change.tags),
        source=values.check_text("source", change.source),
    )
    memories.update(connection, row, new)
    drop_facets(connection, row.id, row.facets - new.facets)
    keep_facets(connection, [(facet, row.id) for facet in new.facets - row.facets])
    record(connection, row.workspace, row.id, "changed", by)
    return True


def _delete(connection: apsw.Connection, row: Row, by: str) -> bool:
    """Hide a memory; False if it is deleted."""
    if row.deleted_at is not None:
        return False
    connection.execute("UPDATE memory SET deleted_at = ? WHERE id = ?", (time.time_ns() // 1000, row.id))
    if row.is_live:
        timeline.hide(connection, row.id)
    record(connection, row.workspace, row.id, "deleted", by)
    return True


def _restore(connection: apsw.Connection, row: Row, by: str) -> Memory | None:
    """Bring a deleted memory back, or one whose replacement was deleted."""
    if row.replaced_by is not None and not _is_kept(connection, row.workspace, row.replaced_by):
        return memories.get(connection, row.workspace, _reinstate(connection, row, by))
    return memories.get(connection, row.workspace, row.uid) if restore_row(connection, row, by) else None


def _is_kept(connection: apsw.Connection, workspace: str, uid: str) -> bool:
    row = memories.find(connection, workspace, uid)
    return row is not None and row.deleted_at is None


def _reinstate(connection: apsw.Connection, row: Row, by: str) -> str:
    """Let a memory be live that has no replacement any more; the id of the one that says the same now."""
    same = memories.find_by_key(connection, row.workspace, row.key) if row.key else None
    if same:  # it was added once more in the meantime: a memory is kept once
        restore_row(connection, same, by)
        return same.uid
    connection.execute("UPDATE memory SET deleted_at = NULL, replaced_by = NULL WHERE id = ?", (row.id,))
    timeline.show(connection, row.id)
    record(connection, row.workspace, row.id, "restored", by)
    return row.uid


def restore_row(connection: apsw.Connection, row: Row, by: str) -> bool:
    """Bring a memory back; False if it was not deleted."""
    if row.deleted_at is None:
        return False
    connection.execute("UPDATE memory SET deleted_at = NULL WHERE id = ?", (row.id,))
    if row.replaced_by is None:
        timeline.show(connection, row.id)
    record(connection, row.workspace, row.id, "restored", by)
    return True


def replace(connection: apsw.Connection, uid: str, new: Row, by: str) -> Row | None:
    """Let a memory take the place of another, which must be live; the other one, or None if it had its place already."""
    old = memories.find(connection, new.workspace, uid)
    if old and old.replaced_by == new.uid:
        return None
    if old is None or not old.is_live:
        raise MemoryNotFoundError(
            "There is no such memory to replace in this workspace, or it was deleted or replaced before."
        )
    connection.execute("UPDATE memory SET replaced_by = ? WHERE id = ?", (new.uid, old.id))
    timeline.hide(connection, old.id)
    record(connection, new.workspace, old.id, "replaced", by)
    return old


def delete_replaced(connection: apsw.Connection, new: Row) -> None:
    """Count what a memory took the place of as deleted: it will not be searched again unless somebody restores it."""
    for number, _ in memories.replaced_by(connection, new):
        deleted = "UPDATE memory SET deleted_at = ? WHERE id = ? AND deleted_at IS NULL"
        connection.execute(deleted, (time.time_ns() // 1000, number))
        record(connection, new.workspace, number, "deleted")
