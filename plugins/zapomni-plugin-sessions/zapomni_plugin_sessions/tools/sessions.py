"""create_session, store_message, get_conversation_history: conversations, word for word."""

from typing import Any
from uuid import UUID

from pydantic import BaseModel

from zapomni_core.plugin import counted
from zapomni_plugin_sessions.arguments import uuid_of
from zapomni_plugin_sessions.formatting import format_message
from zapomni_plugin_sessions.responses import ConversationHistory, MessageAnswer, MessageStored, SessionCreated
from zapomni_plugin_sessions.tool import METADATA, READS, WRITES, SessionsTool

MOST_MESSAGES = 1000


class CreateSessionTool(SessionsTool):
    """Makes a session that knows its user."""

    name = "create_session"
    title = "Begin a session"
    description = "Begin a session (a conversation that is kept) with a user. store_message alone does too."
    annotations = WRITES
    required = ("user_id",)
    responses = (SessionCreated,)

    def properties(self) -> dict[str, Any]:
        return {
            "user_id": {"type": "string", "description": "Whom with.", "minLength": 1, "maxLength": 255},
            "metadata": METADATA,
        }

    async def answer(self, user_id: str, metadata: dict[str, Any] | None = None) -> tuple[str, BaseModel]:
        session_id = str(await self.manager.create_session(user_id, metadata))
        message = f"Session {session_id} created."
        return message, SessionCreated(message=message, session_id=session_id)


class StoreMessageTool(SessionsTool):
    """Keeps the next message of a session."""

    name = "store_message"
    title = "Keep a message"
    description = "Keep a message of a session, word for word; search_memory finds it too."
    annotations = WRITES
    required = ("session_id", "role", "content")
    responses = (MessageStored,)

    def properties(self) -> dict[str, Any]:
        return {
            "session_id": {"type": "string", "description": "A UUID; a new one begins a session."},
            "role": {"type": "string", "enum": ["user", "assistant", "system"], "description": "Who says it."},
            "content": {"type": "string", "description": "What was said.", "minLength": 1},
            "metadata": METADATA,
        }

    async def answer(
        self, session_id: str, role: str, content: str, metadata: dict[str, Any] | None = None
    ) -> tuple[str, BaseModel]:
        session = uuid_of("session_id", session_id)
        stored = str(await self.manager.store_message(session, role, content, metadata))
        message = f"Message {stored} stored."
        return message, MessageStored(message=message, episode_id=stored, session_id=str(session), message_id=stored)


class GetConversationHistoryTool(SessionsTool):
    """Reads the last messages of a session."""

    name = "get_conversation_history"
    title = "Read a session"
    description = "The last messages of a session, oldest first."
    annotations = READS
    required = ("session_id",)
    responses = (ConversationHistory,)

    def properties(self) -> dict[str, Any]:
        most = {"minimum": 1, "maximum": MOST_MESSAGES, "default": 100}
        return {
            "session_id": {"type": "string", "description": "Its UUID."},
            "limit": {"type": "integer", "description": "Most messages.", **most},
        }

    async def answer(self, session_id: str, limit: int = 100) -> tuple[str, BaseModel]:
        session = uuid_of("session_id", session_id)
        found = await self.manager.get_conversation_history(session, limit)
        messages = [MessageAnswer.of(one) for one in found]
        headline = _headline(session, len(messages), limit)
        response = ConversationHistory(
            message=headline, session_id=str(session), count=len(messages), messages=messages
        )
        return "\n".join([headline, *map(format_message, messages)]), response


def _headline(session: UUID, count: int, limit: int) -> str:
    if not count:
        return f"0 messages of session {session}."
    if count == limit:
        return (
            f"The last {counted(count, 'message')} of session {session}; there may be earlier ones, beyond the limit:"
        )
    return f"{counted(count, 'message')} of session {session}:"
