"""The live chunks of one workspace at one moment: arrays from memory, the rest from the same transaction."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import apsw
import numpy as np

from zapomni_db.arrays import Mask, Rows, Vector
from zapomni_db.errors import EmbedderMismatchError
from zapomni_db.filters import Filter
from zapomni_db.records import ChunkFound, EmbedderIdentity
from zapomni_db.sqlite import chunks, codes, facets, terms
from zapomni_db.sqlite.codes import Codes
from zapomni_db.sqlite.connections import one
from zapomni_db.sqlite.connections import rows as fetch
from zapomni_db.sqlite.embedders import Embedder
from zapomni_db.sqlite.failures import damaged
from zapomni_db.sqlite.samples import Samples
from zapomni_db.sqlite.values import to_micros

_VECTORS = """
SELECT CAST(group_concat(vector.value, '') AS BLOB) FROM carray(?) wanted CROSS JOIN vector ON vector.id = wanted.value
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SQLiteSnapshot:
    """A Snapshot; good for as long as the transaction is open."""

    connection: apsw.Connection
    workspace: str
    version: int
    serving: Embedder | None
    memory_numbers: Rows
    moments: Rows
    neighbours: Rows
    chunk_numbers: Rows
    places: Rows
    lengths: Rows
    codes: Codes
    embedded: Mask
    samples: Samples

    @property
    def embedder(self) -> EmbedderIdentity | None:
        return self.serving.identity if self.serving else None

    @property
    def chunks(self) -> int:
        return len(self.chunk_numbers)

    @property
    def memories(self) -> int:
        return len(self.memory_numbers)

    def postings(self, wanted: Collection[str]) -> dict[str, tuple[Rows, Rows]]:
        found = terms.postings(self.connection, wanted)
        return {term: self._live(numbers, counts) for term, (numbers, counts) in found.items()}

    def _live(self, numbers: Rows, counts: Rows) -> tuple[Rows, Rows]:
        rows, live = _find(self.chunk_numbers, numbers)
        return rows, counts[live]

    def mask(self, wanted: Filter) -> Mask:
        chosen = np.ones(self.memories, np.bool_)
        for group in facets.asked(self.workspace, wanted):
            holding = np.zeros(self.memories, np.bool_)
            holding[_find(self.memory_numbers, facets.holding(self.connection, group))[0]] = True
            chosen &= holding
        if wanted.date_from:
            chosen &= self.moments >= to_micros(wanted.date_from)
        if wanted.date_to:
            chosen &= self.moments <= to_micros(wanted.date_to)
        return chosen[self.places]

    def nearest(self, vector: Vector, count: int, mask: Mask | None = None) -> Rows:
        self._check_dimension(vector)
        if not self.embedded.all():
            mask = self.embedded if mask is None else self.embedded & mask
        return codes.nearest(self.codes, codes.signs(vector), count, mask)

    def cosines(self, rows: Rows, vector: Vector) -> Vector:
        self._check_dimension(vector)
        if self.serving is None or not len(rows):
            return np.zeros(len(rows), np.float32)
        return codes.cosines(self.samples.vectors(rows, partial(self._vectors, self.serving)), vector)

    def sample(self, count: int) -> Rows:
        return self.samples.rows(count, self.chunks)

    def authors(self, places: Rows) -> list[str]:
        return self._column("author", places)

    def identifiers(self, places: Rows) -> list[str]:
        return self._column("uid", places)

    def found(self, rows: Rows) -> list[ChunkFound]:
        return chunks.found(self.connection, self.chunk_numbers[rows])

    def _vectors(self, embedder: Embedder, rows: Rows) -> Vector:
        """The vectors of rows, not numbers where one is still to be made."""
        there = self.embedded[rows]
        if not there.all():
            vectors = np.full((len(rows), embedder.identity.dimension), np.nan, np.float32)
            if there.any():
                vectors[there] = self._vectors(embedder, rows[there])
            return vectors
        numbers = self.chunk_numbers[rows] + embedder.vector_number(0)
        kept = one(self.connection, _VECTORS, apsw.carray(numbers)) or b""
        if len(kept) != len(rows) * embedder.identity.dimension * np.dtype(np.float16).itemsize:
            raise damaged(Path(self.connection.filename), "vectors are missing")
        return codes.read_vectors(kept, len(rows))

    def _column(self, name: str, places: Rows) -> list[str]:
        if not len(places):
            return []
        column = f"SELECT {name} FROM carray(?) wanted CROSS JOIN memory ON memory.id = wanted.value"  # noqa: S608 - ours
        return [value for (value,) in fetch(self.connection, column, apsw.carray(self.memory_numbers[places]))]

    def _check_dimension(self, vector: Vector) -> None:
        if self.serving and len(vector) != self.serving.identity.dimension:
            raise EmbedderMismatchError(
                f"The vectors of this store have {self.serving.identity.dimension} dimensions, not {len(vector)}."
            )


def _find(known: Rows, wanted: Rows) -> tuple[Rows, Mask]:
    """Where wanted numbers are among known ones, which grow; and which of them are there at all."""
    if len(known) and known[-1] - known[0] == len(known) - 1:  # without gaps there is nothing to search
        where = wanted - known[0]
        there = (where >= 0) & (where < len(known))
        return where[there], there
    where = np.searchsorted(known, wanted)
    there = where < len(known)
    there[there] = known[where[there]] == wanted[there]
    return where[there], there
