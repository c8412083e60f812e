"""Components own what a process opens; engines are handles on them."""

import asyncio
import threading

import pytest

from zapomni_core import MemoryEngine, Settings, build_app
from zapomni_core.host.discovery import Found
from zapomni_core.memory.components import Components
from zapomni_core.plugin import Provider, hookimpl
from zapomni_core.providers import Providers
from zapomni_core.testing.embedder import HashingEmbedder
from zapomni_db.records import NewJob
from zapomni_db.sqlite import SQLiteStore


@pytest.fixture
async def components(tmp_path):
    made = Components(Settings(), store=SQLiteStore(tmp_path / "memory.db"), embedder=HashingEmbedder())
    yield made
    await made.close()


async def test_handles_on_two_workspaces_share_the_components(components):
    home, work = MemoryEngine(components), MemoryEngine(components, "work")
    added = await work.add_memory("Ada lives in London.")
    assert work.memories is home.memories
    assert (await work.get_memory(added.memory_id)).text == "Ada lives in London."
    assert (await home.get_stats()).total_memories == 0


async def test_a_handle_on_the_same_components_sees_what_another_one_stored(components):
    added = await MemoryEngine(components).add_memory("Ada lives in London.")
    assert (await MemoryEngine(components).get_memory(added.memory_id)).text == "Ada lives in London."


async def test_no_property_starts_a_task_a_thread_or_a_file(tmp_path):
    engine = MemoryEngine(Settings(store=f"sqlite://{tmp_path}/memory.db", extractor="llm"))
    tasks, threads = asyncio.all_tasks(), threading.active_count()
    read = [name for name in dir(MemoryEngine) if isinstance(getattr(MemoryEngine, name), property)]
    assert {"memories", "jobs", "graph", "sessions", "workspace", "settings", "telemetry"} <= set(read)
    for name in read:
        getattr(engine, name)
    assert asyncio.all_tasks() == tasks
    assert threading.active_count() == threads
    assert list(tmp_path.iterdir()) == []
    await engine.close()
    assert list(tmp_path.iterdir()) == []


async def test_an_engine_reads_the_settings_of_the_user_when_it_is_first_used(tmp_path, monkeypatch):
    engine = MemoryEngine()
    monkeypatch.setenv("ZAPOMNI_STORE", f"sqlite://{tmp_path}/later.db")
    assert (await engine.get_stats()).location == str(tmp_path / "later.db")
    await engine.close()


async def test_closing_an_engine_that_was_never_used_does_nothing(monkeypatch):
    monkeypatch.setenv("ZAPOMNI_WORKSPACE", "x" * 65)  # wrong, but not read
    await MemoryEngine().close()


async def test_a_worker_started_by_a_call_keeps_the_workspace_of_that_call(tmp_path):
    done = asyncio.Event()
    seen = []

    class Note:
        async def run(self, engine, _job, _progress):
            seen.append(engine.workspace)
            done.set()

    class Plugin:
        @hookimpl
        def zapomni_providers(self):
            return [Provider(kind="job", name="note", factory=lambda _context: Note())]

        @hookimpl
        def zapomni_tools(self, engine):
            from zapomni_core.plugin import tool

            @tool
            async def queue() -> str:
                """Queue a job."""
                await engine.submit([NewJob(kind="note")])
                return "queued"

            return [queue]

    engine = MemoryEngine(store=SQLiteStore(tmp_path / "memory.db"), providers=Providers())
    app = build_app(engine=engine, plugins=[Found("note", plugin=Plugin())])
    await app.dispatcher.call("queue", {}, workspace="ada")
    await asyncio.wait_for(done.wait(), 60)
    assert seen == ["ada"]
    await app.stop()
