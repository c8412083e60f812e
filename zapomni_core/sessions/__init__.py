"""Sessions with messages, and documents with vectors of the caller's own, for programs that build agents."""

from zapomni_core.sessions.manager import MemoryManager
from zapomni_core.sessions.models import AgentResponse, ApprovalRequest, Document, Message, Session, ToolGapReport

__all__ = [
    "AgentResponse",
    "ApprovalRequest",
    "Document",
    "MemoryManager",
    "Message",
    "Session",
    "ToolGapReport",
]
