"""Memories as rows of the file: written once, read whole, sealed so that a change by anyone else is noticed."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import apsw

from zapomni_db.errors import InvalidInputError
from zapomni_db.filters import Filter
from zapomni_db.records import Memory, Order, Page, State
from zapomni_db.sqlite import values
from zapomni_db.sqlite.bodies import read_body
from zapomni_db.sqlite.chunks import ChunkRow
from zapomni_db.sqlite.chunks import read as read_chunks
from zapomni_db.sqlite.connections import one, rows
from zapomni_db.sqlite.facets import HOLDING, asked, facets_of


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
    seal: bytes = b""
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
    def facets(self) -> set[bytes]:
        """What it can be filtered by."""
        return facets_of(
            self.workspace,
            kind=self.kind,
            source=self.source,
            author=self.author,
            conversation=self.conversation,
            tags=values.from_json(self.tags),
            metadata=values.from_json(self.metadata),
        )

    def is_sealed(self, text: bytes, chunks: Sequence[ChunkRow]) -> bool:
        """Whether nothing was changed that never changes in a memory."""
        return self.seal == seal_of(self[: Row._fields.index("key")], self.key, text, chunks)


def seal_of(fixed: Sequence[Any], key: str | None, text: bytes, chunks: Sequence[ChunkRow]) -> bytes:
    """A digest of all that never changes in a memory; `fixed` are the columns of its row before `key`."""
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
_INSERT = f"INSERT INTO memory({_COLUMNS}, moment, thread) VALUES({', '.join('?' * (len(Row._fields) + 2))})"


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


def replaced_by(connection: apsw.Connection, row: Row) -> list[tuple[int, str]]:
    """The numbers and ids of the memories that a memory took the place of, hidden ones too."""
    return list(rows(connection, "SELECT id, uid FROM memory WHERE replaced_by = ? ORDER BY id", row.uid))


def everything(connection: apsw.Connection) -> Iterator[Row]:
    """All memories of all workspaces."""
    for row in rows(connection, _SELECT + "ORDER BY id"):
        yield Row(*row)


def insert(connection: apsw.Connection, new: Iterable[Row]) -> None:
    """Keep the rows of memories."""
    connection.executemany(_INSERT, [(*row, row.moment, values.thread_of(row.conversation)) for row in new])


def update(connection: apsw.Connection, old: Row, new: Row) -> None:
    """Write a row that has other metadata, sealed anew."""
    text, parts = read_body(connection, old.id), read_chunks(connection, old.chunk_numbers)
    sealed = seal_of(new[: Row._fields.index("key")], new.key, text, parts)
    connection.execute(
        "UPDATE memory SET metadata = ?, tags = ?, source = ?, seal = ? WHERE id = ?",
        (new.metadata, new.tags, new.source, sealed, old.id),
    )


def seal_again(connection: apsw.Connection, number: int) -> None:
    """Seal a memory whose chunks were analysed again."""
    row = Row(*one(connection, _SELECT + "WHERE id = ?", number))
    update(connection, row, row)


def drop(connection: apsw.Connection, row: Row) -> None:
    """Forget a memory's row."""
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
    conditions, bound = _conditions(workspace, wanted)
    if after:
        conditions.append(f"({', '.join(columns)}) {compared} ({', '.join('?' * len(columns))})")
        bound += _position(after, len(columns))
    ordered = ", ".join(f"{column} {direction}" for column in columns)
    conditions.append(_STATES[state])
    statement = f"{_SELECT} m {_INDEXED[order]} WHERE {' AND '.join(conditions)} ORDER BY {ordered} LIMIT ?"
    found = [Row(*row) for row in rows(connection, statement, *bound, limit + 1)]
    place = ".".join(str(getattr(found[limit - 1], column)) for column in columns) if len(found) > limit else ""
    return Page([_read(connection, row) for row in found[:limit]], place)


def _conditions(workspace: str, wanted: Filter) -> tuple[list[str], list[Any]]:
    """What a memory of a workspace must be to meet a filter, as conditions with the values for them."""
    bounds = {
        "moment >= ?": wanted.date_from,
        "moment <= ?": wanted.date_to,
        "created_at >= ?": wanted.created_from,
        "created_at <= ?": wanted.created_to,
    }
    dates = {condition: values.to_micros(moment) for condition, moment in bounds.items() if moment}
    groups = list(asked(workspace, wanted))
    conditions = ["workspace = ?", *dates, *[HOLDING] * len(groups)]
    return conditions, [workspace, *dates.values(), *map(apsw.carray, groups)]


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
        text=read_body(connection, row.id).decode(),
        metadata=values.from_json(row.metadata),
        tags=tuple(values.from_json(row.tags)),
        source=row.source,
        author=row.author,
        conversation=row.conversation,
        timestamp=values.from_micros_or_none(row.timestamp),
        created_at=values.from_micros(row.created_at),
        deleted_at=values.from_micros_or_none(row.deleted_at),
        replaces=tuple(uid for _, uid in replaced_by(connection, row)),
        replaced_by=row.replaced_by,
        chunks=row.chunks,
        role=one(connection, "SELECT role FROM message WHERE memory = ?", row.id) or "",
    )
