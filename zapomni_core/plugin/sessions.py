"""Sessions, messages and documents, and the manager that stores them. Its models take a moment to import."""

from zapomni_core.sessions import (
    AgentResponse,
    ApprovalRequest,
    Document,
    MemoryManager,
    Message,
    Session,
    ToolGapReport,
)

__all__ = [
    "AgentResponse",
    "ApprovalRequest",
    "Document",
    "MemoryManager",
    "Message",
    "Session",
    "ToolGapReport",
]
