"""What happens to memories, one row each, never rewritten: by it every process keeps its view of a workspace up to date."""

from collections.abc import Iterable
from typing import Literal

import apsw

from zapomni_db.sqlite.connections import rows

State = Literal["added", "deleted", "restored", "superseded", "purged", "read", "embedded"]


def record(connection: apsw.Connection, workspace: str, memory: int, state: State) -> None:
    """Say that a memory is not what it was."""
    record_all(connection, [(workspace, memory)], state)


def record_all(connection: apsw.Connection, memories: Iterable[tuple[str, int]], state: State) -> None:
    """Say of memories, each after its workspace, that they are not what they were."""
    connection.executemany(
        "INSERT INTO change(workspace, memory, state) VALUES(?, ?, ?)",
        [(workspace, memory, state) for workspace, memory in memories],
    )


def record_reload(connection: apsw.Connection) -> None:
    """Say that every view is to be made anew: the codes are other ones."""
    connection.execute("INSERT INTO change(workspace, memory, state) VALUES('', 0, 'reload')")


def changed_since(connection: apsw.Connection, workspace: str, seq: int) -> set[int] | None:
    """The memories of a workspace that something happened to; None if everything is to be read anew."""
    statement = "SELECT memory FROM change WHERE seq > ? AND (workspace = ? OR state = 'reload') AND state != 'read'"
    found = rows(connection, statement, seq, workspace)
    memories = {memory for (memory,) in found}
    return None if 0 in memories else memories
