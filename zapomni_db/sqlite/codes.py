"""Vectors as they are kept, and their signs: one bit a dimension, by which the nearest are found without reading vectors.

The codes of all chunks of a workspace are in memory, a 64-bit word of every chunk side by side, because that is how they are
compared fastest. Padding bits are zero in every code.
"""

import zlib

import numpy as np
from numpy.typing import NDArray

from zapomni_db.arrays import Mask, Rows, Vector
from zapomni_db.errors import InvalidInputError

Codes = NDArray[np.uint64]
Kept = NDArray[np.float16]

_LARGEST = 65_504  # in half precision
_SHIFT = 13  # by how many bits fractions of single precision are longer
_SIGN_AND_REST = np.int32(-0x70002000)  # without the copies of the sign that stand between the two
_REBASED = np.float32(2.0**112)  # exponents begin at -127 instead of -15
_WORD_BITS = 64
_BLOCK = 16_384  # codes compared at once: they and the distances stay in the processor's cache
_DENSE = 4  # a mask that leaves less than a fourth is cheaper to pick than to scan


def keep(vector: Vector, dimension: int) -> Kept:
    """A vector as it is kept: half precision."""
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


def words_of(dimension: int) -> int:
    """How many words a code has."""
    return -(-dimension // _WORD_BITS)


def signs(vector: Kept | Vector) -> bytes:
    """The code of a vector."""
    return np.packbits(vector > 0).tobytes().ljust(words_of(len(vector)) * 8, b"\0")


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
