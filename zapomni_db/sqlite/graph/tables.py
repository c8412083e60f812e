"""The tables of the graph.

What memories say stands in `mention` and `evidence`. What follows from it, such as how many live memories speak of an entity or
when a relation was true, is kept beside it in the same transaction.
"""

import apsw

_TABLES = """
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


def create_graph(connection: apsw.Connection) -> None:
    """Give a store the tables of the graph."""
    connection.execute(_TABLES)
