"""get_stats from end to end: the tool, a real engine, a real SQLite file."""

from tests.integration.mcp.memory_tools import MemoryTools, text_of
from zapomni_core.models import HostStats

FAILED = {"name": "weather", "state": "failed", "stage": "import", "cause": "no module", "fix": "install it"}


async def test_an_empty_store_has_no_memories_and_no_embedder(tools, path):
    result = await tools.call("get_stats")
    told = result["structuredContent"]["statistics"]
    assert (told["total_memories"], told["total_chunks"]) == (0, 0)
    assert not {"embedder", "cache_hit_rate", "avg_query_latency_ms"} & set(told)
    assert text_of(result).splitlines()[1] == f"Store: sqlite at {path}; embedder: none yet"


async def test_live_deleted_and_replaced_memories_are_counted(tools, path):
    first = await tools.add("The bridge opens at noon.")
    await tools.add("The bridge opens at one.", replaces=first)
    gone = await tools.add("The ferry leaves at two.")
    await tools.ask("delete_memory", memory_id=gone)
    await tools.found("bridge")
    result = await tools.call("get_stats")
    told = result["structuredContent"]["statistics"]
    assert (told["total_memories"], told["total_chunks"]) == (1, 1)
    assert (told["deleted_memories"], told["superseded_memories"]) == (1, 1)
    assert (told["graph_name"], told["store"], told["embedder"]) == (
        "default",
        f"sqlite at {path}",
        "hashing (hashing-256, 256 dimensions)",
    )
    assert told["avg_query_latency_ms"] > 0
    files = [path, path.with_name(path.name + "-wal")]
    assert told["database_size_mb"] == round(sum(file.stat().st_size for file in files if file.exists()) / 2**20, 1)
    lines = text_of(result).splitlines()
    assert lines[0].startswith("Stats: 1 memory, 1 chunk, ")
    assert lines[1] == "Hidden: 1 deleted, 1 replaced"
    assert lines[3].startswith("Average search: ")


async def test_each_workspace_has_its_own_counts(tools):
    work = MemoryTools(tools.engine.in_workspace("work"))
    await tools.add("The bridge opens at noon.")
    await work.add("The office opens at nine.")
    await work.add("The office closes at five.")
    assert (await tools.counts())[0] == 1
    assert (await work.counts())[0] == 2
    told = (await work.ask("get_stats"))["statistics"]
    assert (told["graph_name"], told["total_memories"]) == ("work", 2)


async def test_memories_of_another_process_are_counted_at_once(open_tools):
    one, other = open_tools(), open_tools()
    assert (await other.counts())[0] == 0
    await one.add("The bridge opens at noon.")
    assert (await other.counts())[0] == 1


async def test_failed_plugins_are_listed(tools):
    tools.engine.components.host_stats = lambda: HostStats(plugins=(FAILED,), calls={"hello": {"calls": 2}})
    result = await tools.call("get_stats")
    assert text_of(result).splitlines()[-1] == "Plugin weather failed at import: no module (fix: install it)"
    told = result["structuredContent"]["statistics"]
    assert told["degraded"] == [text_of(result).splitlines()[-1]]


async def test_statistics_work_without_an_embedder(open_tools):
    tools = open_tools(embedder="default")
    assert await tools.counts() == (0, 0, 0, 0)
    assert tools.engine.components._built == []


async def test_a_file_that_is_not_a_store_is_reported(tools, path):
    path.write_text("This is a diary, not a database. " * 100)
    result = await tools.call("get_stats")
    assert result["structuredContent"]["error_code"] == "STORE_DAMAGED"
    assert "The store … is damaged" in text_of(result)
    assert str(path) not in str(result)
