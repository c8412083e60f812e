"""Stores memories in a graph of a FalkorDB server, shared by any number of machines.

Importing this package loads redis, falkordb and numpy, so it is imported when a store is built, and not before.
"""

from zapomni_db.falkordb.client import FalkorDBClient
from zapomni_db.falkordb.store import FalkorDBStore

__all__ = ["FalkorDBClient", "FalkorDBStore"]
