"""Spans and metrics of engine and host, sent to a real OTLP endpoint."""

import asyncio
import threading
from datetime import UTC, datetime, timedelta

import pytest

from tests.otlp_collector import run_collector
from zapomni_core.app import App
from zapomni_core.errors import ProcessingError, UnknownToolError
from zapomni_core.memory.engine import MemoryEngine
from zapomni_core.settings import Settings
from zapomni_core.testing.embedder import HashingEmbedder
from zapomni_db.errors import InvalidInputError
from zapomni_db.records import NewJob
from zapomni_db.reference import ReferenceStore
from zapomni_db.sqlite import SQLiteStore
from zapomni_mcp.tools import AddMemoryTool, SearchMemoryTool

LIMIT = 60
TEXT = "Murdoch kept the lighthouse of Skerryvore.\n\nHe was fond of plum brandy."
COMMON = {"operation.success": True, "db.system": "sqlite"}


class BrokenEmbedder(HashingEmbedder):
    async def _encode(self, texts):
        raise ProcessingError(f"no vectors of {texts}")


class StuckStore(SQLiteStore):
    is_stuck = True

    async def close(self):
        await super().close()
        if self.is_stuck:
            raise OSError("the disk is gone")


@pytest.fixture
def collector(monkeypatch):
    with run_collector() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        monkeypatch.setattr("zapomni_core.telemetry.otlp.CLOSING_SECONDS", LIMIT)
        yield collector


@pytest.fixture
async def opened(tmp_path, collector):
    """Open engines on the test's file; each is closed after the test."""
    engines = []

    def opened(embedder=None, **parts):
        settings = Settings(store=f"sqlite://{tmp_path}/memory.db", telemetry={"enabled": True})
        engines.append(MemoryEngine(settings, embedder=embedder or HashingEmbedder(), **parts))
        return engines[-1]

    yield opened
    for engine in engines:
        await engine.close()


@pytest.fixture
def engine(opened):
    return opened()


async def told(engine, collector, name):
    """The attributes of the only span of that name, without common ones; durations as booleans."""
    await engine.close()
    [span] = collector.named(name)
    assert span.attributes["operation.type"] == name.partition(".")[2]
    return {
        key: value >= 0 if key.endswith("_ms") else value
        for key, value in span.attributes.items()
        if key != "operation.type"
    }


async def test_the_span_of_an_add_has_counts_and_durations(engine, collector):
    await engine.add_memory(TEXT, {"author": "Ann", "tags": ["sea"]})
    assert await told(engine, collector, "memory.add_memory") == COMMON | {
        "text_length": len(TEXT),
        "metadata_keys": ["author", "tags"],
        "chunk_count": 1,
        "outcome": "stored",
        "chunking_ms": True,
        "embedding_ms": True,
        "analysis_ms": True,
        "store_ms": True,
    }


async def test_the_span_of_a_search_has_counts_and_durations(engine, collector):
    await engine.add_memory(TEXT, {"author": "Ann"})
    found = await engine.search_memory("Who kept the lighthouse?", 7, {"author": "Ann", "date_from": "2020-01-01"})
    assert len(found.hits) == 1
    assert await told(engine, collector, "memory.search_memory") == COMMON | {
        "limit": 7,
        "filter_count": 2,
        "result_count": 1,
        "degraded": False,
        "query_time_ms": True,
        "embedding_ms": True,
        "store_ms": True,
    }


async def test_a_search_by_words_alone_is_marked_as_degraded(opened, collector):
    good = opened()
    await good.add_memory(TEXT)
    await good.close()
    engine = opened(BrokenEmbedder())
    await engine.search_memory("lighthouse")
    assert (await told(engine, collector, "memory.search_memory"))["degraded"] is True


@pytest.mark.parametrize(
    ("name", "work", "kind"),
    [
        ("memory.add_memory", lambda engine: engine.add_memory(" "), "InvalidInputError"),
        ("memory.search_memory", lambda engine: engine.search_memory("x", 1000), "InvalidInputError"),
    ],
    ids=["add", "search"],
)
async def test_a_refused_call_is_a_failed_span(engine, collector, name, work, kind):
    with pytest.raises(InvalidInputError):
        await work(engine)
    span = await told(engine, collector, name)
    assert (span["operation.success"], span["error.type"]) == (False, kind)


async def test_the_span_of_a_failed_add_shows_how_far_it_got(opened, collector):
    engine = opened(BrokenEmbedder(), store=ReferenceStore())  # it stores nothing without vectors
    with pytest.raises(ProcessingError):
        await engine.add_memory(TEXT)
    span = await told(engine, collector, "memory.add_memory")
    assert (span["operation.success"], span["error.type"]) == (False, "ProcessingError")
    assert "chunking_ms" in span
    assert "outcome" not in span


