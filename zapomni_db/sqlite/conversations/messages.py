"""Messages: memories that have a role, and a place in a session."""

from collections.abc import Sequence
from typing import NamedTuple

import apsw

from zapomni_db.records import Added, MessageRecord, NewMemory
from zapomni_db.sqlite import adding, values
from zapomni_db.sqlite.adding import Addition
from zapomni_db.sqlite.connections import one, rows
from zapomni_db.sqlite.conversations import sessions
from zapomni_db.sqlite.conversations.texts import COLUMNS

KIND = "message"

_LAST = f"""
SELECT message.role, {COLUMNS}
FROM message CROSS JOIN memory m ON m.id = message.memory
WHERE message.session = ? AND m.deleted_at IS NULL
ORDER BY message.memory DESC LIMIT ?
"""  # noqa: S608 - columns of ours


class NewMessage(NamedTuple):
    """What is said in a session, and by whom."""

    workspace: str
    session_id: str
    role: str
    memory: NewMemory


def add_all(connection: apsw.Connection, new: Sequence[NewMessage]) -> list[Added]:
    """Keep the next messages of sessions; inside a transaction, which settles who is next."""
    for message in new:
        values.check_text("workspace", message.workspace)
        values.check_text("session_id", message.session_id)
        values.check_text("role", message.role)
    turns = sessions.take_turns(connection, [(message.workspace, message.session_id) for message in new])
    added = adding.add_all(
        connection, [_addition(message, moment) for message, (_, moment) in zip(new, turns, strict=True)]
    )
    rows_of = [(number, turn[0], message.role) for message, turn, (number, _) in zip(new, turns, added, strict=True)]
    connection.executemany("INSERT INTO message VALUES(?, ?, ?)", rows_of)
    return [what for _, what in added]


def _addition(message: NewMessage, moment: int) -> Addition:
    return Addition(message.workspace, message.memory, KIND, message.session_id, created_at=moment)


def history(connection: apsw.Connection, workspace: str, session_id: str, limit: int) -> list[MessageRecord]:
    """The last messages of a session that are not deleted, oldest first."""
    if not (values.is_text(workspace) and values.is_text(session_id)):
        return []
    session = one(connection, "SELECT id FROM session WHERE workspace = ? AND uid = ?", workspace, session_id)
    found = [
        MessageRecord(
            id=uid,
            session_id=session_id,
            role=role,
            text=text.decode(),
            metadata=values.from_json(metadata),
            created_at=values.from_micros(created_at),
        )
        for role, uid, metadata, created_at, text in rows(connection, _LAST, session, limit)
    ]
    return found[::-1]


def drop(connection: apsw.Connection, memory: int) -> None:
    """Forget that a memory was a message."""
    connection.execute("DELETE FROM message WHERE memory = ?", (memory,))
