"""The live chunks of a workspace as arrays in memory, kept up to date from the change log."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import numpy as np
from numpy.typing import NDArray

from zapomni_db.arrays import Mask, Rows
from zapomni_db.sqlite import vectors
from zapomni_db.sqlite.connection import damaged, last_change
from zapomni_db.sqlite.memories import changed_since
from zapomni_db.sqlite.search import LiveChunks
from zapomni_db.sqlite.vectors import Codes, Embedder, code_words, read_codes
from zapomni_db.values import integers

_STEPS = (2, 1)
_NONE = -1


def neighbours_of(known: Rows, moments: Rows, conversations: Rows, changed: Rows | None = None) -> Rows:
    """For each memory the places of the two before and the two after it in its conversation, ordered by moment, then place.

    `known` holds the neighbours of the first memories. Only the conversations in `changed` are computed again, or all.
    """
    neighbours = np.full((len(conversations), 4), _NONE, np.int64)
    neighbours[: len(known)] = known
    talking = conversations != 0 if changed is None else np.isin(conversations, changed[changed != 0])
    members = np.flatnonzero(talking)
    neighbours[members] = _NONE
    order = members[np.lexsort((moments[members], conversations[members]))]
    for step in _STEPS:
        _neighbours_at(neighbours, order, conversations[order], step)
    neighbours.flags.writeable = False
    return neighbours


def _neighbours_at(neighbours: Rows, order: Rows, conversations: Rows, step: int) -> None:
    """Enter the neighbours at a distance. Columns: two before, one before, one after, two after."""
    same = conversations[step:] == conversations[:-step]
    earlier, later = order[:-step][same], order[step:][same]
    neighbours[later, 2 - step] = earlier
    neighbours[earlier, 1 + step] = later


_MEMORIES = """
SELECT group_concat(id), group_concat(moment), group_concat(conversation_number), group_concat(first_chunk), group_concat(chunks)
FROM (SELECT id, moment, conversation_number, first_chunk, chunks FROM memory WHERE {} ORDER BY id)
"""
_CHUNKS = """
SELECT group_concat(length), CAST(group_concat(coalesce(bits, zeroblob(:width)), '') AS BLOB), count(bits)
FROM (
    SELECT length, bits FROM memory
    CROSS JOIN chunk ON chunk.id BETWEEN first_chunk AND first_chunk + chunks - 1
    LEFT JOIN code ON code.id = chunk.id + :shift
    WHERE {} ORDER BY memory.id, chunk.id
)
"""
_PENDING = """
SELECT group_concat(chunk.id) FROM memory
CROSS JOIN chunk ON chunk.id BETWEEN first_chunk AND first_chunk + chunks - 1
LEFT JOIN code ON code.id = chunk.id + :shift
WHERE code.id IS NULL AND {}
"""
_LIVE = "workspace = :workspace AND deleted_at IS NULL AND replaced_by IS NULL"
_LIVE_OF_THESE = f"memory.id IN (SELECT value FROM carray(:numbers)) AND +{_LIVE}"  # noqa: S608 - both are ours
_OF_MEMORIES = 4  # the first of the arrays; the others are of chunks


class LiveArrays(NamedTuple):
    """Live memories, growing by number, and their chunks, which come in the same order."""

    memories: Rows
    moments: Rows
    conversations: Rows
    counts: Rows
    chunks: Rows
    lengths: Rows
    codes: Codes
    coded: Mask
    """Which chunks have a vector; the code of another is not one."""

    def pick(self, mask: Mask) -> "LiveArrays":
        """Some of the memories, with their chunks."""
        return _chosen(self, mask, np.repeat(mask, self.counts))

    def join(self, others: "LiveArrays") -> "LiveArrays":
        """These and others, in order."""
        both = LiveArrays(*(np.concatenate(pair, axis=-1) for pair in zip(self, others, strict=True)))
        if others.memories[0] > self.memories.max(initial=0):
            return both
        return _chosen(both, np.argsort(both.memories, kind="stable"), np.argsort(both.chunks, kind="stable"))


def _chosen(all_arrays: tuple[NDArray[Any], ...], memories: Mask | Rows, chunks: Mask | Rows) -> LiveArrays:
    of_memories = (array[memories] for array in all_arrays[:_OF_MEMORIES])
    return LiveArrays(*of_memories, *(array[..., chunks] for array in all_arrays[_OF_MEMORIES:]))


def _read(connection: apsw.Connection, embedder: Embedder | None, live: str, **bound: Any) -> LiveArrays:
    words = code_words(embedder.identity.dimension) if embedder else 0
    bound |= {"shift": embedder.vector_number(0) if embedder else 0, "width": words * 8}
    of_memories = connection.execute(_MEMORIES.format(live), bound).get
    listed, bits, coded = connection.execute(_CHUNKS.format(live), bound).get
    memories, moments, conversations, first, counts = map(integers, of_memories)
    lengths = integers(listed)
    total, chunks = int(counts.sum()), _numbered(first, counts)
    if len(lengths) != total or len(bits or b"") != total * words * 8:
        raise damaged(Path(connection.filename), "chunks or codes are missing")
    codes = read_codes(bits or b"", words, total)
    pending = integers(connection.execute(_PENDING.format(live), bound).get if coded < total else None)
    mask = ~np.isin(chunks, pending)
    return LiveArrays(memories, moments, conversations, counts, chunks, lengths, codes, mask)


def _numbered(first: Rows, counts: Rows) -> Rows:
    """The numbers of all chunks, where those of a memory follow each other."""
    before = np.cumsum(counts) - counts
    return np.repeat(first - before, counts) + np.arange(counts.sum())


class View:
    """The live chunks of one workspace. The arrays are replaced and never changed: a search keeps those that it began with."""

    _seq: int  # of the last change that the arrays show
    _embedder: Embedder | None

    def __init__(self, connection: apsw.Connection, workspace: str) -> None:
        self._workspace = workspace
        self._load(connection)

    def refresh(self, connection: apsw.Connection) -> None:
        """Bring it to the moment of the connection's transaction."""
        seq = last_change(connection)
        if seq == self._seq:
            return
        known = self._embedder and seq > self._seq
        changed = changed_since(connection, self._workspace, self._seq) if known else None
        if changed is None:
            self._load(connection)
        elif changed:
            self._update(connection, changed)
        self._seq = seq

    def live(self, connection: apsw.Connection) -> LiveChunks:
        """The chunks as they are now."""
        return LiveChunks(
            connection=connection,
            workspace=self._workspace,
            serving=self._embedder,
            memory_numbers=self._arrays.memories,
            moments=self._arrays.moments,
            neighbours=self._neighbours,
            chunk_numbers=self._arrays.chunks,
            places=self._places,
            lengths=self._arrays.lengths,
            codes=self._arrays.codes,
            embedded=self._arrays.coded,
        )

    def _load(self, connection: apsw.Connection) -> None:
        self._seq = last_change(connection)
        self._embedder = vectors.serving(connection, self._workspace)
        self._set(_read(connection, self._embedder, _LIVE, workspace=self._workspace))

    def _update(self, connection: apsw.Connection, changed: set[int]) -> None:
        numbers = np.array(sorted(changed), np.int64)
        bound = {"workspace": self._workspace, "numbers": apsw.carray(numbers)}
        found = _read(connection, self._embedder, _LIVE_OF_THESE, **bound)
        if numbers[0] > self._arrays.memories.max(initial=0):
            if len(found.memories):
                self._set(self._arrays.join(found), known=self._neighbours)
            return
        unchanged = self._arrays.pick(~np.isin(self._arrays.memories, numbers))
        self._set(unchanged.join(found) if len(found.memories) else unchanged)

    def _set(self, arrays: LiveArrays, known: Rows | None = None) -> None:
        """Take these arrays; the neighbours of the first memories are known where others only follow them."""
        self._arrays = arrays
        self._places = np.repeat(np.arange(len(arrays.memories)), arrays.counts)
        if known is None:
            self._neighbours = neighbours_of(np.empty((0, 4), np.int64), arrays.moments, arrays.conversations)
        else:
            added = arrays.conversations[len(known) :]
            self._neighbours = neighbours_of(known, arrays.moments, arrays.conversations, added)


class Views:
    """The views of all workspaces that were asked for; shared by the reading threads."""

    def __init__(self, guard: Callable[[apsw.Connection], None]) -> None:
        self._guard = guard
        self._views: dict[str, View] = {}
        self._lock = threading.Lock()

    def live(self, connection: apsw.Connection, workspace: str) -> LiveChunks:
        """The workspace at the moment of the connection's transaction, which must not have read anything before.

        The transaction's snapshot is taken within the lock, so no transaction is older than the view it meets.
        """
        with self._lock:
            self._guard(connection)
            view = self._views.pop(workspace, None)  # one that fails half-way is not kept
            if view is None:
                view = View(connection, workspace)
            else:
                view.refresh(connection)
            self._views[workspace] = view
            return view.live(connection)
