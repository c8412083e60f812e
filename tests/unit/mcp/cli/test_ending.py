import pytest

from zapomni_mcp.cli import ending


@pytest.fixture(autouse=True)
def timers(monkeypatch):
    """The timers that were started; none of them runs out."""
    started = []
    monkeypatch.setattr(ending, "SECONDS", 3600)
    monkeypatch.setattr(ending, "_timers", started)
    yield started
    for timer in started:
        timer.cancel()


def test_a_process_that_is_asked_twice_to_end_is_ended_once_with_the_last_code(timers):
    ending.end_soon(0)
    (first,) = timers
    ending.end_soon(1)
    (last,) = timers
    first.join(5)
    assert (first.is_alive(), last.is_alive()) == (False, True)
    assert last.args == [1]


def test_what_ends_a_process_does_not_keep_it_alive(timers):
    ending.end_soon(0)
    assert timers[0].daemon
