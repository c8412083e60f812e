"""The vectors of chunks, by embedder and chunk, and their binary codes.

A code has one bit per dimension, the sign. The codes of all chunks of a workspace are in memory, a 64-bit word of every chunk side
by side, which is how they are compared fastest: the nearest are found without reading vectors. Padding bits are zero.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import apsw
import numpy as np
from numpy.typing import NDArray

from zapomni_db.arrays import Mask, Rows, Vector
from zapomni_db.errors import EmbedderMismatchError, InvalidInputError
from zapomni_db.records import EmbedderIdentity, VectorWeight
from zapomni_db.sqlite.connection import one, rows

Codes = NDArray[np.uint64]
Kept = NDArray[np.float16]

_LARGEST = 65_504  # in half precision
_SHIFT = 13  # by how many bits fractions of single precision are longer
_SIGN_AND_REST = np.int32(-0x70002000)  # without the copies of the sign that stand between the two
_REBASED = np.float32(2.0**112)  # exponents begin at -127 instead of -15
_WORD_BITS = 64
_BLOCK = 16_384  # codes compared at once: they and the distances stay in the processor's cache
_DENSE = 4  # a mask that leaves less than a fourth is cheaper to pick than to scan


def to_half(vector: Vector, dimension: int) -> Kept:
    """A vector in half precision, as it is stored; InvalidInputError where it cannot be."""
    if np.shape(vector) != (dimension,):
        raise InvalidInputError(f"a chunk's vector must have {dimension} dimensions, as its embedder says")
    if not np.abs(vector).max(initial=0) <= _LARGEST:  # which is so for what is not a number too
        raise InvalidInputError(f"a chunk's vector must hold numbers up to {_LARGEST:,}")
    return np.asarray(vector).astype(np.float16)


def read_vectors(kept: bytes, count: int) -> Vector:
    """Vectors that stand one behind the other, as rows.

    Several times faster than numpy's own conversion, and the same for every finite number: sign, exponent and fraction are
    put where single precision has them, and the product sets right where the exponent begins.
    """
    bits = np.frombuffer(kept, np.int16).astype(np.int32)
    bits <<= _SHIFT
    bits &= _SIGN_AND_REST
    numbers = bits.view(np.float32)
    numbers *= _REBASED
    return numbers.reshape(count, len(numbers) // count)


def cosines(vectors: Vector, vector: Vector) -> Vector:
    """The cosine of each vector with a unit vector; 0 for one without length."""
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    return np.asarray((vectors @ vector) / np.maximum(lengths, np.finfo(np.float32).tiny), np.float32)


def checksum(kept: bytes) -> int:
    """Notices that a kept vector is not what it was."""
    return zlib.crc32(kept)


def code_words(dimension: int) -> int:
    """The number of words of a code."""
    return -(-dimension // _WORD_BITS)


def signs(vector: Kept | Vector) -> bytes:
    """The code of a vector."""
    return np.packbits(vector > 0).tobytes().ljust(code_words(len(vector)) * 8, b"\0")


def read_codes(bits: bytes, words: int, count: int) -> Codes:
    """Codes that stand one behind the other, as columns."""
    return np.ascontiguousarray(np.frombuffer(bits, "<u8").reshape(count, words).T)


def nearest(codes: Codes, code: bytes, count: int, mask: Mask | None) -> Rows:
    """At least `count` rows with the fewest different bits, or all rows of the mask."""
    rows = None if mask is None else np.flatnonzero(mask)
    total = codes.shape[1] if rows is None else len(rows)
    if total <= count:
        return np.arange(total) if rows is None else rows
    distances = _distances_of(rows, codes, np.frombuffer(code, "<u8"))
    near = np.flatnonzero(distances <= _cut(distances, count))
    return near if rows is None else rows[near]


def _distances_of(rows: Rows | None, codes: Codes, wanted: Codes) -> NDArray[np.uint16]:
    if rows is None:
        return _distances(codes, wanted)
    if len(rows) * _DENSE < codes.shape[1]:
        return _distances(codes[:, rows], wanted)
    return _distances(codes, wanted)[rows]


def _distances(codes: Codes, wanted: Codes) -> NDArray[np.uint16]:
    distances = np.zeros(codes.shape[1], np.uint16)
    for start in range(0, codes.shape[1], _BLOCK):
        block = slice(start, start + _BLOCK)
        for word, bits in zip(codes, wanted, strict=True):
            distances[block] += np.bitwise_count(word[block] ^ bits)
    return distances


def _cut(distances: NDArray[np.uint16], count: int) -> int:
    """The distance within which at least `count` are."""
    return int(np.searchsorted(np.cumsum(np.bincount(distances)), count))


_SELECT = "SELECT id, name, model, dimension FROM embedder WHERE "
_CHUNKS = 1 << 40  # numbers for chunks, in the numbers of each embedder's vectors


@dataclass(frozen=True, slots=True)
class Embedder:
    """An embedder that the store knows, by number."""

    number: int
    identity: EmbedderIdentity

    def vector_number(self, chunk: int) -> int:
        """Under which number the vector and the code of a chunk are kept."""
        return self.number * _CHUNKS + chunk

    @property
    def vector_numbers(self) -> tuple[int, int]:
        """The first and the last of its numbers."""
        return self.vector_number(0), self.vector_number(_CHUNKS - 1)


def serving(connection: apsw.Connection, workspace: str) -> Embedder | None:
    """The embedder whose vectors serve in a workspace; None while there are none."""
    return _embedder(connection, "id = (SELECT embedder FROM workspace WHERE name = ?)", workspace)


def find_embedder(connection: apsw.Connection, identity: EmbedderIdentity) -> Embedder | None:
    """The embedder, if the store has vectors of it."""
    return _embedder(connection, "(name, model, dimension) = (?, ?, ?)", *_columns(identity))


def _embedder(connection: apsw.Connection, which: str, *values: str | int) -> Embedder | None:
    row = one(connection, _SELECT + which, *values)
    return Embedder(row[0], EmbedderIdentity(*row[1:])) if row else None


def _columns(identity: EmbedderIdentity) -> tuple[str, str, int]:
    return identity.name, identity.model, identity.dimension


def all_embedders(connection: apsw.Connection) -> list[Embedder]:
    """All embedders that the store knows."""
    found = rows(connection, "SELECT id, name, model, dimension FROM embedder")
    return [Embedder(number, EmbedderIdentity(*columns)) for number, *columns in found]


def set_serving(connection: apsw.Connection, workspace: str, embedder: Embedder) -> None:
    """Let this embedder's vectors serve in a workspace."""
    connection.execute("REPLACE INTO workspace VALUES(?, ?)", (workspace, embedder.number))


