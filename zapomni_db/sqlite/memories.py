"""Memories as rows of the file: found, listed, deleted, restored, replaced, and the history of each."""

import re
import time
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import apsw

from zapomni_db import filter_entries, values
from zapomni_db.errors import InvalidInputError, MemoryNotFoundError
from zapomni_db.filters import Filter
from zapomni_db.records import Change, Event, Memory, Order, Page, State
from zapomni_db.sqlite import filter_index, texts
from zapomni_db.sqlite.connection import one, rows
from zapomni_db.sqlite.graph import timeline


class Row(NamedTuple):
    """A memory as it stands in the file, without its text."""

    uid: str
    workspace: str
    kind: str
    source: str
    author: str
    conversation: str
    tags: str
    metadata: str
    timestamp: int | None
    created_at: int
    id: int
    first_chunk: int
    chunks: int
    key: str | None
    digest: bytes = b""
    deleted_at: int | None = None
    replaced_by: str | None = None

    @property
    def is_live(self) -> bool:
        """Whether it is searched."""
        return self.deleted_at is None and self.replaced_by is None

    @property
    def moment(self) -> int:
        """When it was true, as far as is known."""
        return self.created_at if self.timestamp is None else self.timestamp

    @property
    def chunk_numbers(self) -> range:
        """The numbers of its chunks."""
        return range(self.first_chunk, self.first_chunk + self.chunks)

    @property
    def filter_entries(self) -> set[bytes]:
        """The entries of the filter index for it."""
        return filter_entries.entries_of(
            self.workspace,
            kind=self.kind,
            source=self.source,
            author=self.author,
            conversation=self.conversation,
            tags=values.from_json(self.tags),
            metadata=values.from_json(self.metadata),
        )

    def is_intact(self, text: bytes, chunks: Sequence[texts.ChunkRow]) -> bool:
        """Whether its unchangeable parts are as they were written."""
        return self.digest == digest_of(self[: Row._fields.index("key")], self.key, text, chunks)


def digest_of(fixed: Sequence[Any], key: str | None, text: bytes, chunks: Sequence[texts.ChunkRow]) -> bytes:
    """A digest of the parts that never change; `fixed` are the columns of its row before `key`."""
    return values.digest(values.to_json("memory", [fixed, chunks]).encode(), (key or "").encode(), text)


_COLUMNS = ", ".join(Row._fields)
_SELECT = f"SELECT {_COLUMNS} FROM memory "  # noqa: S608 - columns of ours
_NUMBER = re.compile(r"-?[0-9]{1,18}")
_STATES: dict[State, str] = {
    "live": "deleted_at IS NULL AND replaced_by IS NULL",
    "deleted": "deleted_at IS NOT NULL",
    "replaced": "deleted_at IS NULL AND replaced_by IS NOT NULL",
    "all": "TRUE",
}
_INDEXED: dict[Order, str] = {
    "newest": "INDEXED BY memory_moment",
    "oldest": "INDEXED BY memory_moment",
    "inserted": "NOT INDEXED",
}
_INSERT = (
    f"INSERT INTO memory({_COLUMNS}, moment, conversation_number) VALUES({', '.join('?' * (len(Row._fields) + 2))})"
)


def find(connection: apsw.Connection, workspace: str, uid: str) -> Row | None:
    """A memory by its id."""
    if not (values.is_text(workspace) and values.is_text(uid)):
        return None
    row = one(connection, _SELECT + "WHERE uid = ? AND workspace = ?", uid, workspace)
    return Row(*row) if row else None


def find_by_key(connection: apsw.Connection, workspace: str, key: str) -> Row | None:
    """The memory of a key that nothing replaced, deleted or not."""
    if not (values.is_text(workspace) and values.is_text(key)):
        return None
    row = one(connection, _SELECT + "WHERE workspace = ? AND key = ? AND replaced_by IS NULL", workspace, key)
    return Row(*row) if row else None


