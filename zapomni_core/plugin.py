"""The door: the only module a plugin author imports from, beside `zapomni_core.testing`."""

from typing import TYPE_CHECKING, Any

from zapomni_core.dispatch.call import Call, CallContext, current_call
from zapomni_core.dispatch.middleware import CallNext, Middleware
from zapomni_core.embedding import Embedder, Profile
from zapomni_core.errors import DatabaseError, LLMUnavailableError, ProcessingError, ToolError
from zapomni_core.extraction import Extractor
from zapomni_core.hookspecs import hookimpl
from zapomni_core.jobs import JobKind, JobProgress, Postpone
from zapomni_core.memory.engine import MemoryEngine
from zapomni_core.models import EngineStats, MemoryResult, SearchHit, SearchResult
from zapomni_core.providers import Provider, ProviderContext
from zapomni_core.responses import (
    DegradedResponse,
    ErrorResponse,
    QueuedResponse,
    SuccessResponse,
    response_schema,
)
from zapomni_core.tool import Tool, ToolResult, tool
from zapomni_db.errors import InvalidInputError, MemoryNotFoundError
from zapomni_db.filters import Filter, parse_metadata_filter
from zapomni_db.records import (
    MENTIONED_WITH,
    Added,
    Candidate,
    Candidates,
    Change,
    ChunkFound,
    DocumentRecord,
    EmbedderIdentity,
    Entity,
    Event,
    Evidence,
    Extraction,
    FactsStated,
    GraphCounts,
    Job,
    JobCounts,
    Memory,
    MessageRecord,
    NewChunk,
    NewEntity,
    NewFact,
    NewJob,
    NewMemory,
    NewRelation,
    Page,
    Question,
    Relation,
    SessionRecord,
    StoreStats,
    Surroundings,
    TermCounts,
)
from zapomni_db.store import ConversationStore, FileStore, GraphStore, JobStore, MemoryStore, Reembedding

if TYPE_CHECKING:
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
    "MENTIONED_WITH",
    "Added",
    "AgentResponse",
    "ApprovalRequest",
    "Call",
    "CallContext",
    "CallNext",
    "Candidate",
    "Candidates",
    "Change",
    "ChunkFound",
    "ConversationStore",
    "DatabaseError",
    "DegradedResponse",
    "Document",
    "DocumentRecord",
    "Embedder",
    "EmbedderIdentity",
    "EngineStats",
    "Entity",
    "ErrorResponse",
    "Event",
    "Evidence",
    "Extraction",
    "Extractor",
    "FactsStated",
    "FileStore",
    "Filter",
    "GraphCounts",
    "GraphStore",
    "InvalidInputError",
    "Job",
    "JobCounts",
    "JobKind",
    "JobProgress",
    "JobStore",
    "LLMUnavailableError",
    "Memory",
    "MemoryEngine",
    "MemoryManager",
    "MemoryNotFoundError",
    "MemoryResult",
    "MemoryStore",
    "Message",
    "MessageRecord",
    "Middleware",
    "NewChunk",
    "NewEntity",
    "NewFact",
    "NewJob",
    "NewMemory",
    "NewRelation",
    "Page",
    "Postpone",
    "ProcessingError",
    "Profile",
    "Provider",
    "ProviderContext",
    "Question",
    "QueuedResponse",
    "Reembedding",
    "Relation",
    "SearchHit",
    "SearchResult",
    "Session",
    "SessionRecord",
    "StoreStats",
    "SuccessResponse",
    "Surroundings",
    "TermCounts",
    "Tool",
    "ToolError",
    "ToolGapReport",
    "ToolResult",
    "current_call",
    "hookimpl",
    "parse_metadata_filter",
    "response_schema",
    "tool",
]


def __getattr__(name: str) -> Any:
    """Sessions when they are asked for: their models take longer to build than all the rest."""
    if name in __all__:
        import zapomni_core.sessions

        return getattr(zapomni_core.sessions, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
