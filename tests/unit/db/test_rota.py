"""Tasks go to the reading thread that was busy last."""

import pytest

from zapomni_db.sqlite.rota import Rota
from zapomni_db.sqlite.tasks import Task


class Desk(list):
    """The desk of a thread that looks away while it waits."""

    put = list.append

    def get(self):
        return None


@pytest.fixture
def rota():
    return Rota()


@pytest.fixture
async def tasks():
    return [Task(lambda _: None) for _ in range(3)]


async def test_the_thread_that_was_busy_last_gets_the_next_task(rota, tasks):
    first, last = Desk(), Desk()
    rota.next(first)
    rota.next(last)
    rota.put(tasks[0])
    rota.next(last)

    rota.put(tasks[1])

    assert (first, last) == ([], tasks[:2])


async def test_two_tasks_at_once_go_to_two_threads(rota, tasks):
    first, last = Desk(), Desk()
    rota.next(first)
    rota.next(last)

    rota.put(tasks[0])
    rota.put(tasks[1])

    assert (first, last) == ([tasks[1]], [tasks[0]])


async def test_what_waits_for_a_thread_is_done_in_order_although_no_more_comes(rota, tasks):
    for task in tasks:
        rota.put(task)

    rota.close()

    assert [rota.next(Desk()) for _ in range(4)] == [*tasks, None]


async def test_threads_that_wait_hear_that_no_more_comes(rota):
    desks = [Desk(), Desk()]
    for desk in desks:
        rota.next(desk)

    rota.close()

    assert desks == [[None], [None]]