def replaced_rows(connection: apsw.Connection, row: Row) -> list[tuple[int, str]]:
    """The numbers and ids of the memories that a memory took the place of, hidden ones too."""
    statement = "SELECT id, uid FROM memory WHERE replaced_by = ? AND workspace = ? ORDER BY id"
    return list(rows(connection, statement, row.uid, row.workspace))


def everything(connection: apsw.Connection) -> Iterator[Row]:
    """All memories of all workspaces."""
    for row in rows(connection, _SELECT + "ORDER BY id"):
        yield Row(*row)


def insert(connection: apsw.Connection, row: Row) -> None:
    """Write the row of a new memory."""
    connection.execute(_INSERT, (*row, row.moment, values.conversation_number(row.conversation)))


def update(connection: apsw.Connection, old: Row, new: Row) -> None:
    """Write a row whose metadata changed, with a new digest."""
    text, parts = texts.read(connection, old.id), texts.read_chunks(connection, old.chunk_numbers)
    digest = digest_of(new[: Row._fields.index("key")], new.key, text, parts)
    connection.execute(
        "UPDATE memory SET metadata = ?, tags = ?, source = ?, digest = ? WHERE id = ?",
        (new.metadata, new.tags, new.source, digest, old.id),
    )


def update_digest(connection: apsw.Connection, number: int) -> None:
    """Write the digest of a memory whose chunks were analysed again."""
    row = Row(*one(connection, _SELECT + "WHERE id = ?", number))
    update(connection, row, row)


def delete(connection: apsw.Connection, row: Row) -> None:
    """Remove a memory's row for good."""
    connection.execute("DELETE FROM memory WHERE id = ?", (row.id,))


def next_numbers(connection: apsw.Connection) -> tuple[int, int]:
    """The numbers of the next memory and the next chunk; those of purged ones are not given again."""
    last = dict(rows(connection, "SELECT name, seq FROM sqlite_sequence WHERE name IN ('memory', 'chunk')"))
    return last.get("memory", 0) + 1, last.get("chunk", 0) + 1


def get(connection: apsw.Connection, workspace: str, uid: str = "", key: str = "") -> Memory | None:
    """A memory with its text, hidden or not."""
    row = find_by_key(connection, workspace, key) if key else find(connection, workspace, uid)
    return _read(connection, row) if row else None


def list_page(
    connection: apsw.Connection,
    workspace: str,
    wanted: Filter,
    *,
    state: State,
    order: Order,
    after: str,
    limit: int,
) -> Page:
    """Memories in an order, from where the page before ended."""
    columns = ("id",) if order == "inserted" else ("moment", "id")
    compared, direction = ("<", "DESC") if order == "newest" else (">", "ASC")
    which, bound = conditions(workspace, wanted)
    if after:
        which.append(f"({', '.join(columns)}) {compared} ({', '.join('?' * len(columns))})")
        bound += _position(after, len(columns))
    ordered = ", ".join(f"{column} {direction}" for column in columns)
    which.append(_STATES[state])
    statement = f"{_SELECT} m {_INDEXED[order]} WHERE {' AND '.join(which)} ORDER BY {ordered} LIMIT ?"
    found = [Row(*row) for row in rows(connection, statement, *bound, limit + 1)]
    place = ".".join(str(getattr(found[limit - 1], column)) for column in columns) if len(found) > limit else ""
    return Page([_read(connection, row) for row in found[:limit]], place)


def conditions(workspace: str, wanted: Filter) -> tuple[list[str], list[Any]]:
    """SQL conditions on the memory m that a workspace and a filter stand for, and the values to bind."""
    bounds = {
        "moment >= ?": wanted.date_from,
        "moment <= ?": wanted.date_to,
        "created_at >= ?": wanted.created_from,
        "created_at <= ?": wanted.created_to,
    }
    dates = {condition: values.to_micros(moment) for condition, moment in bounds.items() if moment}
    groups = list(filter_entries.groups_of(workspace, wanted))
    return ["workspace = ?", *dates, *[filter_index.HOLDING] * len(groups)], [
        workspace,
        *dates.values(),
        *map(apsw.carray, groups),
    ]


