"""Finds the documents whose own vectors are nearest: of many by their signs, in memory, then by their sketches, then exactly."""

import threading
from typing import Any

import apsw
import numpy as np

from zapomni_db.arrays import Mask, Rows, Vector
from zapomni_db.filters import Filter
from zapomni_db.records import DocumentRecord
from zapomni_db.sqlite import codes, facets
from zapomni_db.sqlite.access import Access
from zapomni_db.sqlite.changes import changed_since
from zapomni_db.sqlite.codes import Codes
from zapomni_db.sqlite.columns import Column
from zapomni_db.sqlite.connections import last_change, one, transaction
from zapomni_db.sqlite.conversations import documents, vectors
from zapomni_db.sqlite.values import integers, to_micros

EXACT = 2000
"""Documents that are all compared exactly; of more, twice as many are compared by their sketches."""
EXACT_PER_HIT = 4
SURE = 200
SURE_PER_HIT = 10

_READ = """
SELECT group_concat(memory), CAST(group_concat(bits, '') AS BLOB) FROM (
    SELECT c.memory, c.bits FROM {} CROSS JOIN document_code c ON c.dimension = :dimension AND c.memory = m.id
    WHERE m.kind = 'document' AND m.deleted_at IS NULL AND m.replaced_by IS NULL AND m.workspace = :workspace
    ORDER BY c.memory
)
"""
_ALL = _READ.format("memory m INDEXED BY memory_documents")
_THESE = _READ.format("carray(:numbers) wanted CROSS JOIN memory m ON m.id = wanted.value")


class Held:
    """The live documents of one workspace with a vector of one dimension: their numbers, growing, and their codes."""

    def __init__(self, connection: apsw.Connection, workspace: str, dimension: int) -> None:
        self._bound: dict[str, Any] = {"workspace": workspace, "dimension": dimension}
        self._seq = 0
        self._load(connection)

    @property
    def arrays(self) -> tuple[Rows, Codes]:
        """What it holds now; stays as it is when this goes on."""
        return self._numbers.rows, self._codes.rows

    def refresh(self, connection: apsw.Connection) -> None:
        """Bring it to the moment of the connection's transaction."""
        seq = last_change(connection)
        if seq == self._seq:
            return
        changed = changed_since(connection, self._bound["workspace"], self._seq) if seq > self._seq else None
        if changed is None:
            self._load(connection)
        elif changed:
            self._update(connection, np.array(sorted(changed), np.int64))
        self._seq = seq

    def _load(self, connection: apsw.Connection) -> None:
        self._seq = last_change(connection)
        self._set(*self._read(connection, _ALL))

    def _update(self, connection: apsw.Connection, changed: Rows) -> None:
        numbers, found = self._read(connection, _THESE, numbers=apsw.carray(changed))
        known = self._numbers.rows
        kept = ~np.isin(known, changed)
        if not kept.all():
            self._set(known[kept], self._codes.rows[:, kept])
        if len(numbers) and numbers[0] < self._numbers.rows.max(initial=0):  # restored: to its old place
            order = np.argsort(np.concatenate([self._numbers.rows, numbers]), kind="stable")
            self._set(
                np.concatenate([self._numbers.rows, numbers])[order],
                np.concatenate([self._codes.rows, found], axis=1)[:, order],
            )
        else:
            self._numbers.extend(numbers)
            self._codes.extend(found)

    def _set(self, numbers: Rows, held: Codes) -> None:
        self._numbers, self._codes = Column(numbers), Column(held)

    def _read(self, connection: apsw.Connection, statement: str, **more: Any) -> tuple[Rows, Codes]:
        listed, bits = connection.execute(statement, self._bound | more).get
        numbers = integers(listed)
        return numbers, codes.read_codes(bits or b"", codes.words_of(self._bound["dimension"]), len(numbers))


class Nearness:
    """What is held of all workspaces that were asked for; shared by the reading threads."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._held: dict[tuple[str, int], Held] = {}
        self._lock = threading.Lock()

    def search(
        self, connection: apsw.Connection, workspace: str, vector: Vector, limit: int, wanted: Filter
    ) -> list[tuple[DocumentRecord, float]]:
        """The nearest documents with their cosines."""
        vectors.check(vector)
        with transaction(connection, "DEFERRED"):
            numbers, held = self._current(connection, workspace, len(vector))
            mask = _mask(connection, workspace, numbers, wanted)
            count = max(EXACT, EXACT_PER_HIT * limit)
            near = numbers[codes.nearest(held, codes.signs(vector), 2 * count, mask)]
            if len(near) > count:
                near = vectors.likeliest(connection, near, vector, max(SURE, SURE_PER_HIT * limit))
            cosines = vectors.cosines(connection, near, vector)
            best = np.lexsort((-near, -cosines))[:limit]
            return list(zip(documents.read(connection, near[best]), cosines[best].tolist(), strict=True))

    def _current(self, connection: apsw.Connection, workspace: str, dimension: int) -> tuple[Rows, Codes]:
        """What is held at the moment of the transaction, which has read nothing before: it only ever goes forward."""
        with self._lock:
            self._access.open().database.guard(connection)
            held = self._held.pop((workspace, dimension), None)  # one that fails half-way is not kept
            if held is None:
                held = Held(connection, workspace, dimension)
            else:
                held.refresh(connection)
            self._held[workspace, dimension] = held
            return held.arrays


def _mask(connection: apsw.Connection, workspace: str, numbers: Rows, wanted: Filter) -> Mask | None:
    """Which of these documents meet a filter; None where it asks for nothing."""
    if not wanted:
        return None
    chosen = np.ones(len(numbers), np.bool_)
    for group in facets.asked(workspace, wanted):
        chosen &= np.isin(numbers, facets.holding(connection, group))
    if wanted.date_from or wanted.date_to:
        moments = _moments(connection, numbers)
        chosen &= moments >= (to_micros(wanted.date_from) if wanted.date_from else moments)
        chosen &= moments <= (to_micros(wanted.date_to) if wanted.date_to else moments)
    return chosen


def _moments(connection: apsw.Connection, numbers: Rows) -> Rows:
    if not len(numbers):
        return numbers
    statement = "SELECT group_concat(moment) FROM carray(?) wanted CROSS JOIN memory ON memory.id = wanted.value"
    return integers(one(connection, statement, apsw.carray(numbers)))