async def test_no_text_or_query_is_sent(opened, collector, tmp_path):
    engine = opened()
    await engine.add_memory("The vault's number is 4711.", {"author": "Quillfeather", "source": "/home/ann/diary"})
    await engine.in_workspace("Skerryvore").search_memory("plum brandy", filters={"tags": ["Murdoch"]})
    await engine.close()
    broken = opened(BrokenEmbedder())
    await broken.add_memory("A houseboat in Utrecht.")
    await broken.close()
    sent = b"".join(collector.raw)
    assert len(collector.spans) == 3
    secrets = ["4711", "Quillfeather", "diary", "Skerryvore", "brandy", "Murdoch", "Utrecht", str(tmp_path)]
    assert [secret for secret in secrets if secret.encode() in sent] == []


async def test_engines_of_two_workspaces_share_one_telemetry(engine):
    assert engine.in_workspace("other").telemetry is engine.telemetry


async def test_a_given_store_is_named_by_its_kind(opened, collector, tmp_path):
    engine = opened(store=SQLiteStore(tmp_path / "given.db"))
    await engine.add_memory(TEXT)
    assert (await told(engine, collector, "memory.add_memory"))["db.system"] == "sqlite"


async def test_tool_calls_are_counted_by_outcome(engine, collector):
    app = App(engine.settings, engine)
    for tool in (AddMemoryTool, SearchMemoryTool):
        app.registry.register(tool(core_engine=engine))
    await app.dispatcher.call("add_memory", {"text": TEXT})
    await app.dispatcher.call("add_memory", {"txet": TEXT})
    await app.dispatcher.call("search_memory", {"query": "lighthouse"})
    with pytest.raises(UnknownToolError):
        await app.dispatcher.call("4711", {})
    await app.stop()
    assert collector.point("zapomni.tool.calls", tool="add_memory") == 2
    assert collector.point("zapomni.tool.errors", tool="add_memory", error__type="validation") == 1
    assert collector.point("zapomni.tool.calls", tool="search_memory") == 1
    assert collector.point("zapomni.tool.duration", tool="search_memory")[0] == 1
    assert collector.point("zapomni.tool.calls", tool="4711") is None


async def test_the_exporter_is_loaded_in_a_thread_and_the_first_call_is_sent(engine, collector, monkeypatch):
    from zapomni_core.telemetry import otlp

    begun, go_on = threading.Event(), threading.Event()

    class Slow(otlp.Pipeline):
        def __init__(self, *args, **options):
            begun.set()
            assert go_on.wait(LIMIT)
            super().__init__(*args, **options)

    monkeypatch.setattr(otlp, "Pipeline", Slow)
    app = App(engine.settings, engine)
    app.registry.register(AddMemoryTool(core_engine=engine))
    await app.start()
    calling = asyncio.create_task(app.dispatcher.call("add_memory", {"text": TEXT}))
    assert await asyncio.to_thread(begun.wait, LIMIT)
    await asyncio.sleep(0)  # the event loop is free
    assert not calling.done()
    go_on.set()
    await calling
    await app.stop()
    assert len(collector.named("memory.add_memory")) == 1
    assert collector.point("zapomni.tool.calls", tool="add_memory") == 1


async def test_the_depth_of_the_queue_is_sent(engine, collector):
    later = datetime.now(UTC) + timedelta(hours=1)
    await engine.submit([NewJob(kind="extract", payload={"memory_id": "nobody"}, not_before=later)])
    await engine.measure_queue()
    await engine.add_memory(TEXT)
    await engine.close()
    assert collector.point("zapomni.queue.depth") == 1


async def test_calls_go_on_while_the_endpoint_does_not_answer(engine, collector, monkeypatch):
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "1")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "600")
    collector.hold()
    await engine.add_memory("The first memory.")
    assert await asyncio.to_thread(collector.waiting.wait, LIMIT)
    for number in range(20):
        await engine.add_memory(f"Memory number {number}.")
    assert len((await engine.search_memory("memory number", 100)).hits) == 21
    assert collector.spans == []
    collector.released.set()
    await engine.close()
    assert len(collector.named("memory.add_memory")) == 21


async def test_telemetry_is_closed_even_if_closing_the_store_fails(opened, collector, tmp_path, caplog):
    store = StuckStore(tmp_path / "memory.db")
    engine = opened(store=store)
    await engine.add_memory(TEXT)
    await engine.close()
    assert "the disk is gone" in caplog.text
    assert len(collector.named("memory.add_memory")) == 1
    store.is_stuck = False
