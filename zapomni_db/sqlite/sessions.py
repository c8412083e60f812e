"""Sessions and their messages: memories that have a role and a place in a session."""

import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import uuid4

import apsw

from zapomni_db import values
from zapomni_db.arrays import Vector
from zapomni_db.errors import InvalidInputError
from zapomni_db.filters import Filter
from zapomni_db.records import Added, DocumentRecord, MessageRecord, NewMemory, SessionRecord
from zapomni_db.sqlite import documents, memories
from zapomni_db.sqlite.add import add_new
from zapomni_db.sqlite.connection import one, rows
from zapomni_db.sqlite.texts import WHOLE_MEMORY
from zapomni_db.sqlite.threads import Threads

_FIELDS = "uid, user_id, metadata, created_at, updated_at"
_LAST_MESSAGES = f"""
SELECT message.role, {WHOLE_MEMORY}
FROM message CROSS JOIN memory m ON m.id = message.memory
WHERE message.session = ? AND m.deleted_at IS NULL
ORDER BY message.memory DESC LIMIT ?
"""  # noqa: S608 - columns of ours
_MOST_ROWS = 2**62  # what SQLite can count to, and more than there are


class SQLiteSessions:
    """A SessionStore in the same file as the memories."""

    def __init__(self, threads: Threads) -> None:
        self._threads = threads

    async def create_session(self, workspace: str, user_id: str, metadata: Mapping[str, Any]) -> SessionRecord:
        values.check_text("workspace", workspace)
        return await self._threads.write(lambda connection: _create(connection, workspace, user_id, metadata))

    async def put_session(self, workspace: str, session: SessionRecord) -> bool:
        values.check_text("workspace", workspace)
        return await self._threads.write(lambda connection: _put(connection, workspace, session))

    async def list_sessions(self, workspace: str, after: str = "", limit: int = 100) -> list[SessionRecord]:
        values.check_text("workspace", workspace)
        return await self._threads.query(lambda connection: _list(connection, workspace, after, min(limit, _MOST_ROWS)))

    async def session(self, workspace: str, session_id: str) -> SessionRecord | None:
        return await self._threads.query(lambda connection: _find(connection, workspace, session_id))

    async def add_message(self, workspace: str, session_id: str, role: str, memory: NewMemory) -> Added:
        return await self._threads.write(
            lambda connection: _add_message(connection, workspace, session_id, role, memory)
        )

    async def history(self, workspace: str, session_id: str, limit: int) -> list[MessageRecord]:
        most = min(limit, _MOST_ROWS)
        return await self._threads.query(lambda connection: _history(connection, workspace, session_id, most))

    async def add_document(self, workspace: str, memory: NewMemory, vector: Vector | None = None) -> Added:
        return await self._threads.write(lambda connection: documents.add(connection, workspace, memory, vector))

    async def nearest_documents(
        self, workspace: str, vector: Vector, limit: int, wanted: Filter
    ) -> list[tuple[DocumentRecord, float]]:
        values.check_text("workspace", workspace)
        return await self._threads.query(
            lambda connection: documents.nearest(connection, workspace, vector, limit, wanted)
        )

    async def documents(self, workspace: str, document_ids: Sequence[str]) -> list[DocumentRecord]:
        return await self._threads.query(lambda connection: documents.find(connection, workspace, document_ids))

    async def documents_between(
        self, workspace: str, start: datetime, end: datetime, wanted: Filter, limit: int | None = None
    ) -> list[DocumentRecord]:
        values.check_text("workspace", workspace)
        first, last = values.to_micros(start), values.to_micros(end)
        most = None if limit is None else min(limit, _MOST_ROWS)
        return await self._threads.query(
            lambda connection: documents.between(connection, workspace, first, last, wanted, limit=most)
        )

    async def health(self) -> Mapping[str, Any]:
        format_version = await self._threads.query(lambda connection: connection.pragma("user_version"))
        return {
            "store": "sqlite",
            "sqlite_version": apsw.sqlite_lib_version(),
            "apsw_version": apsw.apsw_version(),
            "format_version": format_version,
        }


class Row(NamedTuple):
    """A session as it stands in the file."""

    uid: str
    user_id: str
    metadata: str
    created_at: int
    updated_at: int

    def record(self) -> SessionRecord:
        """The session as the store returns it."""
        return SessionRecord(
            id=self.uid,
            user_id=self.user_id,
            metadata=values.from_json(self.metadata),
            created_at=values.from_micros(self.created_at),
            updated_at=values.from_micros(self.updated_at),
        )


