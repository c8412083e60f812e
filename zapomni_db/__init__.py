"""The store protocols, and the stores."""

from zapomni_db.errors import DatabaseError

__all__ = ["DatabaseError"]