def require_embedder(connection: apsw.Connection, workspace: str, identity: EmbedderIdentity) -> Embedder:
    """The embedder that serves in a workspace; EmbedderMismatchError if it is another. The first memory settles it."""
    current = serving(connection, workspace)
    if current is None:
        current = register_embedder(connection, identity)
        set_serving(connection, workspace, current)
    elif current.identity != identity:
        raise EmbedderMismatchError(
            f"The vectors of workspace '{workspace}' were made by {describe(current.identity)}, not by {describe(identity)}."
            " Use that embedder, or run `zapomni reindex` to embed everything again."
        )
    return current


def register_embedder(connection: apsw.Connection, identity: EmbedderIdentity) -> Embedder:
    """The embedder with its number, a new one if need be."""
    number = one(
        connection,
        "INSERT INTO embedder(name, model, dimension) VALUES(?, ?, ?)"
        " ON CONFLICT DO UPDATE SET name = excluded.name RETURNING id",
        *_columns(identity),
    )
    return Embedder(number, identity)


def weight_of(connection: apsw.Connection, identity: EmbedderIdentity) -> VectorWeight | None:
    """The recorded weight of an embedder."""
    statement = (
        "SELECT weight, cyrillic FROM embedder WHERE (name, model, dimension) = (?, ?, ?) AND weight IS NOT NULL"
    )
    row = one(connection, statement, *_columns(identity))
    return VectorWeight(row[0], bool(row[1])) if row else None


def set_weight(connection: apsw.Connection, identity: EmbedderIdentity, weight: VectorWeight) -> None:
    """Record the weight of an embedder; inside a transaction."""
    number = register_embedder(connection, identity).number
    found = (weight.weight, int(weight.cyrillic), number)
    connection.execute("UPDATE embedder SET weight = ?, cyrillic = ? WHERE id = ?", found)


def describe(identity: EmbedderIdentity) -> str:
    """An embedder's name for people."""
    return f"{identity.name} ({identity.model}, {identity.dimension} dimensions)"


def insert_vectors(connection: apsw.Connection, embedder: Embedder, vectors: Sequence[tuple[int, Vector]]) -> None:
    """Keep the vectors of chunks, by their numbers, and their codes."""
    if not vectors:
        return
    kept = [(embedder.vector_number(chunk), to_half(vector, embedder.identity.dimension)) for chunk, vector in vectors]
    connection.executemany(
        "REPLACE INTO vector VALUES(?, ?, ?)",
        [(number, value.tobytes(), checksum(value.tobytes())) for number, value in kept],
    )
    connection.executemany("REPLACE INTO code VALUES(?, ?)", [(number, signs(value)) for number, value in kept])


def delete_vectors(connection: apsw.Connection, chunks: range) -> None:
    """Forget the vectors of chunks that follow each other, by every embedder."""
    for (number,) in list(rows(connection, "SELECT id FROM embedder")):
        bounds = (number * _CHUNKS + chunks.start, number * _CHUNKS + chunks.stop - 1)
        connection.execute("DELETE FROM vector WHERE id BETWEEN ? AND ?", bounds)
        connection.execute("DELETE FROM code WHERE id BETWEEN ? AND ?", bounds)


def delete_numbered(connection: apsw.Connection, numbers: Rows) -> None:
    """Forget vectors and codes by their numbers."""
    for table in ("vector", "code"):
        connection.execute(f"DELETE FROM {table} WHERE id IN (SELECT value FROM carray(?))", (apsw.carray(numbers),))  # noqa: S608 - ours


def delete_unused_embedders(connection: apsw.Connection) -> None:
    """Forget the embedders that serve no workspace and have no vectors left."""
    for embedder in all_embedders(connection):
        serves = one(connection, "SELECT EXISTS(SELECT 1 FROM workspace WHERE embedder = ?)", embedder.number)
        has = "SELECT EXISTS(SELECT 1 FROM code WHERE id BETWEEN ? AND ?)"
        if not serves and not one(connection, has, *embedder.vector_numbers):
            connection.execute("DELETE FROM embedder WHERE id = ?", (embedder.number,))
