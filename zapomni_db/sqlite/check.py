"""Looks for damage: SQLite's own checks, counts that must agree, and digests, since SQLite has no checksums."""

from collections.abc import Iterator

import apsw
import numpy as np

from zapomni_db.entity_names import key_of
from zapomni_db.facts import entity_uid, relation_uid
from zapomni_db.sqlite import filter_index, memories, texts, vectors
from zapomni_db.sqlite.connection import one, rows
from zapomni_db.sqlite.memories import Row

_MOST_REPORTED = 20

# A sentence with the number of cases, and the statement that counts them.
_COUNTED = {
    "{} chunks belong to no memory.": "SELECT count(*) FROM chunk WHERE memory NOT IN (SELECT id FROM memory)",
    "{} memories have not the chunks that they had.": "SELECT count(*) FROM memory WHERE chunks != (SELECT count(*)"
    " FROM chunk WHERE chunk.id BETWEEN first_chunk AND first_chunk + chunks - 1 AND chunk.memory = memory.id)",
    "{} chunks cannot be found by words.": "SELECT count(*) FROM chunk WHERE id NOT IN (SELECT id FROM term_docsize)",
    "{} entries of the word index belong to no chunk.": "SELECT count(*) FROM term_docsize"
    " WHERE id NOT IN (SELECT id FROM chunk)",
    "{} vectors belong to no chunk.": "SELECT count(*) FROM vector WHERE id & 0xFFFFFFFFFF NOT IN (SELECT id FROM chunk)",
    "{} vectors have no code.": "SELECT count(*) FROM vector WHERE id NOT IN (SELECT id FROM code)",
    "{} codes have no vector.": "SELECT count(*) FROM code WHERE id NOT IN (SELECT id FROM vector)",
    "{} texts belong to no memory.": "SELECT count(*) FROM body WHERE id >> 20 NOT IN (SELECT id FROM memory)",
    "{} filter entries belong to no memory.": "SELECT count(*) FROM filter_entry WHERE memory NOT IN (SELECT id FROM memory)",
    "{} messages belong to no memory.": "SELECT count(*) FROM message WHERE memory NOT IN (SELECT id FROM memory)",
    "{} messages belong to no session.": "SELECT count(*) FROM message WHERE session NOT IN (SELECT id FROM session)",
    "{} vectors of documents belong to no memory.": "SELECT count(*) FROM document_vector"
    " WHERE memory NOT IN (SELECT id FROM memory)",
}


def problems(connection: apsw.Connection) -> list[str]:
    """The problems, a sentence each; inside a transaction.

    The connection must be a new one: an old one has pages in memory, and FTS5 may take what others changed for damage.
    """
    try:
        found = [*_structure(connection), *_counts(connection), *_memories(connection), *_vectors(connection)]
        found += _graph(connection)
    except (apsw.CorruptError, apsw.NotADBError) as error:
        return [f"The file is damaged and cannot be read to its end: {error}."]
    more = [f"There are {len(found) - _MOST_REPORTED} more problems."] if len(found) > _MOST_REPORTED else []
    return found[:_MOST_REPORTED] + more


def _structure(connection: apsw.Connection) -> Iterator[str]:
    """Pages and trees, and the word index too, which checks itself."""
    for (sentence,) in rows(connection, "PRAGMA integrity_check"):
        if sentence != "ok":
            yield f"The structure of the file is damaged: {sentence}."


def _counts(connection: apsw.Connection) -> Iterator[str]:
    for sentence, statement in _COUNTED.items():
        if count := one(connection, statement):
            yield sentence.format(count)


def _memories(connection: apsw.Connection) -> Iterator[str]:
    for row in memories.everything(connection):
        if not _is_intact(connection, row):
            yield f"Memory {row.uid} is not what was stored: its text, metadata or chunks were changed."
        elif not filter_index.has_all(connection, row.id, row.filter_entries):
            yield f"Memory {row.uid} cannot be filtered by all that it has."


def _is_intact(connection: apsw.Connection, row: Row) -> bool:
    return row.is_intact(texts.read(connection, row.id), texts.read_chunks(connection, row.chunk_numbers))


def _vectors(connection: apsw.Connection) -> Iterator[str]:
    chunks = rows(connection, "SELECT value, crc, bits FROM vector JOIN code USING (id)")
    changed = sum(
        vectors.checksum(value) != crc or vectors.signs(np.frombuffer(value, np.float16)) != bits
        for value, crc, bits in chunks
    )
    documents = rows(connection, "SELECT value, crc FROM document_vector")
    changed += sum(vectors.checksum(value) != crc for value, crc in documents)
    if changed:
        yield f"{changed} vectors or codes are not what was stored."


# A sentence with the number of cases, and the statement that counts them.
_COUNTED_IN_GRAPH = {
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


def _graph(connection: apsw.Connection) -> Iterator[str]:
    """Rows that belong to nothing, wrong counts, changed names."""
    for sentence, statement in _COUNTED_IN_GRAPH.items():
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
