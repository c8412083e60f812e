"""Whatever of a plugin's blocks the event loop without being a call is named too."""

from contextlib import asynccontextmanager
from types import ModuleType

import pytest

from tests.unit.core.jobs.conftest import offered
from zapomni_core.engine import MemoryEngine
from zapomni_core.jobs import Kinds
from zapomni_core.jobs.worker import Worker
from zapomni_core.plugin import hookimpl
from zapomni_core.settings import Settings
from zapomni_core.testing import running
from zapomni_db.records import NewJob
from zapomni_db.sqlite import SQLiteStore


def said_by_the_watchdog(caplog):
    [record] = [one for one in caplog.records if one.name == "zapomni.watchdog"]
    assert "in dawdle" in record.stack
    return record


@pytest.mark.parametrize("when", ["opening", "closing"])
async def test_a_lifespan_that_blocks_the_server_is_named_with_its_plugin(when, block, caplog):
    @asynccontextmanager
    async def dawdle():
        if when == "opening":
            block()
        yield
        if when == "closing":
            block()

    slow = ModuleType("slow")
    slow.zapomni_lifespan = hookimpl(specname="zapomni_lifespan")(dawdle)
    async with running(slow) as app:
        await app.app.ready()
    record = said_by_the_watchdog(caplog)
    assert (record.message, record.plugin) == ("lifespan_blocks_the_server", "slow")


async def test_a_job_that_blocks_the_server_is_named_with_its_plugin(tmp_path, block, caplog):
    async def dawdle(_engine, _job, _progress):
        block()

    engine = MemoryEngine(Settings(), store=SQLiteStore(tmp_path / "memory.db"))
    try:
        [job] = await engine.jobs.enqueue(engine.workspace, [NewJob(kind="test")])
        await Worker(engine, Kinds(offered(test=dawdle), Settings())).finish("test")
    finally:
        await engine.close()
    record = said_by_the_watchdog(caplog)
    assert (record.message, record.plugin, record.job) == ("job_blocks_the_server", "guest", job.id)
