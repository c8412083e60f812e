"""Connections plan a statement once."""

import apsw

from zapomni_db.sqlite.connections import open_connection


def test_a_statement_with_a_limit_is_planned_once_whatever_the_limit(tmp_path):
    file = tmp_path / "some.db"
    apsw.Connection(str(file)).execute("CREATE TABLE number(value)")
    connection = open_connection(file)
    planned: list[int] = []
    connection.authorizer = lambda action, *_: planned.append(action) or apsw.SQLITE_OK
    connection.execute("SELECT value FROM number LIMIT ?", (1,)).fetchall()
    once = len(planned)

    connection.execute("SELECT value FROM number LIMIT ?", (2,)).fetchall()

    assert once == len(planned) > 0