def _position(after: str, parts: int) -> list[int]:
    numbers = after.split(".")
    if len(numbers) != parts or not all(_NUMBER.fullmatch(number) for number in numbers):
        raise InvalidInputError("after must be what the page before said")
    return list(map(int, numbers))


def _read(connection: apsw.Connection, row: Row) -> Memory:
    return Memory(
        id=row.uid,
        workspace=row.workspace,
        kind=row.kind,
        text=texts.read(connection, row.id).decode(),
        metadata=values.from_json(row.metadata),
        tags=tuple(values.from_json(row.tags)),
        source=row.source,
        author=row.author,
        conversation=row.conversation,
        timestamp=values.from_micros_or_none(row.timestamp),
        created_at=values.from_micros(row.created_at),
        deleted_at=values.from_micros_or_none(row.deleted_at),
        replaces=tuple(uid for _, uid in replaced_rows(connection, row)),
        replaced_by=row.replaced_by,
        chunks=row.chunks,
        role=role_of(connection, row.id),
        key=row.key or "",
    )


def role_of(connection: apsw.Connection, number: int) -> str:
    """The speaker of a message; empty for other memories."""
    return one(connection, "SELECT role FROM message WHERE memory = ?", number) or ""


_What = Literal["added", "changed", "deleted", "restored", "replaced", "purged", "read", "embedded", "analysed"]


_LOG = "INSERT INTO change(workspace, memory, state, at, client) VALUES(?, ?, ?, ?, ?)"


