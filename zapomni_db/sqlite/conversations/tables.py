"""The tables of conversations. Texts, metadata and moments are the memories'."""

import apsw

_TABLES = """
CREATE TABLE session(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    workspace TEXT NOT NULL, uid TEXT NOT NULL,
    user_id TEXT NOT NULL, metadata TEXT NOT NULL,                      -- JSON
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,           -- microseconds since 1970
    UNIQUE(workspace, uid)
) STRICT;

-- Memories are numbered inside the writing transaction: their numbers are the order of the messages.
CREATE TABLE message(memory INTEGER PRIMARY KEY, session INTEGER NOT NULL, role TEXT NOT NULL) STRICT;
CREATE INDEX message_session ON message(session, memory, role);

CREATE TABLE document_vector(
    memory INTEGER PRIMARY KEY,
    dimension INTEGER NOT NULL, value BLOB NOT NULL, length REAL NOT NULL, crc INTEGER NOT NULL     -- single precision
) STRICT;
CREATE TABLE document_code(dimension INTEGER, memory INTEGER, bits BLOB NOT NULL, PRIMARY KEY(dimension, memory))
    STRICT, WITHOUT ROWID;
CREATE TABLE document_sketch(memory INTEGER PRIMARY KEY, value BLOB NOT NULL) STRICT;   -- a fourth of the bytes
CREATE INDEX memory_documents ON memory(workspace, created_at)
    WHERE kind = 'document' AND deleted_at IS NULL AND replaced_by IS NULL;
"""


def create_conversations(connection: apsw.Connection) -> None:
    """Make room for conversations in a file that has memories."""
    connection.execute(_TABLES)
