"""All tables of the file."""

from string import punctuation
from uuid import uuid4

import apsw

from zapomni_db.sqlite.lock import Note

APPLICATION_ID = 0x5A61706F  # "Zapo"
VERSION = 15
"""Of the format. A file of another version is refused."""

# Terms are the core's: FTS5 must not split or fold them again. Of its tokenizers only "ascii" leaves everything beyond ASCII
# alone; unicode61 splits at zero-width joiners and folds letters such as ς.
_TOKENIZER = "ascii tokenchars '{}'".format(punctuation.replace("'", "''")).replace('"', '""')

_MEMORIES = f"""
CREATE TABLE meta(key TEXT PRIMARY KEY, value ANY NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE embedder(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL, model TEXT NOT NULL, dimension INTEGER NOT NULL,
    weight REAL, cyrillic INTEGER,                      -- NULL: not measured
    UNIQUE(name, model, dimension)
) STRICT;

CREATE TABLE workspace(name TEXT PRIMARY KEY, embedder INTEGER NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE memory(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    uid TEXT NOT NULL,
    workspace TEXT NOT NULL, kind TEXT NOT NULL, source TEXT NOT NULL, author TEXT NOT NULL, conversation TEXT NOT NULL,
    tags TEXT NOT NULL, metadata TEXT NOT NULL,         -- JSON
    timestamp INTEGER, created_at INTEGER NOT NULL,     -- microseconds since 1970
    moment INTEGER NOT NULL,                            -- the timestamp, else the creation
    conversation_number INTEGER NOT NULL,               -- 0 for none
    first_chunk INTEGER NOT NULL, chunks INTEGER NOT NULL,  -- chunks are numbered in a row
    key TEXT,                                           -- memories of one key are the same; NULL: like no other
    digest BLOB NOT NULL,                               -- of of all that does not change
    deleted_at INTEGER, replaced_by TEXT,
    UNIQUE(uid, workspace)                              -- a memory may be imported into several workspaces
) STRICT;
-- The last two columns make the index answer alone.
CREATE INDEX memory_live ON memory(workspace, id, moment, conversation_number, first_chunk, chunks, deleted_at, replaced_by)
    WHERE deleted_at IS NULL AND replaced_by IS NULL;
CREATE INDEX memory_moment ON memory(workspace, moment, id);
CREATE INDEX memory_deleted ON memory(workspace, deleted_at) WHERE deleted_at IS NOT NULL;
CREATE INDEX memory_superseded ON memory(workspace, deleted_at) WHERE replaced_by IS NOT NULL;
CREATE INDEX memory_replaced_by ON memory(replaced_by) WHERE replaced_by IS NOT NULL;
CREATE UNIQUE INDEX memory_key ON memory(workspace, key) WHERE key IS NOT NULL AND replaced_by IS NULL;

CREATE TABLE body(id INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT;      -- id: texts.part_number
CREATE TABLE chunk(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    memory INTEGER NOT NULL,
    start INTEGER NOT NULL, "end" INTEGER NOT NULL,             -- in characters
    first_byte INTEGER NOT NULL, last_byte INTEGER NOT NULL,    -- the same in UTF-8
    heading TEXT NOT NULL,
    length INTEGER NOT NULL, analyser INTEGER NOT NULL          -- in terms, and which version of the analyser made them
) STRICT;
CREATE TABLE vector(id INTEGER PRIMARY KEY, value BLOB NOT NULL, crc INTEGER NOT NULL) STRICT;  -- id: vectors.Embedder.vector_number
CREATE TABLE code(id INTEGER PRIMARY KEY, bits BLOB NOT NULL) STRICT;       -- the same id
CREATE VIRTUAL TABLE term USING fts5(terms, content='', contentless_delete=1, tokenize="{_TOKENIZER}");
CREATE VIRTUAL TABLE vocabulary USING fts5vocab(term, instance);
CREATE TABLE filter_entry(digest BLOB NOT NULL, memory INTEGER NOT NULL, PRIMARY KEY(digest, memory)) STRICT, WITHOUT ROWID;

CREATE TABLE change(
    seq INTEGER PRIMARY KEY AUTOINCREMENT, workspace TEXT NOT NULL, memory INTEGER NOT NULL, state TEXT NOT NULL,
    at INTEGER NOT NULL, client TEXT NOT NULL
) STRICT;
CREATE INDEX change_memory ON change(memory);
"""


_JOBS = """
CREATE TABLE job(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    uid TEXT NOT NULL UNIQUE,
    workspace TEXT NOT NULL, kind TEXT NOT NULL, key TEXT NOT NULL,
    payload TEXT NOT NULL,                                      -- JSON
    state TEXT NOT NULL CHECK(state IN ('queued', 'running', 'done', 'failed')),
    attempts INTEGER NOT NULL, progress REAL, message TEXT NOT NULL, error TEXT NOT NULL,
    result TEXT,                                                -- JSON
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,   -- microseconds since 1970
    not_before INTEGER NOT NULL, postponed_since INTEGER,
    due_at INTEGER,     -- queued: when it may begin; running: when the lease ends; NULL: never
    worker TEXT NOT NULL
) STRICT;
CREATE INDEX job_due ON job(workspace, kind, due_at, id) WHERE due_at IS NOT NULL;
CREATE UNIQUE INDEX job_key ON job(workspace, kind, key) WHERE key != '' AND due_at IS NOT NULL;
CREATE INDEX job_state ON job(workspace, state, id);
CREATE INDEX job_done ON job(updated_at) WHERE state = 'done';
"""


