"""A job kind that fails is reported with its plugin and does not affect other kinds."""

import asyncio
import threading

import pytest

from tests.unit.core.jobs.conftest import Doing, offering, queue
from zapomni_core.errors import ProcessingError
from zapomni_core.jobs import Kinds, kinds
from zapomni_core.settings import Settings


async def nothing(_engine, _job, _progress):
    return None


async def progress(_fraction, _message=""):
    return None


class Blunt:
    def run(self, _engine, _job, _progress):
        return {}


async def make_later(_context):
    return Doing(nothing)


def exit_instead(_context):
    raise SystemExit(3)


def quote_a_secret(_context):
    raise ValueError("Ada's secret")


@pytest.fixture
async def job(make_engine):
    engine = make_engine()
    return await engine.get_job(await queue(engine))


def kinds_of(factory):
    return Kinds(offering(test=factory), Settings())


@pytest.mark.parametrize(
    ("factory", "cause"),
    [
        (quote_a_secret, "ValueError"),
        (exit_instead, "SystemExit"),
        (lambda _context: None, "NoneType"),
        (make_later, "factory is async"),
        (lambda _context: Blunt(), "'run'"),
    ],
    ids=["raises", "exits", "nothing", "async", "run is not async"],
)
async def test_a_kind_that_cannot_be_used_is_reported_with_its_plugin_and_cause(job, factory, cause):
    with pytest.raises(ProcessingError) as caught:
        await kinds_of(factory).run(None, job, progress)
    message = str(caught.value)
    assert all(part in message for part in ("'test'", "plugin 'sample'", cause))
    assert "secret" not in message


async def test_a_factory_that_raised_is_called_again(job):
    answers = iter([ValueError("not yet"), Doing(nothing)])

    def make(_context):
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    known = kinds_of(make)
    with pytest.raises(ProcessingError):
        await known.run(None, job, progress)
    assert await known.run(None, job, progress) == {}
    assert await known.run(None, job, progress) == {}


async def test_a_factory_that_hangs_is_called_once_and_blocks_no_other_job(job, monkeypatch):
    monkeypatch.setattr(kinds, "MAKE_SECONDS", 0.1)
    begun, let_go = [], threading.Event()

    def block(_context):
        begun.append(threading.current_thread())
        let_go.wait(60)
        return Doing(nothing)

    known = kinds_of(block)
    asked = asyncio.create_task(known.run(None, job, progress))
    await asyncio.sleep(0)
    assert not asked.done()
    for again in (asked, known.run(None, job, progress)):
        with pytest.raises(ProcessingError, match=r"plugin 'sample'.*0\.1 seconds"):
            await again
    assert len(begun) == 1
    let_go.set()
    begun[0].join(60)
    assert await known.run(None, job, progress) == {}
