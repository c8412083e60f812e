"""What happens to memories, one row each, never rewritten: by it every process keeps its view of a workspace up to date."""

import time
from collections.abc import Iterable
from typing import Literal

import apsw

from zapomni_db.records import Event
from zapomni_db.sqlite.connections import rows
from zapomni_db.sqlite.values import from_micros

State = Literal["added", "changed", "deleted", "restored", "replaced", "purged", "read", "embedded", "analysed"]


def record(connection: apsw.Connection, workspace: str, memory: int, state: State, by: str = "") -> None:
    """Say that a memory is not what it was."""
    record_all(connection, [(workspace, memory)], state, by)


def record_all(connection: apsw.Connection, memories: Iterable[tuple[str, int]], state: State, by: str = "") -> None:
    """Say of memories, each after its workspace, that they are not what they were."""
    now = time.time_ns() // 1000
    connection.executemany(
        "INSERT INTO change(workspace, memory, state, at, client) VALUES(?, ?, ?, ?, ?)",
        [(workspace, memory, state, now, by) for workspace, memory in memories],
    )


def history(connection: apsw.Connection, memory: int) -> list[Event]:
    """What happened to a memory that a person would ask about."""
    statement = (
        "SELECT at, state, client FROM change WHERE memory = ?"
        " AND state IN ('added', 'changed', 'deleted', 'restored', 'replaced') ORDER BY seq"
    )
    return [Event(from_micros(at), state, by) for at, state, by in rows(connection, statement, memory)]


def record_reload(connection: apsw.Connection, workspace: str) -> None:
    """Say that every view of a workspace is to be made anew: the codes are other ones."""
    connection.execute(
        "INSERT INTO change(workspace, memory, state, at, client) VALUES(?, 0, 'reload', 0, '')", (workspace,)
    )


def changed_since(connection: apsw.Connection, workspace: str, seq: int) -> set[int] | None:
    """The memories of a workspace that something happened to; None if everything is to be read anew."""
    statement = "SELECT memory FROM change WHERE seq > ? AND workspace = ? AND state != 'read'"
    found = rows(connection, statement, seq, workspace)
    memories = {memory for (memory,) in found}
    return None if 0 in memories else memories
