"""Remembers, and hosts plugins. Knows nothing of MCP."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import ValidationError

    from zapomni_core.app import App, build_app
    from zapomni_core.errors import ConfigurationError, DatabaseError, ProcessingError
    from zapomni_core.memory.engine import MemoryEngine
    from zapomni_core.sessions import (
        AgentResponse,
        ApprovalRequest,
        Document,
        MemoryManager,
        Message,
        Session,
        ToolGapReport,
    )
    from zapomni_core.settings import Settings

__all__ = [
    "AgentResponse",
    "App",
    "ApprovalRequest",
    "ConfigurationError",
    "DatabaseError",
    "Document",
    "MemoryEngine",
    "MemoryManager",
    "Message",
    "ProcessingError",
    "Session",
    "Settings",
    "ToolGapReport",
    "ValidationError",
    "build_app",
]

_HOMES = {
    "AgentResponse": "zapomni_core.sessions",
    "App": "zapomni_core.app",
    "ApprovalRequest": "zapomni_core.sessions",
    "ConfigurationError": "zapomni_core.errors",
    "DatabaseError": "zapomni_core.errors",
    "Document": "zapomni_core.sessions",
    "MemoryEngine": "zapomni_core.memory.engine",
    "MemoryManager": "zapomni_core.sessions",
    "Message": "zapomni_core.sessions",
    "ProcessingError": "zapomni_core.errors",
    "Session": "zapomni_core.sessions",
    "Settings": "zapomni_core.settings",
    "ToolGapReport": "zapomni_core.sessions",
    "ValidationError": "pydantic",
    "build_app": "zapomni_core.app",
}


def __getattr__(name: str) -> Any:
    """Import a name when it is asked for: pydantic takes its time."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
