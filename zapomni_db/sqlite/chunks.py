"""Chunks as rows of the file: where in a memory's text they are, in characters and in bytes."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import apsw

from zapomni_db.arrays import Rows
from zapomni_db.errors import InvalidInputError
from zapomni_db.records import ChunkFound, NewChunk
from zapomni_db.sqlite import values
from zapomni_db.sqlite.bodies import CUT, FIRST_PART, cut_body
from zapomni_db.sqlite.connections import rows


class ChunkRow(NamedTuple):
    """A chunk as it stands in the file, without its number and its memory's."""

    start: int
    end: int
    first_byte: int
    last_byte: int
    heading: str
    length: int
    analyser: int


def rows_of(text: str, chunks: Sequence[NewChunk], analyser: int) -> list[ChunkRow]:
    """The rows of new chunks, whose terms a version of the analyser made; InvalidInputError where they are not parts of the text."""
    for chunk in chunks:
        if not 0 <= chunk.start <= chunk.end <= len(text):
            raise InvalidInputError("chunks must lie within their text")
    if text.isascii():
        return [_row(chunk, chunk.start, chunk.end, analyser) for chunk in chunks]
    byte = values.byte_offsets(text, [place for chunk in chunks for place in (chunk.start, chunk.end)])
    return [_row(chunk, byte[chunk.start], byte[chunk.end], analyser) for chunk in chunks]


def _row(new: NewChunk, first_byte: int, last_byte: int, analyser: int) -> ChunkRow:
    heading = values.check_text("heading", new.heading)
    return ChunkRow(new.start, new.end, first_byte, last_byte, heading, len(new.terms), analyser)


def insert(connection: apsw.Connection, parts: Iterable[tuple[int, int, ChunkRow]]) -> None:
    """Keep chunks, each after its number and its memory's."""
    connection.executemany(
        "INSERT INTO chunk VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [(number, memory, *part) for number, memory, part in parts],
    )


def drop(connection: apsw.Connection, numbers: range) -> None:
    """Forget the chunks of a memory."""
    connection.execute("DELETE FROM chunk WHERE id BETWEEN ? AND ?", (numbers.start, numbers.stop - 1))


def read(connection: apsw.Connection, numbers: range) -> list[ChunkRow]:
    """The chunks of a memory."""
    found = rows(
        connection,
        'SELECT start, "end", first_byte, last_byte, heading, length, analyser FROM chunk'
        " WHERE id BETWEEN ? AND ? ORDER BY id",
        numbers.start,
        numbers.stop - 1,
    )
    return [ChunkRow(*row) for row in found]


_FOUND = f"""
SELECT m.id, c.first_byte, c.last_byte, {CUT}, m.tags, m.timestamp, m.created_at,
    m.uid, m.kind, c.heading, c.start, c.end, m.source, m.author, m.conversation,
    coalesce(message.role, '')
FROM carray(?1) wanted CROSS JOIN chunk c ON c.id = wanted.value CROSS JOIN memory m ON m.id = c.memory
LEFT JOIN body ON body.id = {FIRST_PART} LEFT JOIN message ON message.memory = m.id
WHERE ?2 IS NULL OR m.workspace = ?2
"""  # noqa: S608 - expressions of ours
_AS_THEY_ARE = ("memory_id", "kind", "heading", "start", "end", "source", "author", "conversation", "role")


def found(connection: apsw.Connection, numbers: Rows, workspace: str | None = None) -> list[ChunkFound]:
    """Those chunks that are there, in this order, with their texts and what is known of their memories."""
    joined = list(rows(connection, _FOUND, apsw.carray(numbers), workspace)) if len(numbers) else []
    return [
        ChunkFound(
            text=_text(connection, memory, first_byte, last_byte, cut or b""),
            tags=tuple(values.from_json(tags)),
            timestamp=values.from_micros_or_none(timestamp),
            created_at=values.from_micros(created_at),
            **dict(zip(_AS_THEY_ARE, others, strict=True)),
        )
        for memory, first_byte, last_byte, cut, tags, timestamp, created_at, *others in joined
    ]


def _text(connection: apsw.Connection, memory: int, first_byte: int, last_byte: int, cut: bytes) -> str:
    whole = len(cut) == last_byte - first_byte
    return (cut if whole else cut_body(connection, memory, first_byte, last_byte)).decode()
