"""The tables of the file."""

from string import punctuation
from uuid import uuid4

import apsw

from zapomni_db.sqlite.conversations.tables import create_conversations
from zapomni_db.sqlite.graph.tables import create_graph
from zapomni_db.sqlite.job_table import create_job_table
from zapomni_db.sqlite.witness import Note

APPLICATION_ID = 0x5A61706F  # "Zapo"
VERSION = 13
"""Of the format. A file of another version is refused."""

# Terms are the core's: FTS5 must not split or fold them again. Of its tokenizers only "ascii" leaves everything beyond ASCII
# alone; unicode61 splits at zero-width joiners and folds letters such as ς.
_TOKENIZER = "ascii tokenchars '{}'".format(punctuation.replace("'", "''")).replace('"', '""')

_TABLES = f"""
CREATE TABLE meta(key TEXT PRIMARY KEY, value ANY NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE embedder(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL, model TEXT NOT NULL, dimension INTEGER NOT NULL,
    UNIQUE(name, model, dimension)
) STRICT;

CREATE TABLE workspace(name TEXT PRIMARY KEY, embedder INTEGER NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE memory(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    uid TEXT NOT NULL UNIQUE,
    workspace TEXT NOT NULL, kind TEXT NOT NULL, source TEXT NOT NULL, author TEXT NOT NULL, conversation TEXT NOT NULL,
    tags TEXT NOT NULL, metadata TEXT NOT NULL,         -- JSON
    timestamp INTEGER, created_at INTEGER NOT NULL,     -- microseconds since 1970
    moment INTEGER NOT NULL,                            -- the timestamp, else the creation
    thread INTEGER NOT NULL,                            -- a number for the conversation, 0 for none
    first_chunk INTEGER NOT NULL, chunks INTEGER NOT NULL,  -- chunks are numbered in a row
    key TEXT,                                           -- memories of one key are the same; NULL: like no other
    seal BLOB NOT NULL,                                 -- digest of all that does not change
    deleted_at INTEGER, replaced_by TEXT
) STRICT;
-- The last two columns make the index answer alone.
CREATE INDEX memory_live ON memory(workspace, id, moment, thread, first_chunk, chunks, deleted_at, replaced_by)
    WHERE deleted_at IS NULL AND replaced_by IS NULL;
CREATE INDEX memory_moment ON memory(workspace, moment, id);
CREATE INDEX memory_deleted ON memory(workspace, deleted_at) WHERE deleted_at IS NOT NULL;
CREATE INDEX memory_superseded ON memory(workspace, deleted_at) WHERE replaced_by IS NOT NULL;
CREATE INDEX memory_replaced_by ON memory(replaced_by) WHERE replaced_by IS NOT NULL;
CREATE UNIQUE INDEX memory_key ON memory(workspace, key) WHERE key IS NOT NULL AND replaced_by IS NULL;

CREATE TABLE body(id INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT;      -- id: bodies.part_number
CREATE TABLE chunk(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    memory INTEGER NOT NULL,
    start INTEGER NOT NULL, "end" INTEGER NOT NULL,             -- in characters
    first_byte INTEGER NOT NULL, last_byte INTEGER NOT NULL,    -- the same in UTF-8
    heading TEXT NOT NULL,
    length INTEGER NOT NULL, analyser INTEGER NOT NULL          -- in terms, and which version of the analyser made them
) STRICT;
CREATE TABLE vector(id INTEGER PRIMARY KEY, value BLOB NOT NULL, crc INTEGER NOT NULL) STRICT;  -- id: embedders.vector_number
CREATE TABLE code(id INTEGER PRIMARY KEY, bits BLOB NOT NULL) STRICT;       -- the same id
CREATE VIRTUAL TABLE term USING fts5(terms, content='', contentless_delete=1, tokenize="{_TOKENIZER}");
CREATE VIRTUAL TABLE vocabulary USING fts5vocab(term, instance);
CREATE TABLE facet(digest BLOB NOT NULL, memory INTEGER NOT NULL, PRIMARY KEY(digest, memory)) STRICT, WITHOUT ROWID;

CREATE TABLE change(
    seq INTEGER PRIMARY KEY AUTOINCREMENT, workspace TEXT NOT NULL, memory INTEGER NOT NULL, state TEXT NOT NULL,
    at INTEGER NOT NULL, client TEXT NOT NULL
) STRICT;
CREATE INDEX change_memory ON change(memory);
"""


def create(connection: apsw.Connection) -> None:
    """Make the tables in an empty file; inside a transaction."""
    connection.execute(_TABLES)
    create_job_table(connection)
    create_conversations(connection)
    create_graph(connection)
    connection.execute("INSERT INTO meta VALUES('store', ?)", (str(Note(uuid4().hex, 0)),))
    connection.pragma("application_id", APPLICATION_ID)
    connection.pragma("user_version", VERSION)
