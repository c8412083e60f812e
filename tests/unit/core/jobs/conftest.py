"""Engines and workers on real stores, with kinds of jobs that do what a test asks of them."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from zapomni_core.jobs import Kinds
from zapomni_core.jobs.worker import Worker
from zapomni_core.memory.engine import MemoryEngine
from zapomni_core.providers import Provider, Providers
from zapomni_core.settings import Settings
from zapomni_core.testing.embedder import HashingEmbedder
from zapomni_db.records import NewJob
from zapomni_db.sqlite import SQLiteStore


class Doing:
    """A kind of job that calls a function."""

    def __init__(self, do):
        self.do = do

    async def run(self, engine, job, progress):
        return await self.do(engine, job, progress)


def offered(**kinds):
    """Providers of kinds that call these functions, by name."""
    return offering(**{name: lambda _context, do=do: Doing(do) for name, do in kinds.items()})


def offering(**factories):
    """Providers of a plugin's kinds, by name, that these factories make."""
    providers = Providers()
    providers.take("sample", [Provider(kind="job", name=name, factory=one) for name, one in factories.items()])
    return providers


async def until(condition):
    """Wait until a condition holds."""
    async with asyncio.timeout(60):
        while not (found := await condition()):  # noqa: ASYNC110 - what is waited for is in a file
            await asyncio.sleep(0.01)
    return found


@pytest.fixture
async def make_engine(tmp_path):
    """Make an engine on the store of this test that knows these kinds."""
    made = []

    def make(settings=None, **kinds):
        store = SQLiteStore(tmp_path / "memory.db")
        made.append(
            MemoryEngine(settings or Settings(), providers=offered(**kinds), store=store, embedder=HashingEmbedder())
        )
        return made[-1]

    yield make
    for engine in made:
        await engine.close()


@pytest.fixture
def working(make_engine):
    """A worker that works meanwhile, with an engine to look with."""

    @asynccontextmanager
    async def work(do, clock=None, **options):
        engine = make_engine()
        more = {"clock": clock} if clock else {}
        options = {"delay": lambda _attempts: 0.0, "poll_seconds": 0.05} | options | more
        worker = Worker(engine, Kinds(offered(test=do), Settings()), **options)
        task = asyncio.create_task(worker.run())
        try:
            yield engine, worker
        finally:
            worker.end()
            await asyncio.wait_for(task, 60)

    return work


async def queue(engine, *jobs):
    """The id of the first of these jobs, or of a plain one, once they are queued."""
    made = await engine.jobs.enqueue(engine.workspace, jobs or [NewJob(kind="test")])
    return made[0].id


async def in_state(engine, job_id, state):
    """A job, when it has come to a state."""

    async def look():
        job = await engine.get_job(job_id)
        return job if job.state == state else None

    return await until(look)
