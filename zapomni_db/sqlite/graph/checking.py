"""Looks for damage in the graph: rows that belong to nothing, counts that are wrong, names that were changed."""

from collections.abc import Iterator

import apsw

from zapomni_db.names import key_of
from zapomni_db.sqlite.connections import one, rows
from zapomni_db.sqlite.graph.query import entity_uid, relation_uid

# What must not be: a sentence with the number of cases, and how they are counted.
_COUNTED = {
    "{} readings belong to no memory.": "SELECT count(*) FROM reading WHERE memory NOT IN (SELECT id FROM memory)",
    "{} mentions belong to no reading.": "SELECT count(*) FROM mention"
    " WHERE extractor != 'stated' AND (memory, extractor) NOT IN (SELECT memory, extractor FROM reading)",
    "{} pieces of evidence belong to no reading.": "SELECT count(*) FROM evidence"
    " WHERE stated_at IS NULL AND (memory, extractor) NOT IN (SELECT memory, extractor FROM reading)",
    "{} stated facts belong to no memory.": "SELECT count(*) FROM evidence WHERE memory NOT IN (SELECT id FROM memory)",
    "{} mentions belong to no memory.": "SELECT count(*) FROM mention WHERE memory NOT IN (SELECT id FROM memory)",
    "{} mentions name no entity.": "SELECT count(*) FROM mention WHERE spelling NOT IN (SELECT id FROM spelling)",
    "{} spellings belong to no entity.": "SELECT count(*) FROM spelling WHERE entity NOT IN (SELECT id FROM entity)",
    "{} spellings are not counted rightly.": "SELECT count(*) FROM (SELECT id, uses, live FROM spelling EXCEPT"
    " SELECT spelling, count(*), count(*) FILTER (WHERE deleted_at IS NULL AND replaced_by IS NULL)"
    " FROM mention JOIN memory ON memory.id = mention.memory GROUP BY spelling)",
    "{} entities have no spelling.": "SELECT count(*) FROM entity WHERE id NOT IN (SELECT entity FROM spelling)",
    "{} entities are not counted rightly.": "SELECT count(*) FROM (SELECT id, memories, mentions FROM entity"
    " WHERE memories + mentions > 0 EXCEPT SELECT s.entity, count(DISTINCT m.id), count(DISTINCT m.id || j.value)"
    " FROM mention JOIN memory m ON m.id = mention.memory AND m.deleted_at IS NULL AND m.replaced_by IS NULL"
    " JOIN spelling s ON s.id = mention.spelling LEFT JOIN json_each(mention.spans) j GROUP BY s.entity)",
    "{} names belong to no entity.": "SELECT count(*) FROM entity_word WHERE entity NOT IN (SELECT id FROM entity)",
    "{} entities cannot be found by words.": "SELECT count(*) FROM entity"
    " WHERE id NOT IN (SELECT entity FROM entity_word)",
    "{} pieces of evidence speak of no relation.": "SELECT count(*) FROM evidence"
    " WHERE relation NOT IN (SELECT id FROM relation)",
    "{} relations have no evidence.": "SELECT count(*) FROM relation WHERE id NOT IN (SELECT relation FROM evidence)",
    "{} relations lack one of their entities.": "SELECT count(*) FROM relation"
    " WHERE subject NOT IN (SELECT id FROM entity) OR object NOT IN (SELECT id FROM entity)",
    "{} relations are not counted rightly.": "SELECT count(*) FROM relation WHERE evidence != ("
    "SELECT count(DISTINCT m.id) FROM evidence e JOIN memory m ON m.id = e.memory AND m.deleted_at IS NULL"
    " AND m.replaced_by IS NULL WHERE e.relation = relation.id)",
    "{} relations were ended by a memory that is not live.": "SELECT count(*) FROM relation WHERE ended_by > 0"
    " AND ended_by NOT IN (SELECT id FROM memory WHERE deleted_at IS NULL AND replaced_by IS NULL)",
    "{} periods belong to no relation.": "SELECT count(*) FROM period WHERE relation NOT IN (SELECT id FROM relation)",
}

_RELATIONS = """
SELECT r.uid, s.uid, r.type, o.uid FROM relation r JOIN entity s ON s.id = r.subject JOIN entity o ON o.id = r.object
"""


def problems(connection: apsw.Connection) -> Iterator[str]:
    """What is wrong with the graph, a sentence each; inside a transaction."""
    for sentence, statement in _COUNTED.items():
        if count := one(connection, statement):
            yield sentence.format(count)
    for sentence, count in _changed(connection):
        if count:
            yield sentence.format(count)


def _changed(connection: apsw.Connection) -> Iterator[tuple[str, int]]:
    """Ids are digests: what was changed by anyone else does not fit them."""
    entities = rows(connection, "SELECT uid, workspace, key FROM entity")
    yield "{} entities are not what was stored.", sum(uid != entity_uid(*names) for uid, *names in entities)
    spellings = rows(connection, "SELECT key, spelling.name FROM spelling JOIN entity ON entity.id = entity")
    yield "{} spellings are not what was stored.", sum(key != key_of(name) for key, name in spellings)
    relations = rows(connection, _RELATIONS)
    yield "{} relations are not what was stored.", sum(uid != relation_uid(*named) for uid, *named in relations)
