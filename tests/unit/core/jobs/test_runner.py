"""An engine has a worker when there is work for it, and none otherwise."""

import asyncio

import pytest

from tests.unit.core.jobs.conftest import in_state, offered, until
from zapomni_core.errors import ConfigurationError
from zapomni_core.memory.engine import MemoryEngine
from zapomni_core.plugin import Provider, hookimpl
from zapomni_core.providers import Providers
from zapomni_core.settings import Settings
from zapomni_core.testing import running
from zapomni_db.errors import JobNotFoundError
from zapomni_db.records import JobCounts, NewJob


async def count(_engine, job, _progress):
    return {"counted": job.payload.get("number")}


def workers():
    return [task for task in asyncio.all_tasks() if task.get_name() == "jobs"]


class Plain:
    """A store without a queue."""

    jobs = graph = sessions = vectors = None

    async def close(self): ...


async def test_a_submitted_job_runs_without_a_server(make_engine):
    engine = make_engine(test=count)
    jobs = await engine.submit([NewJob(kind="test", payload={"number": number}) for number in range(3)])
    done = [await in_state(engine, job.id, "done") for job in jobs]
    assert [job.result["counted"] for job in done] == [0, 1, 2]
    assert len(workers()) == 1


async def test_one_worker_serves_every_workspace_in_which_jobs_are_submitted_here(make_engine):
    engine = make_engine(test=count)
    for workspace in ("one", "two"):
        bound = engine.in_workspace(workspace)
        (job,) = await bound.submit([NewJob(kind="test")])
        await in_state(bound, job.id, "done")
    assert len(workers()) == 1


async def test_an_engine_that_is_closed_has_no_worker_any_more(make_engine):
    engine = make_engine(test=count)
    await engine.submit([NewJob(kind="test")])
    await engine.close()
    assert workers() == []


async def test_a_command_does_no_jobs_though_it_uses_the_store(make_engine):
    engine = make_engine(test=count)
    await engine.get_stats()
    assert workers() == []


async def test_a_server_does_jobs_from_the_first_use_of_its_store_on(make_engine):
    earlier = make_engine()
    (job,) = await earlier.submit([NewJob(kind="test")])
    engine = make_engine(test=count)
    engine.serve_jobs()
    assert workers() == []
    await engine.get_stats()
    await in_state(earlier, job.id, "done")


async def test_a_server_with_an_extractor_by_llm_begins_at_once(make_engine):
    earlier = make_engine()
    (job,) = await earlier.submit([NewJob(kind="test")])
    make_engine(Settings(extractor="llm"), test=count).serve_jobs()
    await in_state(earlier, job.id, "done")


async def test_where_no_kind_is_known_nothing_is_begun(make_engine):
    engine = make_engine()
    engine.serve_jobs()
    await engine.submit([NewJob(kind="test")])
    assert workers() == []
    assert (await engine.get_stats()).jobs == JobCounts(queued=1)


def test_outside_of_an_event_loop_nothing_is_begun():
    engine = MemoryEngine(Settings(), providers=offered(test=count), store=Plain())
    engine.serve_jobs()
    assert isinstance(engine.memories, Plain)


async def test_statistics_tell_of_jobs_once_there_was_one(make_engine):
    engine = make_engine(test=count)
    assert (await engine.get_stats()).jobs is None
    (job,) = await engine.submit([NewJob(kind="test")])
    await in_state(engine, job.id, "done")
    assert (await engine.get_stats()).jobs == JobCounts(done=1)


async def test_a_store_without_a_queue_is_named():
    engine = MemoryEngine(Settings(), providers=offered(test=count), store=Plain())
    assert not engine.keeps_jobs
    with pytest.raises(ConfigurationError, match="the store 'plain' keeps no jobs"):
        await engine.submit([NewJob(kind="test")])
    engine.serve_jobs()
    assert engine.memories
    assert workers() == []


async def test_an_unknown_job_is_reported_with_the_workspace(make_engine):
    with pytest.raises(JobNotFoundError, match=r"^there is no job x+ in workspace 'default'$"):
        await make_engine().get_job("x" * 100)


def test_jobs_can_be_queued_where_a_guest_has_a_kind_or_an_llm_may_be_away():
    assert MemoryEngine(Settings(), providers=offered(test=count)).can_queue
    assert MemoryEngine(Settings(extractor="llm"), providers=Providers()).can_queue
    assert not MemoryEngine().can_queue
    assert not MemoryEngine(Settings(), providers=Providers()).can_queue


class Guest:
    """A plugin with a kind of job."""

    def __init__(self, *, broken=False):
        self.broken = broken

    @hookimpl
    def zapomni_providers(self):
        return [Provider(kind="job", name="test", factory=lambda _context: None)]

    @hookimpl
    def zapomni_tools(self, engine):
        if self.broken:
            raise ValueError("broken")
        return []


class Host:
    """A plugin that is loaded before its guest, and looks at what can be queued."""

    @hookimpl
    def zapomni_tools(self, engine):
        self.could_queue = engine.can_queue
        return []


async def test_providers_of_later_plugins_are_known_when_tools_are_built():
    host = Host()
    async with running(host, Guest()) as app:
        assert app.app.engine.can_queue
    assert host.could_queue


async def test_a_plugin_that_fails_provides_nothing():
    from zapomni_core.app import build_app
    from zapomni_core.host.discovery import Found

    app = build_app(Settings(), plugins=[Found("guest", target="guest", plugin=Guest(broken=True))])
    assert app.report.get("guest").state == "failed"
    assert not app.engine.can_queue


async def test_a_broken_worker_is_logged_and_replaced_at_the_next_job(make_engine, monkeypatch, caplog):
    engine = make_engine(test=count)

    async def broken(*_):
        raise RuntimeError("broken")

    async def told():
        return "job_worker_ended" in caplog.messages

    with monkeypatch.context() as patch:
        patch.setattr(engine.jobs, "claim", broken)
        await engine.submit([NewJob(kind="test")])
        await until(told)
        await until(no_worker)
    (job,) = await engine.submit([NewJob(kind="test")])
    await in_state(engine, job.id, "done")


async def no_worker():
    return not workers()


async def test_there_is_one_worker_though_asking_for_the_queue_is_the_first_use_of_the_store(make_engine):
    engine = make_engine(test=count)
    engine.serve_jobs()
    (job,) = await engine.submit([NewJob(kind="test")])
    await in_state(engine, job.id, "done")
    assert len(workers()) == 1


async def test_a_server_that_is_to_begin_at_once_has_one_worker(make_engine):
    engine = make_engine(test=count)
    engine.components.runner.serve(engine)
    engine.components.runner.wake(engine)
    assert len(workers()) == 1


async def test_an_engine_that_has_settled_does_jobs_as_before(make_engine):
    engine = make_engine(test=count)
    assert await engine.finish_embedding()
    (job,) = await engine.submit([NewJob(kind="test")])
    await in_state(engine, job.id, "done")
