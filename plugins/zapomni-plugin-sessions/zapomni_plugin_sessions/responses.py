"""The structured answers, beside the readable text. They show no vector, and of a long text its beginning."""

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field

from zapomni_core.plugin import DegradedResponse, Moment, SuccessResponse
from zapomni_core.plugin.stores import DocumentRecord

if TYPE_CHECKING:
    from zapomni_core.plugin.sessions import Document, Message

LONGEST_MESSAGE = 8000
LONGEST_DOCUMENT = 2000


class SessionCreated(SuccessResponse):
    """A new session."""

    session_id: str


class MessageStored(SuccessResponse):
    """A message that is kept."""

    session_id: str
    message_id: str


class MessageAnswer(BaseModel):
    """Something that was said."""

    message_id: str
    role: str
    content: str = Field(description=f"The first {LONGEST_MESSAGE:,} characters; get_memory has the rest.")
    total_chars: int
    created_at: Moment
    metadata: dict[str, Any] = Field(default_factory=dict)

    @classmethod
    def of(cls, message: "Message") -> "MessageAnswer":
        return cls(
            message_id=str(message.id),
            role=message.role,
            content=message.content[:LONGEST_MESSAGE],
            total_chars=len(message.content),
            created_at=message.created_at,
            metadata=message.metadata_,
        )


class ConversationHistory(SuccessResponse):
    """The last messages of a session, oldest first."""

    session_id: str
    count: int = Field(ge=0)
    messages: list[MessageAnswer]


class DocumentStored(SuccessResponse):
    """A document that is kept."""

    document_id: str


class DocumentAnswer(BaseModel):
    """A document that was found."""

    document_id: str
    content: str = Field(
        description=f"What matched in it, else its first {LONGEST_DOCUMENT:,} characters; get_memory has the rest."
    )
    total_chars: int
    created_at: Moment
    metadata: dict[str, Any] = Field(default_factory=dict)
    score: float | None = Field(default=None, description="How near it is: by text in [0, 1], by vector the cosine.")

    @classmethod
    def of(cls, document: "Document", score: float | None = None) -> "DocumentAnswer":
        return cls(
            document_id=str(document.id),
            content=document.content[:LONGEST_DOCUMENT],
            total_chars=len(document.content),
            created_at=document.created_at,
            metadata=document.metadata_,
            score=score,
        )

    @classmethod
    def by_passage(cls, document: DocumentRecord, passage: str, score: float) -> "DocumentAnswer":
        """A document that matched."""
        return cls(
            document_id=document.id,
            content=passage,
            total_chars=len(document.text),
            created_at=document.created_at,
            metadata=dict(document.metadata),
            score=score,
        )


class DocumentsFound(SuccessResponse):
    """Documents, the best or the newest first."""

    count: int = Field(ge=0)
    documents: list[DocumentAnswer]


class DocumentsFoundInPart(DegradedResponse):
    """Documents that were found though not everything could be searched; the message says what was not."""

    count: int = Field(ge=0)
    documents: list[DocumentAnswer]


class Health(SuccessResponse):
    """The store answers."""

    health: dict[str, Any] = Field(description="Its status, its name, and the versions of what it runs on.")


class GapRecorded(SuccessResponse):
    """A gap that its owner can see."""

    gap_id: str
