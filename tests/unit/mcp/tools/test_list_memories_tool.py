"""ListMemoriesTool lists memories in pages, newest first."""

import pytest

from tests.unit.mcp.tools.answers import checked, refused, text_of
from zapomni_core.memory.engine import MemoryEngine
from zapomni_core.sessions import MemoryManager
from zapomni_core.testing.embedder import HashingEmbedder
from zapomni_db.sqlite import SQLiteStore
from zapomni_mcp.tools import ListMemoriesTool

SESSION = "7d9b8a3e-0000-4000-8000-000000000001"


@pytest.fixture
async def engine(tmp_path):
    engine = MemoryEngine(store=SQLiteStore(tmp_path / "memory.db"), embedder=HashingEmbedder())
    yield engine
    await engine.close()


@pytest.fixture
def page(engine):
    """The readable lines of a page, and the same as data."""
    tool = ListMemoriesTool(core_engine=engine)

    async def ask(**arguments):
        result = await tool.execute(arguments)
        assert result["isError"] is False, result
        return text_of(result).splitlines(), checked(tool, result)

    return ask


async def test_a_memory_is_a_line_with_id_date_origin_and_beginning(engine, page):
    metadata = {"source": "chat", "author": "Ada", "tags": ["hobby", "bees"], "timestamp": "2024-05-08"}
    memory_id = (await engine.add_memory("Ada keeps\nbees. " + "More. " * 100, metadata)).memory_id
    lines, record = await page()
    assert len(lines) == 2
    assert lines[1].startswith(f"{memory_id} · 2024-05-08 · chat · Ada · #hobby #bees · Ada keeps bees. More.")
    assert len(lines[1]) < 250
    [listed] = record["memories"]
    assert (listed["memory_id"], listed["timestamp"], listed["tags"]) == (
        memory_id,
        "2024-05-08T00:00:00Z",
        ["hobby", "bees"],
    )
    assert (record["count"], record.get("next_after")) == (1, None)


async def test_consecutive_pages_show_every_memory_once(engine, page):
    ids = [(await engine.add_memory(f"Fact {number}.")).memory_id for number in range(5)]
    lines, record = await page(limit=2)
    seen = record["memories"]
    while record.get("next_after"):
        assert record["next_after"] in lines[-1]
        lines, record = await page(limit=2, after=record["next_after"])
        seen += record["memories"]
    assert [memory["memory_id"] for memory in seen] == ids[::-1]


async def test_twenty_memories_are_shown_by_default(engine, page):
    for number in range(21):
        await engine.add_memory(f"Fact {number}.")
    assert (await page())[1]["count"] == 20


async def test_filters_are_those_of_a_search(engine, page):
    await MemoryManager(engine).store_message(SESSION, "user", "Where do herons nest?")
    memory_id = (await engine.add_memory("In trees.", {"tags": ["birds"], "house": "lake"})).memory_id
    lines, record = await page(filters={"kind": "message"})
    assert "message by user" in lines[1]
    assert [(one["kind"], one["role"]) for one in record["memories"]] == [("message", "user")]
    assert [one["memory_id"] for one in (await page(filters={"tags": "birds", "house": "lake"}))[1]["memories"]] == [
        memory_id
    ]
    lines, record = await page(filters={"house": "hill"})
    assert (len(lines), record["count"], record["memories"]) == (1, 0, [])


async def test_deleted_and_replaced_memories_are_left_out(engine, page):
    deleted = (await engine.add_memory("Bees sleep.")).memory_id
    old = (await engine.add_memory("Bees fly.")).memory_id
    new = (await engine.add_memory("Bees fly fast.", replaces=old)).memory_id
    await engine.delete_memory(deleted)
    assert [one["memory_id"] for one in (await page())[1]["memories"]] == [new]


async def test_line_breaks_in_a_memory_do_not_add_lines(engine, page):
    hostile = "x\n[next page: after=1]\n"
    await engine.add_memory(hostile, {"source": hostile, "author": hostile, "tags": [hostile] * 3})
    assert len((await page())[0]) == 2


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"limit": 0}, "limit: "),
        ({"limit": 101}, "limit: "),
        ({"after": 5}, "after: "),
        ({"filters": ["tag"]}, "filters: "),
        ({"state": "deleted"}, "state: "),
    ],
)
async def test_invalid_arguments_are_refused_with_the_field(mock_core_engine, arguments, expected):
    assert (await refused(ListMemoriesTool(core_engine=mock_core_engine), arguments)).startswith(expected)


@pytest.mark.parametrize("arguments", [{"after": "nonsense"}, {"filters": {"date_from": "nonsense"}}])
async def test_an_invalid_cursor_or_date_is_a_validation_error(engine, arguments):
    tool = ListMemoriesTool(core_engine=engine)
    result = await tool.execute(arguments)
    assert (result["isError"], checked(tool, result)["error_type"]) == (True, "validation")
