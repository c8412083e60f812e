"""Work that blocks the event loop is named in the log."""

from contextlib import asynccontextmanager
from types import ModuleType

import pytest

from tests.unit.core.dispatch.conftest import Around
from tests.unit.core.jobs.conftest import offered
from zapomni_core.jobs import Kinds
from zapomni_core.jobs.worker import Worker
from zapomni_core.memory.engine import MemoryEngine
from zapomni_core.plugin import current_call, hookimpl, tool
from zapomni_core.settings import Settings
from zapomni_core.testing import running, text_of
from zapomni_db.records import NewJob
from zapomni_db.sqlite import SQLiteStore


def named_by_the_watchdog(caplog):
    [record] = [one for one in caplog.records if one.name == "zapomni.watchdog"]
    assert (record.levelname, record.message) == ("WARNING", "event_loop_blocked")
    assert "asyncio.to_thread" in record.fix
    return record.running


@pytest.mark.parametrize("where", ["tool", "observe", "transform", "guard"])
async def test_a_call_that_blocks_the_event_loop_is_named(where, block, caplog):
    ids = []

    @tool
    async def dawdle() -> str:
        """Answer late, or at once where a middleware is late."""
        ids.append(current_call().call.id)
        if where == "tool":
            block()
        return "done"

    async def delay(call, call_next):
        block()
        return await call_next(call)

    slow = ModuleType("slow")
    slow.zapomni_tools = hookimpl(specname="zapomni_tools")(lambda: [dawdle])
    if where != "tool":
        slow.zapomni_middleware = hookimpl(specname="zapomni_middleware")(lambda: [Around(where, delay)])
    async with running(slow) as app:
        assert text_of(await app.call("dawdle")) == "done"
    assert named_by_the_watchdog(caplog) == [f"tool 'dawdle' of plugin 'slow', call {ids[0]}"]


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
    assert named_by_the_watchdog(caplog) == ["lifespan of plugin 'slow'"]


async def test_a_job_that_blocks_the_server_is_named_with_its_plugin(tmp_path, block, caplog):
    async def dawdle(_engine, _job, _progress):
        block()

    engine = MemoryEngine(Settings(), store=SQLiteStore(tmp_path / "memory.db"))
    try:
        [job] = await engine.jobs.enqueue(engine.workspace, [NewJob(kind="test")])
        await Worker(engine, Kinds(offered(test=dawdle), Settings())).finish("test")
    finally:
        await engine.close()
    assert named_by_the_watchdog(caplog) == [f"job {job.id} (test) of plugin 'sample'"]
