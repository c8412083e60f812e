"""What the sessions benchmark compares with: the statements that the store runs, all of them, by the bare driver.

`Analysis` makes the values for them, as any driver would need them: `sessions.py` tells what that takes. The rows make up a store that
is as sound as ours, and the statements are those that the store is seen to run; the benchmark fails where it is not so.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import apsw
import numpy as np

from zapomni_core.testing.embedder import HashingEmbedder
from zapomni_core.text.chunks import Chunk, chunk
from zapomni_core.text.terms import terms
from zapomni_db.sqlite import codes, facets, memories, values
from zapomni_db.sqlite.bodies import part_number
from zapomni_db.sqlite.chunks import ChunkRow
from zapomni_db.sqlite.connections import open_connection
from zapomni_db.sqlite.conversations import vectors as vector_rows
from zapomni_db.sqlite.ids import new_id

DIMENSION = 1536
WORKSPACE = "default"
FIRST_SESSION = UUID(int=2**64)
"""Every store begins with a message in this session: by then it knows its embedder, and the job that waits."""

VERSION = "PRAGMA user_version"
FIND_SESSION = "SELECT id, updated_at FROM session WHERE workspace = ? AND uid = ?"
SESSION = "INSERT INTO session(workspace, uid, user_id, metadata, created_at, updated_at) VALUES(?, ?, ?, ?, ?, ?)"
TURN = "UPDATE session SET updated_at = ? WHERE id = ?"
SERVING = "SELECT id, name, model, dimension FROM embedder WHERE id = (SELECT value FROM meta WHERE key = 'serving')"
NUMBERS = "SELECT name, seq FROM sqlite_sequence WHERE name IN ('memory', 'chunk')"
BODY = "INSERT INTO body VALUES(?, ?)"
FACET = "INSERT INTO facet VALUES(?, ?)"
CHUNK = "INSERT INTO chunk VALUES(?, ?, ?, ?, ?, ?, ?, ?)"
TERM = "INSERT INTO term(rowid, terms) VALUES(?, ?)"
CHANGE = "INSERT INTO change(workspace, memory, state) VALUES(?, ?, ?)"
WAITING = "SELECT uid FROM job WHERE workspace = ? AND kind = ? AND key = ? AND key != '' AND due_at IS NOT NULL"
MESSAGE = "INSERT INTO message VALUES(?, ?, ?)"
VECTOR = "INSERT INTO document_vector VALUES(?, ?, ?, ?, ?)"
SKETCH = "INSERT INTO document_sketch VALUES(?, ?)"
CODE = "INSERT INTO document_code VALUES(?, ?, ?)"
LAST_CHANGE = "SELECT coalesce(max(seq), 0) FROM change"

Statements = dict[str, list[tuple[Any, ...]]]
"""Each statement with the values that it is run with, in the order of the statements."""


class Analysis:
    """Makes what is written of messages and documents into values for the statements that the store runs, all of them."""

    def __init__(self, embedder: HashingEmbedder) -> None:
        self._embedder = embedder
        self._memory, self._chunk, self._sessions = 1, 1, {str(FIRST_SESSION): 1}  # what every store begins with

    def session(self, _: int = 0) -> Statements:
        """A new session."""
        uid, now = str(uuid4()), time.time_ns() // 1000
        self._sessions[uid] = len(self._sessions) + 1
        metadata = values.to_json("metadata", {"plan": 1})
        return {VERSION: [()], SESSION: [(WORKSPACE, uid, "ada", metadata, now, now)], LAST_CHANGE: [()]}

    def message(self, session: str, text: str, metadata: dict[str, Any]) -> Statements:
        """The next message of a session, which may be a new one."""
        now, found = time.time_ns() // 1000, (WORKSPACE, session)
        is_new = session not in self._sessions
        number = self._sessions.setdefault(session, len(self._sessions) + 1)
        statements: Statements = {VERSION: [()], FIND_SESSION: [found]}
        statements[SESSION] = [(*found, "", "{}", now, now)] if is_new else []
        statements[TURN] = [(now, number)]
        statements |= self._kept("message", text, metadata, session, now)
        statements[MESSAGE] = [(self._memory, number, "user")]
        return statements | {LAST_CHANGE: [()]}

    def document(self, text: str, metadata: dict[str, Any], vector: list[float]) -> Statements:
        """A document with a vector."""
        statements = {VERSION: [()]} | self._kept("document", text, metadata, "", time.time_ns() // 1000)
        value = np.asarray(vector, np.float32)
        length, kept = vector_rows.length_of(value), value.tobytes()
        sketch = vector_rows.sketch(value, length, vector_rows.check(value))
        statements[VECTOR] = [(self._memory, DIMENSION, kept, length, codes.checksum(kept))]
        statements[SKETCH] = [(self._memory, sketch)]
        statements[CODE] = [(DIMENSION, self._memory, codes.signs(value))]
        return statements | {LAST_CHANGE: [()]}

    def _kept(self, kind: str, text: str, metadata: dict[str, Any], conversation: str, now: int) -> Statements:
        self._memory += 1
        encoded, found = text.encode(), [(one, terms(text[one.start : one.end])) for one in self._cut(text)]
        byte = values.byte_offsets(text, [place for one, _ in found for place in (one.start, one.end)])
        rows = [
            ChunkRow(one.start, one.end, byte[one.start], byte[one.end], one.heading, len(words))
            for one, words in found
        ]
        first = self._chunk + 1
        self._chunk += len(rows)
        given = values.to_json("metadata", metadata)
        named = (new_id(now), WORKSPACE, kind, "", "", conversation, "[]", given, None, now)
        fixed = (*named, self._memory, first, len(rows))
        seal = memories.seal_of(fixed, None, encoded, rows)
        kept = facets.facets_of(
            WORKSPACE, kind=kind, source="", author="", conversation=conversation, tags=(), metadata=metadata
        )
        return {
            SERVING: [()],
            NUMBERS: [()],
            memories._INSERT: [(*fixed, None, seal, None, None, now, values.thread_of(conversation))],
            BODY: [(part_number(self._memory), encoded)],
            FACET: [(facet, self._memory) for facet in kept],
            CHUNK: [(number, self._memory, *row) for number, row in enumerate(rows, first)],
            TERM: [(number, " ".join(words)) for number, (_, words) in enumerate(found, first)],
            CHANGE: [(WORKSPACE, self._memory, "added")],
            WAITING: [(WORKSPACE, "embed", "embed")],
        }

    def _cut(self, text: str) -> list[Chunk]:
        profile = self._embedder.profile
        return chunk(
            text,
            tokens=self._embedder.tokens,
            chunk_tokens=profile.chunk_tokens,
            overlap_tokens=profile.overlap_tokens,
        )


class Bare:
    """A connection like the store's."""

    def __init__(self, file: Path) -> None:
        self.connection = open_connection(file, writing=True)

    def write(self, statements: Statements) -> None:
        """Run statements in a transaction, which is on the disk then."""
        self.connection.execute("BEGIN IMMEDIATE")
        for statement, rows in statements.items():
            self.connection.executemany(statement, rows).fetchall()
        self.connection.execute("COMMIT")


class BareSides(NamedTuple):
    """One that commits each, and one that commits many together; each has a file of its own."""

    each: Bare
    together: Bare


def merged(many: list[Statements]) -> Statements:
    """One statement for all rows of a table, as the store writes what comes together; what is asked is asked once."""
    together = {one: [row for statements in many for row in statements[one]] for one in many[0]}
    for one, rows in together.items():
        if not one.startswith("INSERT"):
            together[one] = list({row[-1:]: row for row in rows}.values())
    return together


@contextmanager
def recording() -> Iterator[list[list[str]]]:
    """The statements of each transaction that writes meanwhile, by connections that are made meanwhile."""
    transactions: list[list[str]] = []

    def watch(connection: apsw.Connection) -> None:
        begun: list[str] = []

        def record(_cursor: apsw.Cursor, statement: str, _values: Any) -> bool:
            if statement == "BEGIN IMMEDIATE":
                begun.clear()
            elif statement == "COMMIT":
                transactions.append(begun.copy())
            else:
                begun.append(statement)
            return True

        connection.exec_trace = record

    apsw.connection_hooks.append(watch)
    try:
        yield transactions
    finally:
        apsw.connection_hooks.remove(watch)
