"""The texts of memories and their chunks."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import apsw

from zapomni_db import values
from zapomni_db.arrays import Rows
from zapomni_db.errors import InvalidInputError
from zapomni_db.records import ChunkFound, NewChunk
from zapomni_db.sqlite.connection import one, rows

_PART = 1 << 16
_PARTS = 1 << 20  # numbers for the parts of one text

# Of a chunk c: the number of the part in which it begins, and as much of it as that part, body, holds: mostly all.
FIRST_PART = f"c.memory * {_PARTS} + c.first_byte / {_PART}"
CUT = f"substr(body.bytes, c.first_byte % {_PART} + 1, c.last_byte - c.first_byte)"


# Of a memory m: id, metadata as JSON, creation in microseconds, text in UTF-8.
WHOLE_MEMORY = f"""m.uid, m.metadata, m.created_at, (
    SELECT CAST(group_concat(bytes, '') AS BLOB)
    FROM (SELECT bytes FROM body WHERE id BETWEEN m.id * {_PARTS} AND (m.id + 1) * {_PARTS} - 1 ORDER BY id)
)"""  # noqa: S608 - a number of ours


def part_number(memory: int, byte: int = 0) -> int:
    """Under which number the part is kept that holds this byte of a memory's text."""
    return memory * _PARTS + byte // _PART


def insert(connection: apsw.Connection, memory: int, text: bytes) -> None:
    """Write the text of a memory."""
    parts = [(part_number(memory, start), text[start : start + _PART]) for start in range(0, len(text), _PART)]
    connection.executemany("INSERT INTO body VALUES(?, ?)", parts)


def delete(connection: apsw.Connection, memory: int) -> None:
    """Remove a text."""
    connection.execute("DELETE FROM body WHERE id BETWEEN ? AND ?", (part_number(memory), part_number(memory + 1) - 1))


def read(connection: apsw.Connection, memory: int) -> bytes:
    """A whole text."""
    return _parts(connection, part_number(memory), part_number(memory + 1) - 1)


def cut(connection: apsw.Connection, memory: int, first_byte: int, last_byte: int) -> bytes:
    """The bytes of a text from the first one on, before the last one."""
    start = first_byte - first_byte % _PART
    read = _parts(connection, part_number(memory, first_byte), part_number(memory, max(first_byte, last_byte - 1)))
    return read[first_byte - start : last_byte - start]


def _parts(connection: apsw.Connection, first: int, last: int) -> bytes:
    joined = one(
        connection,
        "SELECT CAST(group_concat(bytes, '') AS BLOB) FROM (SELECT bytes FROM body WHERE id BETWEEN ? AND ? ORDER BY id)",
        first,
        last,
    )
    return joined or b""


class ChunkRow(NamedTuple):
    """A chunk as it stands in the file, without its number and its memory's."""

    start: int
    end: int
    first_byte: int
    last_byte: int
    heading: str
    length: int
    analyser: int


def chunk_rows(text: str, chunks: Sequence[NewChunk], analyser: int) -> list[ChunkRow]:
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


def insert_chunks(connection: apsw.Connection, memory: int, first: int, chunks: Iterable[ChunkRow]) -> None:
    """Write the chunks of a memory, numbered from the first."""
    connection.executemany(
        "INSERT INTO chunk VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [(number, memory, *chunk) for number, chunk in enumerate(chunks, first)],
    )


def delete_chunks(connection: apsw.Connection, numbers: range) -> None:
    """Remove the chunks of a memory."""
    connection.execute("DELETE FROM chunk WHERE id BETWEEN ? AND ?", (numbers.start, numbers.stop - 1))


def read_chunks(connection: apsw.Connection, numbers: range) -> list[ChunkRow]:
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


def find_chunks(connection: apsw.Connection, numbers: Rows, workspace: str | None = None) -> list[ChunkFound]:
    """Those chunks that are there, in this order, with their texts and what is known of their memories."""
    joined = list(rows(connection, _FOUND, apsw.carray(numbers), workspace)) if len(numbers) else []
    return [
        ChunkFound(
            text=_text(connection, memory, first_byte, last_byte, start or b""),
            tags=tuple(values.from_json(tags)),
            timestamp=values.from_micros_or_none(timestamp),
            created_at=values.from_micros(created_at),
            **dict(zip(_AS_THEY_ARE, others, strict=True)),
        )
        for memory, first_byte, last_byte, start, tags, timestamp, created_at, *others in joined
    ]


def _text(connection: apsw.Connection, memory: int, first_byte: int, last_byte: int, start: bytes) -> str:
    whole = len(start) == last_byte - first_byte
    return (start if whole else cut(connection, memory, first_byte, last_byte)).decode()
