"""The store protocols, and the stores."""

from typing import TYPE_CHECKING, Any

from zapomni_db.errors import DatabaseError

if TYPE_CHECKING:
    from zapomni_db.falkordb import FalkorDBClient

__all__ = ["DatabaseError", "FalkorDBClient"]


def __getattr__(name: str) -> Any:
    """The client of FalkorDB, which loads its driver only when it is asked for."""
    if name == "FalkorDBClient":
        from zapomni_db.falkordb.client import FalkorDBClient

        return FalkorDBClient
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
