"""A reading thread's work: one job after the other on a connection of its own."""

import apsw

from zapomni_db.sqlite.database import Database
from zapomni_db.sqlite.failures import translated
from zapomni_db.sqlite.jobs import Job, Jobs


class Reader:
    """Does what is asked of it until no more is asked."""

    def __init__(self, database: Database, jobs: Jobs) -> None:
        self._database = database
        self._jobs = jobs
        self._connection: apsw.Connection | None = None

    def run(self) -> None:
        """The thread."""
        while self._jobs.wait():
            for job in self._jobs.take():
                self._do(job)
        if self._connection:
            self._connection.close()

    def _do(self, job: Job) -> None:
        try:
            with translated(self._database.path, (apsw.Error,)):
                answer = job.work(self._connected())
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is the caller's
            answer = error
        job.answer(answer)

    def _connected(self) -> apsw.Connection:
        if self._connection is None:
            self._connection = self._database.connect()
        return self._connection
