"""The arrays that stores and search exchange. numpy is imported here and where arrays are computed, not by plain records."""

import math

import numpy as np
from numpy.typing import NDArray

from zapomni_db.errors import InvalidInputError
from zapomni_db.records import LARGEST_NUMBER

Vector = NDArray[np.float32]
"""A vector, or a matrix with one in each row."""
Rows = NDArray[np.int64]
"""Numbers of chunks or memories, or something counted for each."""
Mask = NDArray[np.bool_]
"""Yes or no for each chunk."""


def check_own_vector(vector: Vector) -> None:
    """InvalidInputError for a vector of a document that has no cosine with any other."""
    largest = np.abs(vector).max() if np.ndim(vector) == 1 and len(vector) else math.inf
    if not largest <= LARGEST_NUMBER:  # also false for NaN
        raise InvalidInputError(f"a document's vector must be a list of numbers up to {LARGEST_NUMBER:g}")


def length_of(vector: Vector) -> float:
    """The length of a vector, also where the squares of its numbers are no single precision."""
    return math.sqrt(float(np.square(vector, dtype=np.float64).sum()))
