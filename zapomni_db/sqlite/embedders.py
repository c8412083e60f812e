"""Whose vectors the store holds, and which of them serve; vectors and codes by embedder and chunk."""

from collections.abc import Sequence
from dataclasses import dataclass

import apsw

from zapomni_db.arrays import Rows, Vector
from zapomni_db.errors import EmbedderMismatchError
from zapomni_db.records import EmbedderIdentity
from zapomni_db.sqlite import codes
from zapomni_db.sqlite.connections import one, rows

_SELECT = "SELECT id, name, model, dimension FROM embedder WHERE "
_CHUNKS = 1 << 40  # numbers for chunks, in the numbers of each embedder's vectors


@dataclass(frozen=True, slots=True)
class Embedder:
    """An embedder that the store knows, by number."""

    number: int
    identity: EmbedderIdentity

    def vector_number(self, chunk: int) -> int:
        """Under which number the vector and the code of a chunk are kept."""
        return self.number * _CHUNKS + chunk

    @property
    def vector_numbers(self) -> tuple[int, int]:
        """The first and the last of its numbers."""
        return self.vector_number(0), self.vector_number(_CHUNKS - 1)


def serving(connection: apsw.Connection, workspace: str) -> Embedder | None:
    """The embedder whose vectors serve in a workspace; None while there are none."""
    return _embedder(connection, "id = (SELECT embedder FROM workspace WHERE name = ?)", workspace)


def find(connection: apsw.Connection, identity: EmbedderIdentity) -> Embedder | None:
    """The embedder, if the store has vectors of it."""
    return _embedder(connection, "(name, model, dimension) = (?, ?, ?)", *_columns(identity))


def _embedder(connection: apsw.Connection, which: str, *values: str | int) -> Embedder | None:
    row = one(connection, _SELECT + which, *values)
    return Embedder(row[0], EmbedderIdentity(*row[1:])) if row else None


def _columns(identity: EmbedderIdentity) -> tuple[str, str, int]:
    return identity.name, identity.model, identity.dimension


def everyone(connection: apsw.Connection) -> list[Embedder]:
    """All embedders that the store knows."""
    found = rows(connection, "SELECT id, name, model, dimension FROM embedder")
    return [Embedder(number, EmbedderIdentity(*columns)) for number, *columns in found]


def serve(connection: apsw.Connection, workspace: str, embedder: Embedder) -> None:
    """Let this embedder's vectors serve in a workspace."""
    connection.execute("REPLACE INTO workspace VALUES(?, ?)", (workspace, embedder.number))


def require(connection: apsw.Connection, workspace: str, identity: EmbedderIdentity) -> Embedder:
    """The embedder that serves in a workspace, which must be this one; the first settles it."""
    current = check(connection, workspace, identity)
    if current is None:
        current = register(connection, identity)
        serve(connection, workspace, current)
    return current


def check(connection: apsw.Connection, workspace: str, identity: EmbedderIdentity) -> Embedder | None:
    """The embedder that serves in a workspace, which must be this one; None where none serves yet."""
    current = serving(connection, workspace)
    if current is not None and current.identity != identity:
        raise EmbedderMismatchError(
            f"The vectors of workspace '{workspace}' were made by {describe(current.identity)}, not by {describe(identity)}."
            " Use that embedder, or run `zapomni reindex` to make them anew."
        )
    return current


def register(connection: apsw.Connection, identity: EmbedderIdentity) -> Embedder:
    """The embedder with its number, a new one if need be."""
    number = one(
        connection,
        "INSERT INTO embedder(name, model, dimension) VALUES(?, ?, ?)"
        " ON CONFLICT DO UPDATE SET name = excluded.name RETURNING id",
        *_columns(identity),
    )
    return Embedder(number, identity)


def describe(identity: EmbedderIdentity) -> str:
    """An embedder's name for people."""
    return f"{identity.name} ({identity.model}, {identity.dimension} dimensions)"


def keep_vectors(connection: apsw.Connection, embedder: Embedder, vectors: Sequence[tuple[int, Vector]]) -> None:
    """Keep the vectors of chunks, by their numbers, and their codes."""
    if not vectors:
        return
    kept = [
        (embedder.vector_number(chunk), codes.keep(vector, embedder.identity.dimension)) for chunk, vector in vectors
    ]
    connection.executemany(
        "REPLACE INTO vector VALUES(?, ?, ?)",
        [(number, value.tobytes(), codes.checksum(value.tobytes())) for number, value in kept],
    )
    connection.executemany("REPLACE INTO code VALUES(?, ?)", [(number, codes.signs(value)) for number, value in kept])


def drop_vectors(connection: apsw.Connection, chunks: range) -> None:
    """Forget the vectors of chunks that follow each other, by every embedder."""
    for (number,) in list(rows(connection, "SELECT id FROM embedder")):
        bounds = (number * _CHUNKS + chunks.start, number * _CHUNKS + chunks.stop - 1)
        connection.execute("DELETE FROM vector WHERE id BETWEEN ? AND ?", bounds)
        connection.execute("DELETE FROM code WHERE id BETWEEN ? AND ?", bounds)


def forget_vectors(connection: apsw.Connection, numbers: Rows) -> None:
    """Forget vectors and codes by their numbers."""
    for table in ("vector", "code"):
        connection.execute(f"DELETE FROM {table} WHERE id IN (SELECT value FROM carray(?))", (apsw.carray(numbers),))  # noqa: S608 - ours


def forget_unused(connection: apsw.Connection) -> None:
    """Forget the embedders that serve no workspace and have no vectors left."""
    for embedder in everyone(connection):
        serves = one(connection, "SELECT EXISTS(SELECT 1 FROM workspace WHERE embedder = ?)", embedder.number)
        has = "SELECT EXISTS(SELECT 1 FROM code WHERE id BETWEEN ? AND ?)"
        if not serves and not one(connection, has, *embedder.vector_numbers):
            connection.execute("DELETE FROM embedder WHERE id = ?", (embedder.number,))
