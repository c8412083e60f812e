"""Keeps memories: what a store must be, and the stores themselves. Knows nothing of the floors above it."""

from zapomni_db.errors import DatabaseError

__all__ = ["DatabaseError"]
