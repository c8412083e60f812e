"""The door: the only module a plugin author imports from, beside `zapomni_core.testing`."""

from zapomni_core.call import Call, CallContext, current_call
from zapomni_core.engine import MemoryEngine
from zapomni_core.errors import DatabaseError, ProcessingError, ToolError
from zapomni_core.hookspecs import hookimpl
from zapomni_core.middleware import CallNext, Middleware
from zapomni_core.responses import (
    DegradedResponse,
    ErrorResponse,
    QueuedResponse,
    SuccessResponse,
    response_schema,
)
from zapomni_core.tool import Tool, ToolResult, tool

__all__ = [
    "Call",
    "CallContext",
    "CallNext",
    "DatabaseError",
    "DegradedResponse",
    "ErrorResponse",
    "MemoryEngine",
    "Middleware",
    "ProcessingError",
    "QueuedResponse",
    "SuccessResponse",
    "Tool",
    "ToolError",
    "ToolResult",
    "current_call",
    "hookimpl",
    "response_schema",
    "tool",
]
