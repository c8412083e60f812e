"""Remembers, and hosts plugins. Knows nothing of MCP."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import ValidationError

    from zapomni_core.engine import MemoryEngine
    from zapomni_core.errors import ConfigurationError, DatabaseError, ProcessingError
    from zapomni_core.settings import Settings

__all__ = ["ConfigurationError", "DatabaseError", "MemoryEngine", "ProcessingError", "Settings", "ValidationError"]

_HOMES = {
    "ConfigurationError": "zapomni_core.errors",
    "DatabaseError": "zapomni_core.errors",
    "MemoryEngine": "zapomni_core.engine",
    "ProcessingError": "zapomni_core.errors",
    "Settings": "zapomni_core.settings",
    "ValidationError": "pydantic",
}


def __getattr__(name: str) -> Any:
    """Import a name when it is asked for: pydantic takes its time."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
