"""Conversations of the SQLite store, over the same file as its memories."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import apsw

from zapomni_db.arrays import Vector
from zapomni_db.filters import Filter
from zapomni_db.records import Added, DocumentRecord, MessageRecord, NewMemory, SessionRecord
from zapomni_db.sqlite.access import Access
from zapomni_db.sqlite.conversations import documents, messages, sessions
from zapomni_db.sqlite.conversations.documents import NewDocument
from zapomni_db.sqlite.conversations.messages import NewMessage
from zapomni_db.sqlite.conversations.nearness import Nearness
from zapomni_db.sqlite.joint import Joint
from zapomni_db.sqlite.values import check_text, to_micros

_MOST_ROWS = 2**62  # what SQLite can count to, and more than there are


class SQLiteConversations:
    """A ConversationStore. Nothing is opened before the first use."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._nearness = Nearness(access)

    async def create_session(self, workspace: str, user_id: str, metadata: Mapping[str, Any]) -> SessionRecord:
        check_text("workspace", workspace)
        return await self._access.write(lambda connection: sessions.create(connection, workspace, user_id, metadata))

    async def session(self, workspace: str, session_id: str) -> SessionRecord | None:
        return await self._access.query(lambda connection: sessions.find(connection, workspace, session_id))

    async def add_message(self, workspace: str, session_id: str, role: str, memory: NewMemory) -> Added:
        new = NewMessage(workspace, session_id, role, memory)
        return await self._access.write(Joint(messages.add_all, new))

    async def history(self, workspace: str, session_id: str, limit: int) -> list[MessageRecord]:
        most = min(limit, _MOST_ROWS)
        return await self._access.query(lambda connection: messages.history(connection, workspace, session_id, most))

    async def add_document(self, workspace: str, memory: NewMemory, vector: Vector | None = None) -> Added:
        return await self._access.write(Joint(documents.add_all, NewDocument(workspace, memory, vector)))

    async def nearest_documents(
        self, workspace: str, vector: Vector, limit: int, wanted: Filter
    ) -> list[tuple[DocumentRecord, float]]:
        check_text("workspace", workspace)
        return await self._access.read(
            lambda connection: self._nearness.search(connection, workspace, vector, limit, wanted)
        )

    async def documents(self, workspace: str, document_ids: Sequence[str]) -> list[DocumentRecord]:
        return await self._access.query(lambda connection: documents.find(connection, workspace, document_ids))

    async def documents_between(
        self, workspace: str, start: datetime, end: datetime, wanted: Filter, limit: int | None = None
    ) -> list[DocumentRecord]:
        check_text("workspace", workspace)
        first, last = to_micros(start), to_micros(end)
        most = None if limit is None else min(limit, _MOST_ROWS)
        return await self._access.query(
            lambda connection: documents.between(connection, workspace, first, last, wanted, limit=most)
        )

    async def health(self) -> Mapping[str, Any]:
        format_version = await self._access.query(lambda connection: connection.pragma("user_version"))
        return {
            "store": "sqlite",
            "sqlite_version": apsw.sqlite_lib_version(),
            "apsw_version": apsw.apsw_version(),
            "format_version": format_version,
        }
