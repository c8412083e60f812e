"""Removes deleted memories for good: their rows first, then the traces that SQLite leaves of them.

Freed bytes stay in a database: in pages that were split, in the merge levels of the index, in the -wal. So a purge ends with
a sweep that rewrites the file. The file itself says that a sweep is due, so one that is interrupted is made up for later.
"""

from collections.abc import Sequence

import apsw

from zapomni_db.sqlite import filter_index, memories, terms, texts, vectors
from zapomni_db.sqlite.connection import impatient, one
from zapomni_db.sqlite.graph.record import forget_memory
from zapomni_db.sqlite.memories import Row

_STATE = "SELECT value FROM meta WHERE key = 'sweep'"
_REMOVED, _REWRITTEN = 1, 2  # rows are gone; the file is rewritten, but the -wal holds the old one
BATCH = 200  # memories removed in one transaction: other writers wait for it


def purge(connection: apsw.Connection, workspace: str, uids: Sequence[str]) -> int:
    """Remove those of these memories that are deleted; inside a transaction."""
    found = (memories.find(connection, workspace, uid) for uid in dict.fromkeys(uids))
    return _remove(connection, [row for row in found if row and row.deleted_at is not None])


def is_sweep_due(connection: apsw.Connection) -> bool:
    """Whether rows were removed whose traces are still in the files."""
    return one(connection, _STATE) is not None


def sweep(connection: apsw.Connection) -> bool:
    """Remove the traces of removed memories; outside a transaction. Takes as long as writing the whole file, the first time.

    False while a reader still uses the old contents, which stay in the files for as long; this does not wait for it.
    """
    if one(connection, _STATE) == _REMOVED:
        connection.execute("INSERT INTO term(term) VALUES('optimize')")
        connection.execute("PRAGMA temp_store = FILE; VACUUM; PRAGMA temp_store = MEMORY")
        connection.execute("REPLACE INTO meta VALUES('sweep', ?)", (_REWRITTEN,))
    with impatient(connection):
        blocked, _, _ = one(connection, "PRAGMA wal_checkpoint(TRUNCATE)")
    if not blocked:
        connection.execute("DELETE FROM meta WHERE key = 'sweep'")
    return not blocked


def _remove(connection: apsw.Connection, rows: Sequence[Row]) -> int:
    for row in rows:
        _remove_one(connection, row)
    if rows:
        connection.execute("REPLACE INTO meta VALUES('sweep', ?)", (_REMOVED,))
    return len(rows)


def _remove_one(connection: apsw.Connection, row: Row) -> None:
    memories.delete_replaced(connection, row)
    forget_memory(connection, row.id)
    texts.delete(connection, row.id)
    connection.execute("DELETE FROM message WHERE memory = ?", (row.id,))
    connection.execute("DELETE FROM document_vector WHERE memory = ?", (row.id,))
    filter_index.delete(connection, row.id, row.filter_entries)
    terms.delete(connection, row.chunk_numbers)
    vectors.delete_vectors(connection, row.chunk_numbers)
    texts.delete_chunks(connection, row.chunk_numbers)
    memories.delete(connection, row)
    memories.record_change(connection, row.workspace, row.id, "purged")
