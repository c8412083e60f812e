"""Every method of MemoryManager has a span with the agreed attributes and without content."""

from datetime import UTC, datetime
from uuid import uuid4

import pytest

from tests.otlp_collector import run_collector
from zapomni_core import MemoryEngine, MemoryManager, Settings
from zapomni_core.testing.embedder import HashingEmbedder
from zapomni_db.sqlite import SQLiteStore

SECRET = "the vault's number is 4711"
START, END = datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 2, 1, tzinfo=UTC)


@pytest.fixture
def collector(monkeypatch):
    monkeypatch.setattr("zapomni_core.telemetry.otlp.CLOSING_SECONDS", 60)
    with run_collector() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield collector


@pytest.fixture
async def engine(collector, tmp_path):
    engine = MemoryEngine(
        Settings(telemetry={"enabled": True}), store=SQLiteStore(tmp_path / "memory.db"), embedder=HashingEmbedder()
    )
    yield engine
    await engine.close()


async def spans_of(engine, collector):
    """The attributes of each span by method name, without the common ones, which are checked here."""
    await engine.close()
    spans = {span.name.removeprefix("memory."): dict(span.attributes) for span in collector.spans}
    for name, attributes in spans.items():
        assert attributes.pop("operation.type") == name
        assert attributes.pop("db.system") == "sqlite"
    return spans


async def test_each_method_has_a_span_with_its_attributes(engine, collector):
    memory, session = MemoryManager(engine, embedding_dimension=2), uuid4()
    await memory.create_session("ada", {"plan": SECRET})
    await memory.store_message(session, "user", SECRET, {"source": SECRET})
    await memory.get_conversation_history(session, limit=5)
    await memory.store_document(SECRET, {"a": 1, "b": 2}, [1.0, 0.0])
    await memory.semantic_search([1.0, 0.0], 3, {"a": 1})
    await memory.temporal_query(START, END, {"a": 1, "b": SECRET})
    await memory.health_check()
    spans = await spans_of(engine, collector)
    assert spans["semantic_search"].pop("query_time_ms") >= 0
    health = spans.pop("health_check")
    assert (health["status"], health["operation.success"]) == ("healthy", True)
    assert "sqlite_version" in health
    assert {name: spans[name] for name in sorted(spans)} == {
        "create_session": {"user_id": "ada", "metadata_keys": ["plan"], "operation.success": True},
        "get_conversation_history": {
            "session_id": str(session),
            "limit": 5,
            "result_count": 1,
            "operation.success": True,
        },
        "semantic_search": {"top_k": 3, "filter_count": 1, "result_count": 1, "operation.success": True},
        "store_document": {
            "content_length": len(SECRET),
            "has_embedding": True,
            "metadata_keys": ["a", "b"],
            "operation.success": True,
        },
        "store_message": {
            "session_id": str(session),
            "role": "user",
            "content_length": len(SECRET),
            "has_metadata": True,
            "metadata_keys": ["source"],
            "operation.success": True,
        },
        "temporal_query": {
            "start_date": "2024-01-01T00:00:00+00:00",
            "end_date": "2024-02-01T00:00:00+00:00",
            "filter_count": 2,
            "result_count": 0,
            "operation.success": True,
        },
    }
    assert not [body for body in collector.raw if b"4711" in body]


async def test_calls_errors_and_times_of_each_method_are_counted(engine, collector):
    memory, session = MemoryManager(engine), uuid4()
    for _ in range(2):
        await memory.store_message(session, "user", SECRET)
    with pytest.raises(ValueError, match="limit"):
        await memory.get_conversation_history(session, limit=0)
    await engine.close()
    assert collector.point("zapomni.operation.calls", operation__type="store_message") == 2
    assert collector.point("zapomni.operation.duration", operation__type="store_message")[0] == 2
    assert collector.point("zapomni.operation.errors", operation__type="store_message") is None
    failed = {"operation__type": "get_conversation_history", "error__type": "InvalidInputError"}
    assert collector.point("zapomni.operation.errors", **failed) == 1


async def test_a_refused_call_is_a_failed_span(engine, collector):
    with pytest.raises(ValueError, match="role"):
        await MemoryManager(engine).store_message(uuid4(), SECRET, "text")
    spans = await spans_of(engine, collector)
    assert spans["store_message"]["operation.success"] is False
    assert not [body for body in collector.raw if b"4711" in body]
