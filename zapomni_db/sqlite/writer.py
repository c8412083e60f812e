"""The writing thread's work: what waits is written in one transaction, and answered when that is on the disk.

A commit waits for the disk, whatever is in it: many small ones together cost as much as one. Each job has a savepoint of its
own, so that a bad one is undone alone. Jobs are taken when the gate is held, so that until then a caller can give up.
"""

from typing import Any

import apsw

from zapomni_db.sqlite.connections import last_change, transaction
from zapomni_db.sqlite.database import Database
from zapomni_db.sqlite.failures import translate, translated
from zapomni_db.sqlite.jobs import Job, Jobs

_MOST_TOGETHER = 128


class Writer:
    """Writes what is asked of it until no more is asked."""

    def __init__(self, database: Database, jobs: Jobs) -> None:
        self._database = database
        self._jobs = jobs
        self._connection: apsw.Connection | None = None

    def run(self) -> None:
        """The thread."""
        while self._jobs.wait():
            self._do_next()
        if self._connection:
            self._connection.close()
        self._database.close()

    def _do_next(self) -> None:
        jobs: list[Job] = []
        try:
            with translated(self._database.path):
                connection = self._connected()
                with self._database.gate.hold():
                    jobs = self._jobs.take(_MOST_TOGETHER)
                    answers = self._do(connection, jobs)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the callers'
            jobs = jobs or self._jobs.take(_MOST_TOGETHER)
            answers = [error] * len(jobs)
        for job, answer in zip(jobs, answers, strict=True):
            job.answer(answer)

    def _connected(self) -> apsw.Connection:
        if self._connection is None:
            self._connection = self._database.connect(writing=True)
        return self._connection

    def _do(self, connection: apsw.Connection, jobs: list[Job]) -> list[Any]:
        if not jobs:
            return []
        if not jobs[0].alone:
            return self._commit(connection, jobs)
        self._database.guard(connection)
        return [jobs[0].work(connection)]

    def _commit(self, connection: apsw.Connection, jobs: list[Job]) -> list[Any]:
        """What became of each job, once it is on the disk. What fails together is tried one by one."""
        try:
            with transaction(connection):
                self._database.guard(connection)
                answers = [self._attempt(connection, job) for job in jobs]
                change = last_change(connection)
        except Exception:
            if len(jobs) == 1:
                raise
            return [self._alone(connection, job) for job in jobs]
        self._database.note(change)
        return answers

    def _attempt(self, connection: apsw.Connection, job: Job) -> Any:
        connection.execute("SAVEPOINT job")
        try:
            answer = job.work(connection)
        except Exception as error:
            if not connection.in_transaction:  # SQLite has given up all of it, as when the disk is full
                raise
            connection.execute("ROLLBACK TO job")
            answer = translate(error, self._database.path)
        connection.execute("RELEASE job")
        return answer

    def _alone(self, connection: apsw.Connection, job: Job) -> Any:
        try:
            return self._commit(connection, [job])[0]
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the caller's
            return translate(error, self._database.path)
