"""A reading thread's work: one task after the other on a connection of its own."""

import apsw

from zapomni_db.sqlite.database import Database
from zapomni_db.sqlite.failures import translated
from zapomni_db.sqlite.rota import Desk, Rota
from zapomni_db.sqlite.tasks import Task


class Reader:
    """Does what is asked of it until no more is asked."""

    def __init__(self, database: Database, rota: Rota) -> None:
        self._database = database
        self._rota = rota
        self._desk = Desk()
        self._connection: apsw.Connection | None = None

    def run(self) -> None:
        """The thread."""
        while task := self._rota.next(self._desk):
            if not task.is_given_up:
                self._do(task)
        if self._connection:
            self._connection.close()

    def _do(self, task: Task) -> None:
        try:
            with translated(self._database.path, (apsw.Error,)):
                answer = task.work(self._connected())
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is the caller's
            answer = error
        task.answer(answer)

    def _connected(self) -> apsw.Connection:
        if self._connection is None:
            self._connection = self._database.connect()
        return self._connection