_SESSIONS = """
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
CREATE INDEX memory_documents ON memory(workspace, created_at)
    WHERE kind = 'document' AND deleted_at IS NULL AND replaced_by IS NULL;
"""


# `mention` and `evidence` hold the contents of memories. Derived values, such as how many live memories name an entity or when a
# relation was true, is kept beside it in the same transaction.
_GRAPH = """
CREATE TABLE reading(                                           -- which extractor has read which memory
    memory INTEGER NOT NULL, extractor TEXT NOT NULL, PRIMARY KEY(memory, extractor)
) STRICT, WITHOUT ROWID;

CREATE TABLE entity(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    uid BLOB NOT NULL UNIQUE,                                   -- digest of workspace and key
    workspace TEXT NOT NULL, key TEXT NOT NULL,
    name TEXT NOT NULL, type TEXT NOT NULL,                     -- as its spellings say
    mentions INTEGER NOT NULL, memories INTEGER NOT NULL        -- in live memories
) STRICT;
CREATE INDEX entity_live ON entity(workspace, id) WHERE memories > 0;
CREATE TABLE entity_word(
    workspace TEXT NOT NULL, word TEXT NOT NULL, entity INTEGER NOT NULL, PRIMARY KEY(workspace, word, entity)
) STRICT, WITHOUT ROWID;

CREATE TABLE spelling(
    id INTEGER PRIMARY KEY AUTOINCREMENT,                       -- the order in which they were met
    entity INTEGER NOT NULL, name TEXT NOT NULL, type TEXT NOT NULL,
    uses INTEGER NOT NULL,                                      -- rows of mention
    live INTEGER NOT NULL, places INTEGER NOT NULL,             -- those of live memories, and their places
    UNIQUE(entity, name, type)
) STRICT;
CREATE TABLE mention(
    memory INTEGER NOT NULL, extractor TEXT NOT NULL, spelling INTEGER NOT NULL,
    spans TEXT NOT NULL,                                        -- JSON: [start, end] in characters
    PRIMARY KEY(memory, extractor, spelling)
) STRICT, WITHOUT ROWID;

CREATE TABLE relation(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    uid BLOB NOT NULL UNIQUE,                                   -- digest of subject, type and object
    subject INTEGER NOT NULL, type TEXT NOT NULL, object INTEGER NOT NULL,
    replaces INTEGER NOT NULL,                                  -- some evidence, live or not, replaces others
    evidence INTEGER NOT NULL,                                  -- live memories that say it
    latest INTEGER NOT NULL,                                    -- the moment of the last one
    begin INTEGER, valid_from INTEGER, valid_until INTEGER, ended_by INTEGER    -- its last period
) STRICT;
-- Both answer alone, the strongest first.
CREATE INDEX relation_out ON relation(subject, evidence DESC, latest DESC, type, valid_until, object);
CREATE INDEX relation_in ON relation(object, evidence DESC, latest DESC, type, valid_until, subject);
CREATE INDEX relation_replacing ON relation(subject, type) WHERE replaces = 1;
CREATE TABLE period(                                            -- the earlier periods of relations that had several
    relation INTEGER NOT NULL, begin INTEGER NOT NULL, valid_from INTEGER, valid_until INTEGER NOT NULL, ended_by INTEGER
) STRICT;
CREATE INDEX period_relation ON period(relation);

CREATE TABLE evidence(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    relation INTEGER NOT NULL, memory INTEGER NOT NULL, extractor TEXT NOT NULL, basis TEXT NOT NULL,
    start INTEGER NOT NULL, "end" INTEGER NOT NULL,             -- the quote, in characters
    first_byte INTEGER NOT NULL, last_byte INTEGER NOT NULL,    -- as much of it as is shown, in UTF-8
    replaces INTEGER NOT NULL, valid_from INTEGER, valid_until INTEGER,
    stated_at INTEGER                                           -- NULL: an extractor read it
) STRICT;
CREATE INDEX evidence_relation ON evidence(relation, memory);
CREATE INDEX evidence_memory ON evidence(memory);
"""


def create(connection: apsw.Connection) -> None:
    """Create the tables in an empty file; inside a transaction."""
    connection.execute(_MEMORIES + _JOBS + _SESSIONS + _GRAPH)
    connection.execute("INSERT INTO meta VALUES('store', ?)", (str(Note(uuid4().hex, 0)),))
    connection.pragma("application_id", APPLICATION_ID)
    connection.pragma("user_version", VERSION)