def _create(connection: apsw.Connection, workspace: str, user_id: str, metadata: Mapping[str, Any]) -> SessionRecord:
    now = time.time_ns() // 1000
    user_id, given = values.check_text("user_id", user_id), values.to_json("metadata", dict(metadata))
    row = Row(str(uuid4()), user_id, given, now, now)
    _insert(connection, workspace, row)
    return row.record()


def _put(connection: apsw.Connection, workspace: str, session: SessionRecord) -> bool:
    """Keep a session as it was elsewhere; False where there is one of this id. Inside a transaction."""
    row = Row(
        values.check_text("session_id", session.id),
        values.check_text("user_id", session.user_id),
        values.to_json("metadata", dict(session.metadata)),
        values.checked_micros("created_at", session.created_at),
        values.checked_micros("updated_at", session.updated_at),
    )
    if _find(connection, workspace, session.id):
        return False
    _insert(connection, workspace, row)
    return True


def _list(connection: apsw.Connection, workspace: str, after: str, limit: int) -> list[SessionRecord]:
    """Sessions in the order of their numbers, after one of them."""
    number = one(connection, "SELECT id FROM session WHERE workspace = ? AND uid = ?", workspace, after) if after else 0
    if number is None:
        raise InvalidInputError("after must be the id of the last session of the page before")
    statement = f"SELECT {_FIELDS} FROM session WHERE workspace = ? AND id > ? ORDER BY id LIMIT ?"  # noqa: S608 - ours
    return [Row(*row).record() for row in rows(connection, statement, workspace, number, limit)]


def _find(connection: apsw.Connection, workspace: str, uid: str) -> SessionRecord | None:
    if not (values.is_text(workspace) and values.is_text(uid)):
        return None
    row = one(connection, f"SELECT {_FIELDS} FROM session WHERE workspace = ? AND uid = ?", workspace, uid)  # noqa: S608 - ours
    return Row(*row).record() if row else None


def _add_message(connection: apsw.Connection, workspace: str, session_id: str, role: str, memory: NewMemory) -> Added:
    """Add the next message of a session; inside a transaction, which settles the order."""
    values.check_text("workspace", workspace)
    values.check_text("session_id", session_id)
    values.check_text("role", role)
    session, moment = _next_turn(connection, workspace, session_id, time.time_ns() // 1000)
    number, added = add_new(connection, workspace, memory, kind="message", conversation=session_id, created_at=moment)
    connection.execute("INSERT INTO message VALUES(?, ?, ?)", (number, session, role))
    return added


def append(connection: apsw.Connection, memory: memories.Row, role: str) -> None:
    """Make a memory the next message of the session that its conversation names, created if need be."""
    session, _ = _next_turn(connection, memory.workspace, memory.conversation, memory.created_at)
    connection.execute("INSERT INTO message VALUES(?, ?, ?)", (memory.id, session, values.check_text("role", role)))


def _next_turn(connection: apsw.Connection, workspace: str, uid: str, now: int) -> tuple[int, int]:
    """The number of a session, created if need be, and the moment of its next message, which never goes back."""
    found = one(connection, "SELECT id, updated_at FROM session WHERE workspace = ? AND uid = ?", workspace, uid)
    if found is None:
        return _insert(connection, workspace, Row(uid, "", "{}", now, now)), now
    number, moment = found[0], max(found[1], now)
    connection.execute("UPDATE session SET updated_at = ? WHERE id = ?", (moment, number))
    return number, moment


def _insert(connection: apsw.Connection, workspace: str, row: Row) -> int:
    connection.execute(f"INSERT INTO session(workspace, {_FIELDS}) VALUES(?, ?, ?, ?, ?, ?)", (workspace, *row))
    return int(connection.last_insert_rowid())


def _history(connection: apsw.Connection, workspace: str, session_id: str, limit: int) -> list[MessageRecord]:
    """The last messages of a session that are not deleted, oldest first."""
    if not (values.is_text(workspace) and values.is_text(session_id)):
        return []
    session = one(connection, "SELECT id FROM session WHERE workspace = ? AND uid = ?", workspace, session_id)
    found = [
        MessageRecord(
            id=uid,
            session_id=session_id,
            role=role,
            text=text.decode(),
            metadata=values.from_json(metadata),
            created_at=values.from_micros(created_at),
        )
        for role, uid, metadata, created_at, text in rows(connection, _LAST_MESSAGES, session, limit)
    ]
    return found[::-1]
