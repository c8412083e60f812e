"""Vectors of the caller's own, as they are kept: single precision, with their length; beside them a sketch and their signs."""

import math
import struct
from collections.abc import Sequence

import apsw
import numpy as np
from numpy.typing import NDArray

from zapomni_db.arrays import Rows, Vector
from zapomni_db.errors import InvalidInputError
from zapomni_db.records import LARGEST_NUMBER
from zapomni_db.sqlite import codes
from zapomni_db.sqlite.connections import one, rows

_STEP = struct.Struct("=f")
_BLOCK = 128  # vectors read at once: little enough that no thread asks the system for memory each time


def keep(connection: apsw.Connection, given: Sequence[tuple[int, Vector]]) -> None:
    """Keep the vectors of documents, by number; inside a transaction."""
    rows, sketches, signs = [], [], []
    for memory, vector in given:
        largest = check(vector)
        value = np.ascontiguousarray(vector, np.float32)
        length, kept = length_of(value), value.tobytes()
        rows.append((memory, len(value), kept, length, codes.checksum(kept)))
        sketches.append((memory, sketch(value, length, largest)))
        signs.append((len(value), memory, codes.signs(value)))
    connection.executemany("INSERT INTO document_vector VALUES(?, ?, ?, ?, ?)", rows)
    connection.executemany("INSERT INTO document_sketch VALUES(?, ?)", sketches)
    connection.executemany("INSERT INTO document_code VALUES(?, ?, ?)", signs)


def drop(connection: apsw.Connection, memory: int) -> None:
    """Forget the vector of a document."""
    dimension = "(SELECT dimension FROM document_vector WHERE memory = ?1)"
    connection.execute(f"DELETE FROM document_code WHERE dimension = {dimension} AND memory = ?1", (memory,))  # noqa: S608 - ours
    connection.execute("DELETE FROM document_sketch WHERE memory = ?", (memory,))
    connection.execute("DELETE FROM document_vector WHERE memory = ?", (memory,))


def check(vector: Vector) -> float:
    """The largest number of a vector, whatever its sign; InvalidInputError where it has no cosine with any other."""
    largest = np.abs(vector).max() if np.ndim(vector) == 1 and len(vector) else math.inf
    if not largest <= LARGEST_NUMBER:  # which is so for what is not a number too
        raise InvalidInputError(f"a document's vector must be a list of numbers up to {LARGEST_NUMBER:g}")
    return float(largest)


def length_of(vector: Vector) -> float:
    """The length of a vector."""
    return math.sqrt(float(np.square(vector, dtype=np.float64).sum()))


def read(value: bytes) -> Vector:
    """A vector as it was kept."""
    return np.frombuffer(value, np.float32)


def sketch(vector: Vector, length: float, largest: float) -> bytes:
    """A vector in steps of a 127th of its largest number, after what a step is at length 1."""
    step = largest / 127 or 1.0
    steps = np.divide(vector, step, dtype=np.float64)
    return _STEP.pack(step / (length or 1.0)) + np.rint(steps, out=steps).astype(np.int8).tobytes()


def likeliest(connection: apsw.Connection, memories: Rows, vector: Vector, count: int) -> Rows:
    """Those of these documents whose cosines are the highest by their sketches, which are read much faster."""
    kept = one(
        connection,
        "SELECT CAST(group_concat(s.value, '') AS BLOB) FROM carray(?) wanted"
        " CROSS JOIN document_sketch s ON s.memory = wanted.value",
        apsw.carray(memories),
    )
    sketches = np.frombuffer(kept, [("step", np.float32), ("steps", np.int8, len(vector))])
    unit = np.asarray(vector / np.float32(length_of(vector) or 1.0), np.float32)
    blocks = (sketches["steps"][at : at + _BLOCK] for at in range(0, len(memories), _BLOCK))
    about = np.concatenate([block.astype(np.float32) @ unit for block in blocks]) * sketches["step"]
    return memories[np.argsort(-about, kind="stable")[:count]]


def cosines(connection: apsw.Connection, memories: Rows, vector: Vector) -> NDArray[np.float64]:
    """The exact cosine of each of these documents' vectors with a vector; 0 where one has no length.

    In double precision, each row for itself: equal vectors have equal cosines wherever they stand.
    """
    unit = np.asarray(vector, np.float64) / (length_of(vector) or 1.0)
    blocks = [memories[at : at + _BLOCK] for at in range(0, len(memories), _BLOCK)]
    return np.concatenate([_cosines(connection, block, unit) for block in blocks] or [np.empty(0)])


def _cosines(connection: apsw.Connection, memories: Rows, unit: NDArray[np.float64]) -> NDArray[np.float64]:
    found = list(
        rows(
            connection,
            "SELECT v.value, v.length FROM carray(?) wanted CROSS JOIN document_vector v ON v.memory = wanted.value",
            apsw.carray(memories),
        )
    )
    matrix = np.frombuffer(b"".join(value for value, _ in found), np.float32).reshape(len(found), len(unit))
    lengths = np.array([length or 1.0 for _, length in found])
    return np.asarray(np.vecdot(matrix.astype(np.float64), unit) / lengths)
