"""Really removes what was deleted: rows first, then the traces that SQLite leaves of them.

Freed bytes stay in a database: in pages that were split, in the merge levels of the index, in the -wal. So a purge ends with
a sweep that writes the file anew. That a sweep is due is in the file, so that one that was cut short is made up for.
"""

from collections.abc import Sequence

import apsw

from zapomni_db.sqlite import chunks, memories
from zapomni_db.sqlite.bodies import drop_body
from zapomni_db.sqlite.changes import record
from zapomni_db.sqlite.connections import impatient, one
from zapomni_db.sqlite.conversations import messages, vectors
from zapomni_db.sqlite.embedders import drop_vectors
from zapomni_db.sqlite.facets import drop_facets
from zapomni_db.sqlite.graph.record import forget_memory
from zapomni_db.sqlite.hiding import delete_replaced
from zapomni_db.sqlite.memories import Row
from zapomni_db.sqlite.terms import drop_terms

_STATE = "SELECT value FROM meta WHERE key = 'sweep'"
_REMOVED, _WRITTEN_ANEW = 1, 2  # how far it is: rows are gone; the file is written anew, and the -wal holds the old one
BATCH = 200  # memories removed in one transaction: others wait for it


def purge(connection: apsw.Connection, workspace: str, uids: Sequence[str]) -> int:
    """Remove those of these memories that are deleted; inside a transaction."""
    found = (memories.find(connection, workspace, uid) for uid in dict.fromkeys(uids))
    return _remove(connection, [row for row in found if row and row.deleted_at is not None])


def is_sweep_due(connection: apsw.Connection) -> bool:
    """Whether something was removed and its traces were not."""
    return one(connection, _STATE) is not None


def sweep(connection: apsw.Connection) -> bool:
    """Remove the traces of what was removed; outside a transaction. Takes as long as writing the whole file, the first time.

    False while somebody reads what was there before: it is in the files for as long, and nobody waits here for its end.
    """
    if one(connection, _STATE) == _REMOVED:
        connection.execute("INSERT INTO term(term) VALUES('optimize')")
        connection.execute("PRAGMA temp_store = FILE; VACUUM; PRAGMA temp_store = MEMORY")
        connection.execute("REPLACE INTO meta VALUES('sweep', ?)", (_WRITTEN_ANEW,))
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
    delete_replaced(connection, row)
    forget_memory(connection, row.id)
    drop_body(connection, row.id)
    messages.drop(connection, row.id)
    vectors.drop(connection, row.id)
    drop_facets(connection, row.id, row.facets)
    drop_terms(connection, row.chunk_numbers)
    drop_vectors(connection, row.chunk_numbers)
    chunks.drop(connection, row.chunk_numbers)
    memories.drop(connection, row)
    record(connection, row.workspace, row.id, "purged")
