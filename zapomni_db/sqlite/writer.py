"""The writing thread's work: what waits is written in one transaction, and answered when that is on the disk.

A commit waits for the disk, whatever is in it: many small ones together cost as much as one. Where one of them fails, all are
done anew, each with a savepoint of its own, so that a bad one is undone alone: a savepoint makes the index of words write out what
it has gathered, which costs more than the rest of a task. Until the moment of the commit a caller can give up: then what was
written is undone, and the rest is done anew.
"""

from functools import partial
from itertools import compress
from typing import Any

import apsw

from zapomni_db.sqlite.connections import transaction
from zapomni_db.sqlite.database import Database
from zapomni_db.sqlite.failures import translate, translated
from zapomni_db.sqlite.joint import Work, do
from zapomni_db.sqlite.tasks import Task, Tasks, answer_all
from zapomni_db.sqlite.witness import count_commit

_MOST_TOGETHER = 128


class _GivenUpError(Exception):
    """Somebody who asked for a part of a transaction has gone."""


class Writer:
    """Writes what is asked of it until no more is asked."""

    def __init__(self, database: Database, tasks: Tasks) -> None:
        self._database = database
        self._tasks = tasks
        self._connection: apsw.Connection | None = None

    def run(self) -> None:
        """The thread."""
        while self._tasks.wait():
            self._do_next()
        if self._connection:
            self._database.spare_overwritten(self._connection)
            self._connection.close()
        self._database.close()

    def _do_next(self) -> None:
        tasks: list[Task] = []
        try:
            with translated(self._database.path):
                connection = self._connected()
                with self._database.gate.hold():
                    tasks = self._tasks.take(_MOST_TOGETHER)
                    answers = self._do(connection, tasks)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the callers'
            tasks = tasks or self._tasks.take(_MOST_TOGETHER)
            answers = [error] * len(tasks)
        answer_all(tasks, answers)

    def _connected(self) -> apsw.Connection:
        if self._connection is None:
            self._connection = self._database.connect(writing=True)
        return self._connection

    def _do(self, connection: apsw.Connection, tasks: list[Task]) -> list[Any]:
        if not tasks:
            return []
        if not tasks[0].alone:
            return self._commit(connection, tasks)
        self._tasks.settle(tasks)
        self._database.guard(connection)
        return [tasks[0].work(connection)]

    def _commit(self, connection: apsw.Connection, tasks: list[Task]) -> list[Any]:
        """What became of each task, once it is on the disk. What fails together is tried with savepoints, then one by one."""
        works = [task.work for task in tasks]
        try:
            return self._transact(connection, tasks, works)
        except _GivenUpError:
            return self._commit_rest(connection, tasks)
        except Exception:
            if len(tasks) == 1:
                raise
        try:
            return self._transact(connection, tasks, [partial(self._attempt, work) for work in works])
        except _GivenUpError:
            return self._commit_rest(connection, tasks)
        except Exception:  # noqa: BLE001 - whatever it is, whose it is will be seen
            return [self._alone(connection, task) for task in tasks]

    def _transact(self, connection: apsw.Connection, tasks: list[Task], works: list[Work[Any]]) -> list[Any]:
        with transaction(connection):
            self._database.guard(connection)
            answers, note = do(connection, works), count_commit(connection)
            if not self._tasks.settle(tasks):
                raise _GivenUpError
        self._database.note(note)
        return answers

    def _commit_rest(self, connection: apsw.Connection, tasks: list[Task]) -> list[Any]:
        """What became of each task; nothing of those that were given up."""
        wanted = [not task.is_given_up for task in tasks]
        rest = list(compress(tasks, wanted))
        answers = iter(self._commit(connection, rest) if rest else ())
        return [next(answers) if is_wanted else None for is_wanted in wanted]

    def _attempt(self, work: Work[Any], connection: apsw.Connection) -> Any:
        connection.execute("SAVEPOINT task")
        try:
            answer = work(connection)
        except Exception as error:
            if not connection.in_transaction:  # SQLite has given up all of it, as when the disk is full
                raise
            connection.execute("ROLLBACK TO task")
            answer = translate(error, self._database.path)
        connection.execute("RELEASE task")
        return answer

    def _alone(self, connection: apsw.Connection, task: Task) -> Any:
        try:
            return self._commit(connection, [task])[0]
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the caller's
            return translate(error, self._database.path)
