"""The door: the only module a plugin author imports from, beside `zapomni_core.testing`."""

from zapomni_core.call import Call, CallContext, current_call
from zapomni_core.embedding import Embedder, Profile
from zapomni_core.engine import MemoryEngine
from zapomni_core.errors import DatabaseError, ProcessingError, ToolError
from zapomni_core.hookspecs import hookimpl
from zapomni_core.middleware import CallNext, Middleware
from zapomni_core.provider import Provider, ProviderContext
from zapomni_core.responses import (
    DegradedResponse,
    ErrorResponse,
    QueuedResponse,
    SuccessResponse,
    response_schema,
)
from zapomni_core.tool import Tool, ToolResult, tool
from zapomni_db.filters import Filter
from zapomni_db.records import Added, ChunkFound, EmbedderIdentity, Memory, NewChunk, NewMemory, StoreStats
from zapomni_db.store import MemoryStore, Reembedding, Snapshot

__all__ = [
    "Added",
    "Call",
    "CallContext",
    "CallNext",
    "ChunkFound",
    "DatabaseError",
    "DegradedResponse",
    "Embedder",
    "EmbedderIdentity",
    "ErrorResponse",
    "Filter",
    "Memory",
    "MemoryEngine",
    "MemoryStore",
    "Middleware",
    "NewChunk",
    "NewMemory",
    "ProcessingError",
    "Profile",
    "Provider",
    "ProviderContext",
    "QueuedResponse",
    "Reembedding",
    "Snapshot",
    "StoreStats",
    "SuccessResponse",
    "Tool",
    "ToolError",
    "ToolResult",
    "current_call",
    "hookimpl",
    "response_schema",
    "tool",
]
