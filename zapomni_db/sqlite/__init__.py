"""Stores memories in one SQLite file, shared by any number of processes on one machine.

Importing this package loads apsw and numpy, so it is imported when a store is built, and not before.
"""

from zapomni_db.sqlite.store import SQLiteStore

__all__ = ["SQLiteStore"]
