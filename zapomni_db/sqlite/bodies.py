"""The texts of memories, in parts: a chunk of a long text is read without the rest."""

from collections.abc import Iterable

import apsw

from zapomni_db.sqlite.connections import one

_PART = 1 << 16
_PARTS = 1 << 20  # numbers for the parts of one text

# Of a chunk c: the number of the part in which it begins, and as much of it as that part, body, holds: mostly all.
FIRST_PART = f"c.memory * {_PARTS} + c.first_byte / {_PART}"
CUT = f"substr(body.bytes, c.first_byte % {_PART} + 1, c.last_byte - c.first_byte)"


def part_number(memory: int, byte: int = 0) -> int:
    """Under which number the part is kept that holds this byte of a memory's text."""
    return memory * _PARTS + byte // _PART


def keep_bodies(connection: apsw.Connection, texts: Iterable[tuple[int, bytes]]) -> None:
    """Keep the texts of memories."""
    connection.executemany(
        "INSERT INTO body VALUES(?, ?)",
        [
            (part_number(memory, start), text[start : start + _PART])
            for memory, text in texts
            for start in range(0, len(text), _PART)
        ],
    )


def drop_body(connection: apsw.Connection, memory: int) -> None:
    """Forget a text."""
    connection.execute("DELETE FROM body WHERE id BETWEEN ? AND ?", (part_number(memory), part_number(memory + 1) - 1))


def read_body(connection: apsw.Connection, memory: int) -> bytes:
    """A whole text."""
    return _parts(connection, part_number(memory), part_number(memory + 1) - 1)


def cut_body(connection: apsw.Connection, memory: int, first_byte: int, last_byte: int) -> bytes:
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
