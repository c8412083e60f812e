"""The vectors of entities, by embedder."""

from collections.abc import Sequence

import apsw
import numpy as np

from zapomni_db.arrays import Rows, Vector
from zapomni_db.errors import EmbedderMismatchError
from zapomni_db.records import EmbedderIdentity
from zapomni_db.sqlite import codes, embedders
from zapomni_db.sqlite.connections import one, rows
from zapomni_db.sqlite.embedders import Embedder
from zapomni_db.sqlite.graph.identifiers import uid_of
from zapomni_db.sqlite.graph.numbers import bound
from zapomni_db.sqlite.values import integers

_CODES = """
SELECT group_concat(id), CAST(group_concat(bits, '') AS BLOB) FROM (
    SELECT entity.id, bits FROM entity CROSS JOIN entity_code code ON code.id = entity.id + ?
    WHERE workspace = ? AND memories > 0
)
"""
_PENDING = """
SELECT lower(hex(uid)), name FROM entity WHERE NOT EXISTS (SELECT 1 FROM entity_code WHERE id = entity.id + ?1)
AND (?2 IS NULL OR workspace = ?2) ORDER BY id DESC LIMIT ?3
"""


def without(
    connection: apsw.Connection, identity: EmbedderIdentity, limit: int, workspace: str | None
) -> list[tuple[str, str]]:
    """Ids and names of entities that have no vector by this embedder, hidden ones too; of one workspace or of all."""
    embedder = embedders.find(connection, identity)
    pending = one(connection, "SELECT count(*) FROM entity")
    if embedder:
        have = "SELECT count(*) FROM entity_code WHERE id BETWEEN ? AND ?"
        pending -= one(connection, have, *embedder.vector_numbers)
    if pending <= 0:
        return []
    first = embedder.vector_number(0) if embedder else 0
    return list(rows(connection, _PENDING, first, workspace, min(limit, pending)))


def fill(connection: apsw.Connection, identity: EmbedderIdentity, vectors: Sequence[tuple[str, Vector]]) -> None:
    """Keep vectors of entities that are still there; inside a transaction."""
    embedder = embedders.register(connection, identity)
    for entity_id, vector in vectors:
        number = one(connection, "SELECT id FROM entity WHERE uid = ?", uid_of(entity_id))
        if number is not None:
            value = codes.keep(vector, identity.dimension)
            key = embedder.vector_number(number)
            kept = value.tobytes()
            connection.execute("REPLACE INTO entity_vector VALUES(?, ?, ?)", (key, kept, codes.checksum(kept)))
            connection.execute("REPLACE INTO entity_code VALUES(?, ?)", (key, codes.signs(value)))


def nearest(
    connection: apsw.Connection, workspace: str, identity: EmbedderIdentity, vector: Vector, count: int
) -> list[int]:
    """Numbers of at least `count` live entities that are probably nearest by cosine, in no order."""
    embedder = _embedder(connection, identity, vector)
    if embedder is None:
        return []
    listed, bits = one(connection, _CODES, embedder.vector_number(0), workspace)
    numbers: Rows = integers(listed)
    read = codes.read_codes(bits or b"", codes.words_of(identity.dimension), len(numbers))
    found: list[int] = numbers[codes.nearest(read, codes.signs(vector), count, None)].tolist()
    return found


def cosines(
    connection: apsw.Connection, identity: EmbedderIdentity, vector: Vector, entities: Sequence[int]
) -> dict[int, float]:
    """The exact cosine of each of these entities that has a vector with a unit vector."""
    embedder = _embedder(connection, identity, vector)
    if embedder is None or not entities:
        return {}
    statement = "SELECT v.id, v.value FROM carray(?) wanted CROSS JOIN entity_vector v ON v.id = wanted.value"
    found = list(rows(connection, statement, bound(map(embedder.vector_number, entities))))
    if not found:
        return {}
    read = codes.read_vectors(b"".join(value for _, value in found), len(found))
    first = embedder.vector_number(0)
    near = codes.cosines(read, np.asarray(vector, np.float32)).tolist()
    return {number - first: cosine for (number, _), cosine in zip(found, near, strict=True)}


def drop(connection: apsw.Connection, entity: int) -> None:
    """Forget the vectors of an entity, by every embedder."""
    for embedder in embedders.everyone(connection):
        key = (embedder.vector_number(entity),)
        connection.execute("DELETE FROM entity_vector WHERE id = ?", key)
        connection.execute("DELETE FROM entity_code WHERE id = ?", key)


def forget(connection: apsw.Connection, embedder: Embedder, limit: int) -> bool:
    """Forget some vectors of an embedder; False if there are none."""
    first, last = embedder.vector_numbers
    some = "SELECT max(id) FROM (SELECT id FROM entity_code WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?)"
    end = one(connection, some, first, last, limit)
    connection.execute("DELETE FROM entity_vector WHERE id BETWEEN ? AND ?", (first, end))
    connection.execute("DELETE FROM entity_code WHERE id BETWEEN ? AND ?", (first, end))
    return end is not None


def _embedder(connection: apsw.Connection, identity: EmbedderIdentity, vector: Vector) -> Embedder | None:
    if np.shape(vector) != (identity.dimension,):
        raise EmbedderMismatchError(
            f"A vector by {embedders.describe(identity)} cannot have the shape {np.shape(vector)}."
        )
    return embedders.check(connection, identity) or embedders.find(connection, identity)
