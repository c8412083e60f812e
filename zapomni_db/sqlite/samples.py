"""The vectors of a sample: every search asks for them, so they are kept for as long as the rows mean the same."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from zapomni_db.arrays import Rows, Vector


@dataclass(slots=True)
class Sample:
    """Some rows, and their vectors once somebody read them. They are the only vectors that stay in memory."""

    rows: Rows
    vectors: Vector | None = None


class Samples:
    """The samples of one state of a workspace, by size."""

    def __init__(self) -> None:
        self._samples: dict[int, Sample] = {}

    def rows(self, count: int, chunks: int) -> Rows:
        """At most `count` rows of all, evenly spread; the same array each time."""
        if count not in self._samples:
            rows = np.linspace(0, chunks - 1, min(count, chunks)).astype(np.int64)
            rows.flags.writeable = False
            self._samples[count] = Sample(rows)
        return self._samples[count].rows

    def vectors(self, rows: Rows, read: Callable[[Rows], Vector]) -> Vector:
        """The vectors of rows; read once, if the rows are a sample."""
        sample = next((one for one in self._samples.values() if one.rows is rows), None)
        if sample is None:
            return read(rows)
        if sample.vectors is None:
            sample.vectors = read(rows)
        return sample.vectors
