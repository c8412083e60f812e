"""An engine runs a worker only while it has jobs to do."""

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


async def test_a_closed_engine_has_no_worker(make_engine):
    engine = make_engine(test=count)
    await engine.submit([NewJob(kind="test")])
    await engine.close()
    assert workers() == []


async def test_a_command_runs_no_jobs_although_it_uses_the_store(make_engine):
    engine = make_engine(test=count)
    await engine.get_stats()
    assert workers() == []


async def test_a_server_runs_jobs_after_the_first_use_of_its_store(make_engine):
    earlier = make_engine()
    (job,) = await earlier.submit([NewJob(kind="test")])
    engine = make_engine(test=count)
    engine.serve_jobs()
    assert workers() == []
    await engine.get_stats()
    await in_state(earlier, job.id, "done")


async def test_a_server_with_the_llm_extractor_starts_a_worker_at_once(make_engine):
    earlier = make_engine()
    (job,) = await earlier.submit([NewJob(kind="test")])
    make_engine(Settings(extractor="llm"), test=count).serve_jobs()
    await in_state(earlier, job.id, "done")


async def test_no_worker_starts_without_job_kinds(make_engine):
    engine = make_engine()
    engine.serve_jobs()
    await engine.submit([NewJob(kind="test")])
    assert workers() == []
    assert (await engine.get_stats()).jobs == JobCounts(queued=1)


def test_no_worker_starts_outside_an_event_loop():
    engine = MemoryEngine(Settings(), providers=offered(test=count), store=Plain())
    engine.serve_jobs()
    assert isinstance(engine.memories, Plain)


async def test_statistics_count_jobs_after_the_first_one(make_engine):
    engine = make_engine(test=count)
    assert (await engine.get_stats()).jobs is None
    (job,) = await engine.submit([NewJob(kind="test")])
    await in_state(engine, job.id, "done")
    assert (await engine.get_stats()).jobs == JobCounts(done=1)


async def test_submitting_to_a_store_without_a_queue_fails_with_its_name():
    engine = MemoryEngine(Settings(), providers=offered(test=count), store=Plain())
    assert not engine.keeps_jobs
    with pytest.raises(ConfigurationError, match="'plain'"):
        await engine.submit([NewJob(kind="test")])
    engine.serve_jobs()
    assert engine.memories
    assert workers() == []


async def test_an_unknown_job_is_reported_with_the_workspace(make_engine):
    with pytest.raises(JobNotFoundError, match=r"\bx+\b.*'default'"):
        await make_engine().get_job("x" * 100)


def test_jobs_can_be_queued_with_a_job_kind_or_the_llm_extractor():
    assert MemoryEngine(Settings(), providers=offered(test=count)).can_queue
    assert MemoryEngine(Settings(extractor="llm"), providers=Providers()).can_queue
    assert not MemoryEngine().can_queue
    assert not MemoryEngine(Settings(), providers=Providers()).can_queue


class JobPlugin:
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


class EarlyPlugin:
    """A plugin that is loaded first and checks whether jobs can be queued."""

    @hookimpl
    def zapomni_tools(self, engine):
        self.could_queue = engine.can_queue
        return []


async def test_providers_of_later_plugins_are_known_when_tools_are_built():
    early = EarlyPlugin()
    async with running(early, JobPlugin()) as app:
        assert app.app.engine.can_queue
    assert early.could_queue


async def test_a_plugin_that_fails_provides_nothing():
    from zapomni_core.app import build_app
    from zapomni_core.host.discovery import Found

    app = build_app(Settings(), plugins=[Found("sample", target="sample", plugin=JobPlugin(broken=True))])
    assert app.report.get("sample").state == "failed"
    assert not app.engine.can_queue


async def test_a_crashed_worker_is_logged_and_replaced_at_the_next_job(make_engine, monkeypatch, caplog):
    engine = make_engine(test=count)

    async def broken(*_):
        raise RuntimeError("broken")

    async def logged():
        return "job_worker_ended" in caplog.messages

    with monkeypatch.context() as patch:
        patch.setattr(engine.jobs, "claim", broken)
        await engine.submit([NewJob(kind="test")])
        await until(logged)
        await until(no_worker)
    (job,) = await engine.submit([NewJob(kind="test")])
    await in_state(engine, job.id, "done")


async def no_worker():
    return not workers()


async def test_only_one_worker_starts_if_the_first_use_of_the_store_is_its_queue(make_engine):
    engine = make_engine(test=count)
    engine.serve_jobs()
    (job,) = await engine.submit([NewJob(kind="test")])
    await in_state(engine, job.id, "done")
    assert len(workers()) == 1


async def test_serving_and_waking_start_only_one_worker(make_engine):
    engine = make_engine(test=count)
    engine.components.runner.serve(engine)
    engine.components.runner.wake(engine)
    assert len(workers()) == 1


async def test_an_engine_still_runs_jobs_after_finish_embedding(make_engine):
    engine = make_engine(test=count)
    assert await engine.finish_embedding()
    (job,) = await engine.submit([NewJob(kind="test")])
    await in_state(engine, job.id, "done")