def record_change(connection: apsw.Connection, workspace: str, memory: int, state: _What, by: str = "") -> None:
    """Log a change of a memory. By this log every process keeps its view of a workspace up to date."""
    connection.execute(_LOG, (workspace, memory, state, time.time_ns() // 1000, by))


def record_event(connection: apsw.Connection, workspace: str, memory: int, event: Event) -> None:
    """Log what happened to a memory at another moment."""
    moment, by = values.checked_micros("events", event.at), values.check_text("by", event.by)
    connection.execute(_LOG, (workspace, memory, event.what, moment, by))


def history(connection: apsw.Connection, memory: int) -> list[Event]:
    """The events of a memory that a user may ask about, in order."""
    statement = (
        "SELECT at, state, client FROM change WHERE memory = ?"
        " AND state IN ('added', 'changed', 'deleted', 'restored', 'replaced') ORDER BY seq"
    )
    return [Event(values.from_micros(at), state, by) for at, state, by in rows(connection, statement, memory)]


def record_reload(connection: apsw.Connection, workspace: str) -> None:
    """Make every process reload its view of a workspace, because the codes changed."""
    connection.execute(
        "INSERT INTO change(workspace, memory, state, at, client) VALUES(?, 0, 'reload', 0, '')", (workspace,)
    )


def changed_since(connection: apsw.Connection, workspace: str, seq: int) -> set[int] | None:
    """The memories of a workspace that changed after a log entry; None if all must be read again."""
    statement = "SELECT memory FROM change WHERE seq > ? AND workspace = ? AND state != 'read'"
    found = rows(connection, statement, seq, workspace)
    memories = {memory for (memory,) in found}
    return None if 0 in memories else memories


def change(connection: apsw.Connection, workspace: str, uid: str, wanted: Change, by: str) -> Memory | None:
    """Apply a change to a memory; None where it does not apply. Inside a transaction."""
    row = find(connection, workspace, uid)
    if row is None:
        return None
    values.check_text("by", by)
    if wanted.metadata is not None and not _set_metadata(connection, row, wanted, by):
        return None
    if wanted.deleted is True:
        return get(connection, workspace, uid) if _delete(connection, row, by) else None
    if wanted.deleted is False:
        return _restore(connection, row, by)
    return get(connection, workspace, uid)


def _set_metadata(connection: apsw.Connection, row: Row, wanted: Change, by: str) -> bool:
    """Write new metadata; False where the metadata are no longer those that the change expects."""
    if wanted.instead_of is not None and values.from_json(row.metadata) != dict(wanted.instead_of):
        return False
    new = row._replace(
        metadata=values.to_json("metadata", dict(wanted.metadata or {})),
        tags=values.to_json("tags", wanted.tags),
        source=values.check_text("source", wanted.source),
    )
    update(connection, row, new)
    filter_index.delete(connection, row.id, row.filter_entries - new.filter_entries)
    filter_index.insert(connection, row.id, new.filter_entries - row.filter_entries)
    record_change(connection, row.workspace, row.id, "changed", by)
    return True


def _delete(connection: apsw.Connection, row: Row, by: str) -> bool:
    """Hide a memory; False if it is deleted."""
    if row.deleted_at is not None:
        return False
    connection.execute("UPDATE memory SET deleted_at = ? WHERE id = ?", (time.time_ns() // 1000, row.id))
    if row.is_live:
        timeline.hide(connection, row.id)
    record_change(connection, row.workspace, row.id, "deleted", by)
    return True


def _restore(connection: apsw.Connection, row: Row, by: str) -> Memory | None:
    """Bring a deleted memory back, or one whose replacement was deleted."""
    if row.replaced_by is not None and not _is_kept(connection, row.workspace, row.replaced_by):
        return get(connection, row.workspace, _reinstate(connection, row, by))
    return get(connection, row.workspace, row.uid) if restore_row(connection, row, by) else None


def _is_kept(connection: apsw.Connection, workspace: str, uid: str) -> bool:
    row = find(connection, workspace, uid)
    return row is not None and row.deleted_at is None


def _reinstate(connection: apsw.Connection, row: Row, by: str) -> str:
    """Let a memory be live that has no replacement any more; the id of the one that says the same now."""
    same = find_by_key(connection, row.workspace, row.key) if row.key else None
    if same:  # it was added again in the meantime, and equal memories are kept once
        restore_row(connection, same, by)
        return same.uid
    connection.execute("UPDATE memory SET deleted_at = NULL, replaced_by = NULL WHERE id = ?", (row.id,))
    timeline.show(connection, row.id)
    record_change(connection, row.workspace, row.id, "restored", by)
    return row.uid


def restore_row(connection: apsw.Connection, row: Row, by: str) -> bool:
    """Bring a memory back; False if it was not deleted."""
    if row.deleted_at is None:
        return False
    connection.execute("UPDATE memory SET deleted_at = NULL WHERE id = ?", (row.id,))
    if row.replaced_by is None:
        timeline.show(connection, row.id)
    record_change(connection, row.workspace, row.id, "restored", by)
    return True


def replace(connection: apsw.Connection, uid: str, new: Row, by: str) -> Row | None:
    """Let a memory take the place of another, which must be live; the other one, or None if it had its place already."""
    old = find(connection, new.workspace, uid)
    if old and old.replaced_by == new.uid:
        return None
    if old is None or not old.is_live:
        raise MemoryNotFoundError("The memory to replace is not in this workspace, or was deleted or replaced before.")
    connection.execute("UPDATE memory SET replaced_by = ? WHERE id = ?", (new.uid, old.id))
    timeline.hide(connection, old.id)
    record_change(connection, new.workspace, old.id, "replaced", by)
    return old


def redirect(connection: apsw.Connection, workspace: str, uid: str, new: str) -> None:
    """Let the memories that one memory replaced be replaced by another one that is equal to it."""
    connection.execute(
        "UPDATE memory SET replaced_by = ? WHERE replaced_by = ? AND workspace = ?", (new, uid, workspace)
    )


def delete_replaced(connection: apsw.Connection, new: Row) -> None:
    """Mark the memories that a memory replaced as deleted, so that purging their replacement does not bring them back."""
    for number, _ in replaced_rows(connection, new):
        deleted = "UPDATE memory SET deleted_at = ? WHERE id = ? AND deleted_at IS NULL"
        connection.execute(deleted, (time.time_ns() // 1000, number))
        record_change(connection, new.workspace, number, "deleted")
