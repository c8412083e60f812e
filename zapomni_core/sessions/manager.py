"""MemoryManager: sessions, messages and documents in one memory, for programs that build agents."""

import time
from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

from zapomni_core.memory.add import add_text
from zapomni_core.memory.content import clean_metadata
from zapomni_core.memory.engine import MemoryEngine
from zapomni_core.sessions import arguments
from zapomni_core.sessions.models import EMBEDDING_DIMENSION, Document, Message, document_of

if TYPE_CHECKING:
    from zapomni_db.records import DocumentRecord, MessageRecord
    from zapomni_db.store import SessionStore


class MemoryManager:
    """Sessions and documents of one workspace, in the same memory that `search_memory` searches.

    Without an engine it makes one with the user's settings. Every method raises ValueError if an argument breaks a rule, and
    DatabaseError if the store fails; what was stored is durable when a method returns.
    """

    def __init__(self, engine: MemoryEngine | None = None, *, embedding_dimension: int = EMBEDDING_DIMENSION) -> None:
        self._engine = engine or MemoryEngine()
        self._is_owner = engine is None
        self._dimension = arguments.count_of("embedding_dimension", embedding_dimension)

    async def create_session(self, user_id: str, metadata: Mapping[str, Any] | None = None) -> UUID:
        """A new session. A session is made by its first message too; this one knows its user and has metadata."""
        with self._engine.telemetry.span("memory.create_session") as span:
            user_id, metadata = arguments.user_id_of(user_id), clean_metadata(metadata)
            span.set(user_id=user_id, metadata_keys=list(metadata))
            session = await (await self._sessions()).create_session(self._engine.workspace, user_id, metadata)
            return UUID(session.id)

    async def store_message(
        self, session_id: UUID, role: str, content: str, metadata: Mapping[str, Any] | None = None
    ) -> UUID:
        """Store the next message of a session, as 'user', 'assistant' or 'system'; its id.

        Messages have one order, whichever process stores them. Equal messages are two messages.
        """
        with self._engine.telemetry.span("memory.store_message") as span:
            session, role = arguments.session_id_of(session_id), arguments.role_of(role)
            content, kept = arguments.content_of(content), clean_metadata(metadata)
            span.set(session_id=session, role=role, content_length=len(content))
            span.set(has_metadata=bool(kept), metadata_keys=list(kept))
            sessions, workspace = await self._sessions(), self._engine.workspace
            write = partial(sessions.add_message, workspace, session, role)
            stored = await add_text(self._engine, content, kept, write, kind="message")
            return UUID(stored.added.memory_id)

    async def get_conversation_history(self, session_id: UUID, limit: int = 100) -> list[Message]:
        """The last `limit` messages of a session, oldest first; empty if there is no such session."""
        with self._engine.telemetry.span("memory.get_conversation_history") as span:
            session, limit = arguments.session_id_of(session_id), arguments.count_of("limit", limit)
            span.set(session_id=session, limit=limit)
            found = await (await self._sessions()).history(self._engine.workspace, session, limit)
            span.set(result_count=len(found))
            parent = UUID(session)
            return [_message(one, parent) for one in found]

    async def store_document(
        self, content: str, metadata: Mapping[str, Any] | None = None, embedding: list[float] | None = None
    ) -> UUID:
        """Store a document; its id. With an embedding of yours, `semantic_search` finds it too."""
        with self._engine.telemetry.span("memory.store_document") as span:
            content, kept = arguments.content_of(content), clean_metadata(metadata)
            vector = None if embedding is None else arguments.embedding_of("embedding", embedding, self._dimension)
            span.set(content_length=len(content), has_embedding=vector is not None, metadata_keys=list(kept))
            sessions, workspace = await self._sessions(), self._engine.workspace
            write = partial(sessions.add_document, workspace, vector=vector)
            stored = await add_text(self._engine, content, kept, write, kind="document")
            return UUID(stored.added.memory_id)

    async def semantic_search(
        self, query_embedding: list[float], top_k: int = 10, metadata_filters: Mapping[str, Any] | None = None
    ) -> list[Document]:
        """The documents whose own embeddings are nearest by cosine, nearest first. Filters apply before the cut."""
        return [document for document, _ in await self.nearest_documents(query_embedding, top_k, metadata_filters)]

    async def nearest_documents(
        self, query_embedding: list[float], top_k: int = 10, metadata_filters: Mapping[str, Any] | None = None
    ) -> list[tuple[Document, float]]:
        """The documents that `semantic_search` finds, each with its cosine."""
        with self._engine.telemetry.span("memory.semantic_search") as span:
            vector = arguments.embedding_of("query_embedding", query_embedding, self._dimension)
            top_k, wanted = arguments.count_of("top_k", top_k), arguments.filter_of(metadata_filters)
            span.set(top_k=top_k, filter_count=len(metadata_filters or ()))
            started = time.perf_counter()
            found = await (await self._sessions()).nearest_documents(self._engine.workspace, vector, top_k, wanted)
            span.set(result_count=len(found), query_time_ms=round((time.perf_counter() - started) * 1000, 3))
            return [(self._document(one), cosine) for one, cosine in found]

    async def temporal_query(
        self,
        start_date: datetime,
        end_date: datetime,
        metadata_filters: Mapping[str, Any] | None = None,
        *,
        limit: int | None = None,
    ) -> list[Document]:
        """The documents that were created from one moment to another, both included, newest first.

        A moment without a zone is UTC. All of them come, or the newest `limit`.
        """
        with self._engine.telemetry.span("memory.temporal_query") as span:
            start, end = arguments.range_of(start_date, end_date)
            wanted = arguments.filter_of(metadata_filters)
            most = None if limit is None else arguments.count_of("limit", limit)
            span.set(start_date=start.isoformat(), end_date=end.isoformat(), filter_count=len(metadata_filters or ()))
            found = await (await self._sessions()).documents_between(self._engine.workspace, start, end, wanted, most)
            span.set(result_count=len(found))
            return [self._document(one) for one in found]

    async def health_check(self) -> dict[str, Any]:
        """Whether the store answers, its name and the versions of its software."""
        with self._engine.telemetry.span("memory.health_check") as span:
            health = {"status": "healthy", **await (await self._sessions()).health()}
            span.set(**health)
            return health

    async def close(self) -> None:
        """Close the engine, unless it was given. Calling it twice is harmless."""
        if self._is_owner:
            await self._engine.close()

    async def _sessions(self) -> "SessionStore":
        await self._engine.open()
        return self._engine.sessions

    def _document(self, found: "DocumentRecord") -> Document:
        """A document as it was stored, if with a vector of another dimension."""
        vector = None if found.vector is None else found.vector.tolist()
        return document_of(len(vector) if vector else self._dimension).model_validate(
            {
                "id": found.id,
                "content": found.text,
                "embedding": vector,
                "metadata_": found.metadata,
                "created_at": found.created_at,
                "updated_at": found.created_at,
            }
        )


def _message(found: "MessageRecord", session_id: UUID) -> Message:
    return Message.model_validate(
        {
            "id": found.id,
            "session_id": session_id,
            "role": found.role,
            "content": found.text,
            "created_at": found.created_at,
            "metadata_": found.metadata,
        }
    )
