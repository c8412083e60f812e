"""The live chunks of a workspace as arrays in memory, kept up to date from the change log."""

import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import apsw
import numpy as np
from numpy.typing import NDArray

from zapomni_db.arrays import Mask, Rows
from zapomni_db.sqlite import vectors
from zapomni_db.sqlite.connection import damaged, last_change
from zapomni_db.sqlite.memories import changed_since
from zapomni_db.sqlite.search import LiveChunks
from zapomni_db.sqlite.values import integers
from zapomni_db.sqlite.vectors import Codes, Embedder, code_words, read_codes

Item = TypeVar("Item", bound=np.generic)

_LEAST_ROOM = 1024


class Column(Generic[Item]):
    """An array along whose last axis rows are added. What was handed out before stays as it was."""

    def __init__(self, rows: NDArray[Item]) -> None:
        self._room = rows
        self.rows = _frozen(rows)

    def extend(self, more: NDArray[Item]) -> None:
        """Put rows behind the others: into spare room, or everything into more room."""
        if not more.shape[-1]:
            return  # the first rows may be for readers only, and numpy refuses to write even nothing into such
        count = self.rows.shape[-1]
        total = count + more.shape[-1]
        if total > self._room.shape[-1]:
            self._room = np.empty((*self._room.shape[:-1], max(_LEAST_ROOM, total * 3 // 2)), self._room.dtype)
            self._room[..., :count] = self.rows
        self._room[..., count:total] = more
        self.rows = _frozen(self._room[..., :total])


def _frozen(rows: NDArray[Item]) -> NDArray[Item]:
    """The same rows, for readers only."""
    seen = rows.view()
    seen.flags.writeable = False
    return seen


_STEPS = (2, 1)
_NONE = -1


def neighbours_of(known: Rows, moments: Rows, conversations: Rows, changed: Rows | None = None) -> Rows:
    """By place, the two before and the two after in the same conversation: by moment, then by place.

    `known` holds the neighbours of the first memories, as they were; only the conversations of `changed` are looked at anew,
    or all.
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
    """Link those that are so many steps from each other. Columns: two before, one before, one after, two after."""
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
        both = tuple(np.concatenate(pair, axis=-1) for pair in zip(self, others, strict=True))
        return _chosen(both, np.argsort(both[0], kind="stable"), np.argsort(both[_OF_MEMORIES], kind="stable"))


def _chosen(all_arrays: tuple[NDArray[Any], ...], memories: Mask | Rows, chunks: Mask | Rows) -> LiveArrays:
    of_memories = (array[memories] for array in all_arrays[:_OF_MEMORIES])
    return LiveArrays(*of_memories, *(array[..., chunks] for array in all_arrays[_OF_MEMORIES:]))


def _read_all(connection: apsw.Connection, embedder: Embedder | None, workspace: str) -> LiveArrays:
    """All live memories of a workspace."""
    return _read(connection, embedder, _LIVE, workspace=workspace)


def _read_some(
    connection: apsw.Connection, embedder: Embedder | None, workspace: str, memories: Iterable[int]
) -> LiveArrays:
    """Those of these memories that are live."""
    numbers = np.array(sorted(memories), np.int64)
    return _read(connection, embedder, _LIVE_OF_THESE, workspace=workspace, numbers=apsw.carray(numbers))


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
    """One workspace in memory. It holds live rows only: adding is cheap, hiding and restoring copy the arrays."""

    def __init__(self, connection: apsw.Connection, workspace: str) -> None:
        self._workspace = workspace
        self._seq = 0
        self._embedder: Embedder | None = None
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
        """What it holds now; stays as it is when the view goes on."""
        return LiveChunks(
            connection=connection,
            workspace=self._workspace,
            serving=self._embedder,
            memory_numbers=self._memories.rows,
            moments=self._moments.rows,
            neighbours=self._neighbours,
            chunk_numbers=self._chunks.rows,
            places=self._places.rows,
            lengths=self._lengths.rows,
            codes=self._codes.rows,
            embedded=self._coded.rows,
        )

    def _load(self, connection: apsw.Connection) -> None:
        self._seq = last_change(connection)
        self._embedder = vectors.serving(connection, self._workspace)
        self._set(_read_all(connection, self._embedder, self._workspace))

    def _update(self, connection: apsw.Connection, changed: set[int]) -> None:
        found = _read_some(connection, self._embedder, self._workspace, changed)
        if min(changed) > self._memories.rows.max(initial=0):
            self._append(found)
        else:
            unchanged = self._current().pick(~np.isin(self._memories.rows, np.array(list(changed))))
            self._set(unchanged.join(found) if len(found.memories) else unchanged)

    def _current(self) -> LiveArrays:
        return LiveArrays(
            self._memories.rows,
            self._moments.rows,
            self._conversations.rows,
            np.bincount(self._places.rows, minlength=len(self._memories.rows)),
            self._chunks.rows,
            self._lengths.rows,
            self._codes.rows,
            self._coded.rows,
        )

    def _set(self, held: LiveArrays) -> None:
        self._memories, self._moments, self._conversations = map(
            Column, (held.memories, held.moments, held.conversations)
        )
        self._chunks, self._lengths, self._codes = Column(held.chunks), Column(held.lengths), Column(held.codes)
        self._coded = Column(held.coded)
        self._places = Column(np.repeat(np.arange(len(held.memories)), held.counts))
        self._neighbours = neighbours_of(np.empty((0, 4), np.int64), held.moments, held.conversations)

    def _append(self, more: LiveArrays) -> None:
        places = np.arange(len(more.memories)) + len(self._memories.rows)
        self._places.extend(np.repeat(places, more.counts))
        self._memories.extend(more.memories)
        self._moments.extend(more.moments)
        self._conversations.extend(more.conversations)
        self._chunks.extend(more.chunks)
        self._lengths.extend(more.lengths)
        self._codes.extend(more.codes)
        self._coded.extend(more.coded)
        self._neighbours = neighbours_of(
            self._neighbours, self._moments.rows, self._conversations.rows, more.conversations
        )


class Views:
    """The views of all workspaces that were asked for; shared by the reading conversations."""

    def __init__(self, guard: Callable[[apsw.Connection], None]) -> None:
        self._guard = guard
        self._views: dict[str, View] = {}
        self._lock = threading.Lock()

    def live(self, connection: apsw.Connection, workspace: str) -> LiveChunks:
        """The workspace at the moment of the connection's transaction, which must not have read anything before.

        Within the lock, so that views only ever go forward: no transaction is older than the view it meets.
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
