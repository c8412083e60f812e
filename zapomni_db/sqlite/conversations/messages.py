"""Messages: memories that have a role, and a place in a session."""

import apsw

from zapomni_db.records import Added, EmbedderIdentity, MessageRecord, NewMemory
from zapomni_db.sqlite import adding, values
from zapomni_db.sqlite.adding import Nature
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


def add(
    connection: apsw.Connection,
    workspace: str,
    memory: NewMemory,
    embedder: EmbedderIdentity,
    *,
    session_id: str,
    role: str,
) -> Added:
    """Keep the next message of a session; inside a transaction, which settles who is next."""
    values.check_text("workspace", workspace)
    values.check_text("session_id", session_id)
    session, moment = sessions.take_turn(connection, workspace, session_id)
    nature = Nature(KIND, session_id, created_at=moment)
    number, added = adding.add_as(connection, workspace, memory, embedder, nature)
    connection.execute("INSERT INTO message VALUES(?, ?, ?)", (number, session, values.check_text("role", role)))
    return added


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
