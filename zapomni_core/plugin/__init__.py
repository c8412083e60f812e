"""Names for the tools, middleware and commands of a plugin.

Stores, embedders, extractors, jobs, the graph and sessions have modules of their own beside this one.
"""

from zapomni_core.dispatch.call import Call, CallContext, current_call
from zapomni_core.dispatch.middleware import CallNext, Middleware
from zapomni_core.errors import DatabaseError, ProcessingError, ToolError, UnknownToolError
from zapomni_core.hookspecs import hookimpl
from zapomni_core.memory.engine import MemoryEngine
from zapomni_core.models import EngineStats, MemoryResult, SearchHit, SearchResult
from zapomni_core.providers import Provider, ProviderContext
from zapomni_core.responses import (
    DegradedResponse,
    ErrorResponse,
    Moment,
    QueuedResponse,
    SuccessResponse,
    answer,
    response_schema,
)
from zapomni_core.text.plural import counted
from zapomni_core.tool import Tool, ToolResult, tool
from zapomni_db.errors import InvalidInputError, MemoryNotFoundError
from zapomni_db.records import Memory

__all__ = [
    "Call",
    "CallContext",
    "CallNext",
    "DatabaseError",
    "DegradedResponse",
    "EngineStats",
    "ErrorResponse",
    "InvalidInputError",
    "Memory",
    "MemoryEngine",
    "MemoryNotFoundError",
    "MemoryResult",
    "Middleware",
    "Moment",
    "ProcessingError",
    "Provider",
    "ProviderContext",
    "QueuedResponse",
    "SearchHit",
    "SearchResult",
    "SuccessResponse",
    "Tool",
    "ToolError",
    "ToolResult",
    "UnknownToolError",
    "answer",
    "counted",
    "current_call",
    "hookimpl",
    "response_schema",
    "tool",
]
