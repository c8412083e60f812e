"""Looks for damage: SQLite's own checks, what must be there in equal number, and the seals, for SQLite has no checksums."""

from collections.abc import Iterator
from typing import Any

import apsw
import numpy as np

from zapomni_db.sqlite import chunks, codes, memories
from zapomni_db.sqlite.bodies import read_body
from zapomni_db.sqlite.connections import one, rows
from zapomni_db.sqlite.facets import has_facets
from zapomni_db.sqlite.graph import checking as graph
from zapomni_db.sqlite.memories import Row

_MOST_REPORTED = 20

# What must not be: a sentence with the number of cases, and how they are counted.
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
    "{} filter entries belong to no memory.": "SELECT count(*) FROM facet WHERE memory NOT IN (SELECT id FROM memory)",
    "{} messages belong to no memory.": "SELECT count(*) FROM message WHERE memory NOT IN (SELECT id FROM memory)",
    "{} messages belong to no session.": "SELECT count(*) FROM message WHERE session NOT IN (SELECT id FROM session)",
    "{} vectors of documents belong to no memory.": "SELECT count(*) FROM document_vector"
    " WHERE memory NOT IN (SELECT id FROM memory)",
    "{} vectors of documents have no code.": "SELECT count(*) FROM document_vector"
    " WHERE (dimension, memory) NOT IN (SELECT dimension, memory FROM document_code)",
    "{} vectors of documents have no sketch.": "SELECT count(*) FROM document_vector"
    " WHERE memory NOT IN (SELECT memory FROM document_sketch)",
    "{} codes of documents have no vector.": "SELECT count(*) FROM document_code"
    " WHERE (dimension, memory) NOT IN (SELECT dimension, memory FROM document_vector)",
}


def problems(connection: apsw.Connection) -> list[str]:
    """What is wrong, a sentence each; inside a transaction.

    The connection must be a new one: an old one has pages in memory, and FTS5 may take what others changed for damage.
    """
    try:
        found = [*_structure(connection), *_counts(connection), *_memories(connection), *_vectors(connection)]
        found += graph.problems(connection)
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
        if not _is_sealed(connection, row):
            yield f"Memory {row.uid} is not what was stored: its text, metadata or chunks were changed."
        elif not has_facets(connection, row.id, row.facets):
            yield f"Memory {row.uid} cannot be filtered by all that it has."


def _is_sealed(connection: apsw.Connection, row: Row) -> bool:
    return row.is_sealed(read_body(connection, row.id), chunks.read(connection, row.chunk_numbers))


def _vectors(connection: apsw.Connection) -> Iterator[str]:
    precisions: dict[str, Any] = {
        "SELECT value, crc, bits FROM vector JOIN code USING (id)": np.float16,
        "SELECT value, crc, bits FROM document_vector JOIN document_code USING (dimension, memory)": np.float32,
    }
    changed = sum(
        codes.checksum(value) != crc or codes.signs(np.frombuffer(value, precision)) != bits
        for statement, precision in precisions.items()
        for value, crc, bits in rows(connection, statement)
    )
    if changed:
        yield f"{changed} vectors or codes are not what was stored."
