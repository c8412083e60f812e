"""GetStatsTool reports counts, store, embedder and failed plugins."""

from unittest.mock import Mock

import pytest

from tests.unit.mcp.tools.answers import checked, headline_of, refused, text_of
from zapomni_core import DatabaseError
from zapomni_core.models import EngineStats
from zapomni_db.errors import StoreTooNewError, StoreUnavailableError
from zapomni_db.records import EmbedderIdentity, JobCounts
from zapomni_mcp.tools import GetStatsTool

WORKING = {"name": "hello", "state": "ready", "stage": None, "cause": None, "fix": None}
FAILED = {"name": "weather", "state": "failed", "stage": "import", "cause": "no module 'rain'", "fix": "install rain"}


def make_stats(**differences):
    sample = {
        "total_memories": 1234,
        "total_chunks": 5678,
        "deleted_memories": 0,
        "superseded_memories": 0,
        "database_size_mb": 12.3456,
        "graph_name": "default",
        "store": "sqlite",
        "location": "/data/memory.db",
        "embedder": EmbedderIdentity("default", "use-multilingual-v3", 512),
        "workspaces": ("default", "work"),
    }
    return EngineStats(**(sample | differences))


@pytest.fixture
def tool(mock_core_engine):
    mock_core_engine.get_stats.return_value = make_stats()
    return GetStatsTool(core_engine=mock_core_engine)


@pytest.mark.parametrize("engine", [None, "engine", Mock()])
def test_only_an_engine_is_accepted(engine):
    with pytest.raises(TypeError, match="core_engine must be MemoryEngine instance, got"):
        GetStatsTool(core_engine=engine)


async def test_the_text_shows_counts_store_and_embedder(tool):
    assert text_of(await tool.execute({})) == (
        "Stats: 1,234 memories, 5,678 chunks, 12.3 MB in workspace 'default'\n"
        "Store: sqlite at /data/memory.db; embedder: default (use-multilingual-v3, 512 dimensions)"
    )


async def test_jobs_are_shown_once_there_was_one(tool):
    tool.core_engine.get_stats.return_value = make_stats(jobs=JobCounts(queued=1200, running=1, done=7, failed=2))
    result = await tool.execute({})
    assert text_of(result).splitlines()[-1] == "Jobs: 1,200 queued, 1 running, 2 failed"
    assert checked(tool, result)["statistics"]["jobs"] == {"queued": 1200, "running": 1, "done": 7, "failed": 2}


async def test_the_structured_answer_has_the_fields_of_the_specification(tool):
    result = await tool.execute({})
    record = checked(tool, result)
    assert record["status"] == "success"
    assert record["message"] == text_of(result).splitlines()[0]
    assert record["statistics"] == {
        "total_memories": 1234,
        "total_chunks": 5678,
        "database_size_mb": 12.3,
        "graph_name": "default",
        "store": "sqlite at /data/memory.db",
        "embedder": "default (use-multilingual-v3, 512 dimensions)",
    }


async def test_one_memory_and_one_chunk_are_in_the_singular(tool):
    tool.core_engine.get_stats.return_value = make_stats(total_memories=1, total_chunks=1)
    assert headline_of(await tool.execute({})) == "Stats: 1 memory, 1 chunk, 12.3 MB in workspace 'default'"


async def test_values_that_are_not_known_have_no_lines(tool):
    tool.core_engine.get_stats.return_value = make_stats(embedder=None)
    result = await tool.execute({})
    assert text_of(result).endswith("embedder: none yet")
    assert checked(tool, result)["statistics"].get("embedder") is None


async def test_hidden_memories_searches_and_failed_plugins_have_a_line_each(tool):
    tool.core_engine.get_stats.return_value = make_stats(
        deleted_memories=1000,
        superseded_memories=2,
        avg_query_latency_ms=7.6,
        plugins=(WORKING, FAILED),
        calls={"add_memory": {"calls": 3, "errors": {}}},
    )
    result = await tool.execute({})
    assert text_of(result).splitlines()[1:] == [
        "Hidden: 1,000 deleted, 2 replaced",
        "Store: sqlite at /data/memory.db; embedder: default (use-multilingual-v3, 512 dimensions)",
        "Average search: 8 ms",
        "Plugin weather failed at import: no module 'rain' (fix: install rain)",
    ]
    statistics = checked(tool, result)["statistics"]
    assert statistics["degraded"] == [text_of(result).splitlines()[-1]]
    assert (statistics["deleted_memories"], statistics["superseded_memories"], statistics["avg_query_latency_ms"]) == (
        1000,
        2,
        8,
    )
    assert not {"plugins", "calls", "cache_hit_rate"} & set(statistics)


async def test_a_store_that_may_lose_memories_is_reported_in_text_and_structure(tool):
    warning = "The server may lose up to a second of acknowledged writes."
    tool.core_engine.get_stats.return_value = make_stats(store_warnings=(warning,))
    result = await tool.execute({})
    assert text_of(result).splitlines()[-1] == warning
    assert checked(tool, result)["statistics"]["degraded"] == [warning]


async def test_arguments_are_refused(tool):
    assert await refused(tool, {"verbose": True}) == "verbose: Extra inputs are not permitted"


@pytest.mark.parametrize(
    ("error", "said", "recoverable"),
    [
        (DatabaseError("at /home/somebody"), "Database temporarily unavailable. Please retry in a few seconds.", True),
        (StoreTooNewError("update Zapomni"), "update Zapomni", False),
        (StoreUnavailableError("free the file"), "free the file", True),
    ],
)
async def test_a_failing_store_is_reported(tool, error, said, recoverable):
    tool.core_engine.get_stats.side_effect = error
    result = await tool.execute({})
    record = checked(tool, result)
    assert headline_of(result) == f"Error: {said}"
    assert (record["status_code"], record["recoverable"]) == (503, recoverable)
    assert "somebody" not in str(result)
