"""Sessions as rows of the file."""

import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from uuid import uuid4

import apsw

from zapomni_db.records import SessionRecord
from zapomni_db.sqlite import values
from zapomni_db.sqlite.connections import one

_FIELDS = "uid, user_id, metadata, created_at, updated_at"


class Row(NamedTuple):
    """A session as it stands in the file."""

    uid: str
    user_id: str
    metadata: str
    created_at: int
    updated_at: int

    def record(self) -> SessionRecord:
        """What the store gives back."""
        return SessionRecord(
            id=self.uid,
            user_id=self.user_id,
            metadata=values.from_json(self.metadata),
            created_at=values.from_micros(self.created_at),
            updated_at=values.from_micros(self.updated_at),
        )


def create(connection: apsw.Connection, workspace: str, user_id: str, metadata: Mapping[str, Any]) -> SessionRecord:
    """Keep a new session; inside a transaction."""
    now = time.time_ns() // 1000
    row = Row(
        str(uuid4()),
        values.check_text("user_id", user_id),
        values.to_json("metadata", dict(metadata)),
        now,
        now,
    )
    _insert(connection, workspace, row)
    return row.record()


def find(connection: apsw.Connection, workspace: str, uid: str) -> SessionRecord | None:
    """A session by its id."""
    if not (values.is_text(workspace) and values.is_text(uid)):
        return None
    row = one(connection, f"SELECT {_FIELDS} FROM session WHERE workspace = ? AND uid = ?", workspace, uid)  # noqa: S608 - ours
    return Row(*row).record() if row else None


def take_turns(connection: apsw.Connection, asked: Sequence[tuple[str, str]]) -> list[tuple[int, int]]:
    """For the workspace and id of each session, its number and the moment of its next message; inside a transaction.

    A session that is not there is made. Moments of one session never go back.
    """
    last: dict[tuple[str, str], tuple[int, int]] = {}
    turns = []
    for session in asked:
        now = time.time_ns() // 1000
        number, moment = last.get(session) or _last(connection, *session, now)
        last[session] = number, max(moment, now)
        turns.append(last[session])
    # Not in one statement with the asking: one that answers has a savepoint of its own, and that makes the index of words
    # write out what it gathered.
    connection.executemany(
        "UPDATE session SET updated_at = ? WHERE id = ?", [(moment, number) for number, moment in last.values()]
    )
    return turns


def _last(connection: apsw.Connection, workspace: str, uid: str, now: int) -> tuple[int, int]:
    """The number of a session, a new one if need be, and when somebody last said something in it."""
    found = one(connection, "SELECT id, updated_at FROM session WHERE workspace = ? AND uid = ?", workspace, uid)
    if found:
        return found[0], found[1]
    return _insert(connection, workspace, Row(uid, "", "{}", now, now)), now


def _insert(connection: apsw.Connection, workspace: str, row: Row) -> int:
    connection.execute(f"INSERT INTO session(workspace, {_FIELDS}) VALUES(?, ?, ?, ?, ?, ?)", (workspace, *row))
    return int(connection.last_insert_rowid())
