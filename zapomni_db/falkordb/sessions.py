"""Sessions, their messages, and documents: memories with a role and a place in a session, or a vector of the caller's own."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import partial
from typing import Any
from uuid import uuid4

from zapomni_db import values
from zapomni_db.arrays import Vector
from zapomni_db.errors import InvalidInputError
from zapomni_db.falkordb import documents, schema
from zapomni_db.falkordb.add import add_new
from zapomni_db.falkordb.client import FalkorDBClient
from zapomni_db.falkordb.cypher import limited, name_of
from zapomni_db.falkordb.transaction import Transaction, Transactions, workspace_id
from zapomni_db.filters import Filter
from zapomni_db.records import Added, DocumentRecord, MessageRecord, NewMemory, SessionRecord

_FIELDS = ("id", "user_id", "metadata", "created_at", "updated_at")
_SESSION = ", ".join(f"s.{name} AS {name}" for name in _FIELDS)
_FIND = f"MATCH (s:Session {{uid: $uid}}) RETURN {_SESSION}"
_KEEP = "MERGE (s:Session {uid: r.uid}) SET s += r.set"
_NUMBER = "MATCH (s:Session {uid: $uid}) RETURN s.number"
_LIST = f"""
MATCH (s:Session {{ws: $ws}}) WHERE s.number > $after WITH s ORDER BY s.number LIMIT $limit
RETURN {_SESSION}, s.number AS number ORDER BY number
"""
_LAST_MESSAGES = """
MATCH (m:Memory {talk: $talk}) WHERE m.kind = 'message' AND m.deleted_at IS NULL WITH m ORDER BY m.seq DESC LIMIT $limit
RETURN m.id, m.role, m.text, m.metadata, m.created_at, m.seq AS seq ORDER BY seq
"""


@dataclass(slots=True)
class Row:
    """A session as its node keeps it."""

    id: str
    user_id: str
    metadata: str
    created_at: int
    updated_at: int

    def record(self) -> SessionRecord:
        """The session as the store returns it."""
        return SessionRecord(
            id=self.id,
            user_id=self.user_id,
            metadata=values.from_json(self.metadata),
            created_at=values.from_micros(self.created_at),
            updated_at=values.from_micros(self.updated_at),
        )


async def next_turn(tx: Transaction, session_id: str, moment: int) -> int:
    """The moment of the next message of a session, created if need be: it never goes back."""
    values.check_text("session_id", session_id)
    row = await _find(tx, session_id)
    if row is None:
        _keep(tx, Row(session_id, "", "{}", moment, moment))
        return moment
    row.updated_at = max(row.updated_at, moment)
    tx.write(_KEEP, {"uid": _uid(tx.name, session_id), "set": {"updated_at": row.updated_at}})
    return row.updated_at


async def _find(tx: Transaction, session_id: str) -> Row | None:
    """A session, as this transaction has left it."""
    known: dict[str, Row] = tx.state.setdefault("sessions", {})
    if session_id not in known:
        found = await tx.read(_FIND, uid=_uid(tx.name, session_id))
        if not found:
            return None
        known[session_id] = Row(*found[0])
    return known[session_id]


def _keep(tx: Transaction, row: Row) -> None:
    tx.state.setdefault("sessions", {})[row.id] = row
    tx.workspace.session_seq += 1
    kept = {**asdict(row), "ws": tx.ws, "number": tx.workspace.session_seq}
    tx.write(_KEEP, {"uid": _uid(tx.name, row.id), "set": kept})


def _uid(workspace: str, session_id: str) -> str:
    return name_of("session", workspace, session_id)


async def _create(tx: Transaction, user_id: str, metadata: str) -> SessionRecord:
    row = Row(str(uuid4()), user_id, metadata, tx.now, tx.now)
    _keep(tx, row)
    return row.record()


async def _put(tx: Transaction, row: Row) -> bool:
    if await _find(tx, row.id):
        return False
    _keep(tx, row)
    return True


async def _add_message(tx: Transaction, session_id: str, role: str, memory: NewMemory) -> Added:
    moment = await next_turn(tx, session_id, tx.now)
    return await add_new(tx, memory, kind="message", conversation=session_id, created_at=moment, role=role)


class FalkorDBSessions:
    """A SessionStore in the same graph as the memories."""

    def __init__(self, client: FalkorDBClient, transactions: Transactions) -> None:
        self._client = client
        self._transactions = transactions

    async def create_session(self, workspace: str, user_id: str, metadata: Mapping[str, Any]) -> SessionRecord:
        user_id, given = values.check_text("user_id", user_id), values.to_json("metadata", dict(metadata))
        return await self._transactions.run(workspace, partial(_create, user_id=user_id, metadata=given))

    async def put_session(self, workspace: str, session: SessionRecord) -> bool:
        row = Row(
            values.check_text("session_id", session.id),
            values.check_text("user_id", session.user_id),
            values.to_json("metadata", dict(session.metadata)),
            values.checked_micros("created_at", session.created_at),
            values.checked_micros("updated_at", session.updated_at),
        )
        return await self._transactions.run(workspace, partial(_put, row=row))

    async def session(self, workspace: str, session_id: str) -> SessionRecord | None:
        if not (values.is_text(workspace) and values.is_text(session_id)):
            return None
        found = await self._client.read(_FIND, {"uid": _uid(workspace, session_id)})
        return Row(*found[0]).record() if found else None

    async def list_sessions(self, workspace: str, after: str = "", limit: int = 100) -> list[SessionRecord]:
        values.check_text("workspace", workspace)
        number = await self._client.read(_NUMBER, {"uid": _uid(workspace, after)}) if after else [[0]]
        if not number:
            raise InvalidInputError("after must be the id of the last session of the page before")
        asked = {"ws": workspace_id(workspace), "after": number[0][0], "limit": limited(limit)}
        return [Row(*row[: len(_FIELDS)]).record() for row in await self._client.read(_LIST, asked)]

    async def add_message(self, workspace: str, session_id: str, role: str, memory: NewMemory) -> Added:
        values.check_text("role", role)
        work = partial(_add_message, session_id=session_id, role=role, memory=memory)
        return await self._transactions.run(workspace, work)

    async def history(self, workspace: str, session_id: str, limit: int) -> list[MessageRecord]:
        if not (values.is_text(workspace) and values.is_text(session_id)):
            return []
        asked = {"talk": name_of("talk", workspace, session_id), "limit": limited(limit)}
        return [
            MessageRecord(
                id=memory_id,
                session_id=session_id,
                role=role,
                text=text,
                metadata=values.from_json(metadata),
                created_at=values.from_micros(created_at),
            )
            for memory_id, role, text, metadata, created_at, _ in await self._client.read(_LAST_MESSAGES, asked)
        ]

    async def add_document(self, workspace: str, memory: NewMemory, vector: Vector | None = None) -> Added:
        return await self._transactions.run(workspace, partial(documents.add, memory=memory, vector=vector))

    async def nearest_documents(
        self, workspace: str, vector: Vector, limit: int, wanted: Filter
    ) -> list[tuple[DocumentRecord, float]]:
        values.check_text("workspace", workspace)
        return await documents.nearest(self._client, workspace, vector, limit, wanted)

    async def documents(self, workspace: str, document_ids: Sequence[str]) -> list[DocumentRecord]:
        return await documents.find(self._client, workspace, document_ids)

    async def documents_between(
        self, workspace: str, start: datetime, end: datetime, wanted: Filter, limit: int | None = None
    ) -> list[DocumentRecord]:
        values.check_text("workspace", workspace)
        first, last = values.to_micros(start), values.to_micros(end)
        return await documents.between(self._client, workspace, first, last, wanted, limit=limit)

    async def health(self) -> Mapping[str, Any]:
        await self._client.prepare()
        about = await self._client.info()
        return {
            "store": "falkordb",
            "falkordb_version": about.falkordb_version,
            "redis_version": about.redis_version,
            "format_version": schema.VERSION,
        }
