"""What is read of live memories and their chunks for a view: parallel arrays, as they stand in the file."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import numpy as np
from numpy.typing import NDArray

from zapomni_db.arrays import Mask, Rows
from zapomni_db.sqlite.codes import Codes, read_codes, words_of
from zapomni_db.sqlite.embedders import Embedder
from zapomni_db.sqlite.failures import damaged
from zapomni_db.sqlite.values import integers

_MEMORIES = """
SELECT group_concat(id), group_concat(moment), group_concat(thread), group_concat(first_chunk), group_concat(chunks)
FROM (SELECT id, moment, thread, first_chunk, chunks FROM memory WHERE {} ORDER BY id)
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
    threads: Rows
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


def read_all(connection: apsw.Connection, embedder: Embedder | None, workspace: str) -> LiveArrays:
    """All live memories of a workspace."""
    return _read(connection, embedder, _LIVE, workspace=workspace)


def read_some(
    connection: apsw.Connection, embedder: Embedder | None, workspace: str, memories: Iterable[int]
) -> LiveArrays:
    """Those of these memories that are live."""
    numbers = np.array(sorted(memories), np.int64)
    return _read(connection, embedder, _LIVE_OF_THESE, workspace=workspace, numbers=apsw.carray(numbers))


def _read(connection: apsw.Connection, embedder: Embedder | None, live: str, **bound: Any) -> LiveArrays:
    words = words_of(embedder.identity.dimension) if embedder else 0
    bound |= {"shift": embedder.vector_number(0) if embedder else 0, "width": words * 8}
    of_memories = connection.execute(_MEMORIES.format(live), bound).get
    listed, bits, coded = connection.execute(_CHUNKS.format(live), bound).get
    memories, moments, threads, first, counts = map(integers, of_memories)
    lengths = integers(listed)
    total, chunks = int(counts.sum()), _numbered(first, counts)
    if len(lengths) != total or len(bits or b"") != total * words * 8:
        raise damaged(Path(connection.filename), "chunks or codes are missing")
    codes = read_codes(bits or b"", words, total)
    pending = integers(connection.execute(_PENDING.format(live), bound).get if coded < total else None)
    mask = ~np.isin(chunks, pending)
    return LiveArrays(memories, moments, threads, counts, chunks, lengths, codes, mask)


def _numbered(first: Rows, counts: Rows) -> Rows:
    """The numbers of all chunks, where those of a memory follow each other."""
    before = np.cumsum(counts) - counts
    return np.repeat(first - before, counts) + np.arange(counts.sum())
