"""GetMemoryTool returns a memory in pages, with its metadata and its state."""

from datetime import UTC, datetime
from unittest.mock import Mock

import pytest

from tests.unit.mcp.tools.answers import checked, headline_of, refused, text_of
from zapomni_core import DatabaseError
from zapomni_db.errors import MemoryNotFoundError
from zapomni_db.records import Event
from zapomni_mcp.tools import GetMemoryTool

MEMORY_ID = "550e8400-e29b-41d4-a716-446655440000"


@pytest.fixture
def tool(mock_core_engine, make_memory):
    mock_core_engine.get_memory.return_value = make_memory()
    mock_core_engine.history.return_value = []
    return GetMemoryTool(core_engine=mock_core_engine)


async def page(tool, **arguments):
    result = await tool.execute({"memory_id": MEMORY_ID} | arguments)
    assert result["isError"] is False
    return text_of(result), checked(tool, result)


@pytest.mark.parametrize("engine", [None, "engine", Mock()])
def test_only_an_engine_is_accepted(engine):
    with pytest.raises(TypeError, match="core_engine must be MemoryEngine instance, got"):
        GetMemoryTool(core_engine=engine)


async def test_a_short_memory_is_one_page(tool):
    said, record = await page(tool)
    assert said == (
        f"Memory {MEMORY_ID} · stored 2026-05-08 · source chat · tags hobby, ada · level 3\n\nAda keeps bees behind the house."
    )
    assert record | {"processing_time_ms": 0} == {
        "status": "success",
        "message": "the whole text",
        "episode_id": MEMORY_ID,
        "processing_time_ms": 0,
        "memory_id": MEMORY_ID,
        "text": "Ada keeps bees behind the house.",
        "total_chars": 32,
        "metadata": {"source": "chat", "tags": ["hobby", "ada"], "level": 3},
        "created_at": "2026-05-08T12:00:00Z",
    }
    tool.core_engine.get_memory.assert_called_once_with(MEMORY_ID)


async def test_the_client_that_added_a_memory_is_named(tool):
    day = datetime(2026, 5, 8, tzinfo=UTC)
    tool.core_engine.history.return_value = [Event(day, "added", "codex"), Event(day, "changed", "cursor")]
    said, record = await page(tool)
    assert said.startswith(f"Memory {MEMORY_ID} · stored 2026-05-08 by codex · source chat")
    assert record["added_by"] == "codex"


async def test_a_message_is_shown_with_its_session_and_role(tool, make_memory):
    tool.core_engine.get_memory.return_value = make_memory(kind="message", conversation="s1", role="user")
    said, record = await page(tool)
    assert said.startswith(f"Memory {MEMORY_ID} · stored 2026-05-08 · message by user in session s1 · source chat")
    assert (record["kind"], record["conversation"], record["role"]) == ("message", "s1", "user")


@pytest.mark.parametrize(("size", "max_chars"), [(20_000, None), (20_000, 7), (8000, None), (8001, None), (1, 1)])
async def test_consecutive_pages_form_the_text(tool, make_memory, size, max_chars):
    text = "".join(chr(0x430 + number % 32) for number in range(size))
    tool.core_engine.get_memory.return_value = make_memory(text=text)
    more = {} if max_chars is None else {"max_chars": max_chars}
    offset, pages = 0, []
    while offset is not None:
        said, record = await page(tool, offset=offset, **more)
        pages.append(record["text"])
        assert record["text"] in said
        assert (record.get("offset", 0), record["total_chars"]) == (offset, size)
        assert len(record["text"]) <= (max_chars or 8000)
        offset = record.get("next_offset")
    assert "".join(pages) == text


async def test_a_page_says_where_the_next_one_begins(tool, make_memory):
    tool.core_engine.get_memory.return_value = make_memory(text="x" * 10_000)
    said, record = await page(tool)
    assert said.endswith("\n\n[characters 0 to 8,000 of 10,000; next: offset=8000]")
    assert record["next_offset"] == 8000
    last, record = await page(tool, offset=8000)
    assert "[characters" not in last
    assert "next_offset" not in record


@pytest.mark.parametrize("offset", [32, 1000, 10**30])
async def test_a_page_past_the_end_is_empty_and_the_last(tool, offset):
    said, record = await page(tool, offset=offset)
    assert (record["text"], record.get("next_offset"), record["total_chars"]) == ("", None, 32)
    assert said.endswith(f"[offset {offset:,} is past the end: the text has 32 characters]")


async def test_metadata_with_any_keys_is_shown(tool, make_memory):
    metadata = {"project": "bees", "timestamp": "2026-05-08", "language": "python", "deep": {"a": [1]}, "tags": ["x"]}
    tool.core_engine.get_memory.return_value = make_memory(metadata=metadata)
    said, _ = await page(tool)
    assert ' · project bees · timestamp 2026-05-08 · language python · deep {"a": [1]}\n' in said


async def test_long_metadata_is_shown_in_part(tool, make_memory):
    metadata = {f"key {number}": "long " * 100 for number in range(10_000)}
    tool.core_engine.get_memory.return_value = make_memory(metadata=metadata)
    said, record = await page(tool)
    assert len(said) < 1000
    assert "more in metadata" in said
    assert record["metadata"] == metadata


@pytest.mark.parametrize(
    "particulars",
    [
        {"tags": ("x" * 200_000,)},
        {"tags": tuple(f"tag {number}" for number in range(20_000))},
        {"author": "A" * 50_000, "source": "word " * 10_000},
    ],
    ids=["a long tag", "many tags", "long names"],
)
async def test_tags_and_names_are_shown_shortened(tool, make_memory, particulars):
    tool.core_engine.get_memory.return_value = make_memory(metadata={}, **particulars)
    said, _ = await page(tool, max_chars=1)
    assert len(said) < 600
    assert "…" in said


async def test_the_state_of_a_memory_is_shown(tool, make_memory):
    gone = datetime(2026, 6, 1, tzinfo=UTC)
    tool.core_engine.get_memory.return_value = make_memory(
        deleted_at=gone,
        replaced_by="newer",
        replaces=("older", "oldest"),
        author="Grace",
        source="",
        tags=(),
        metadata={},
    )
    said, record = await page(tool)
    assert said.splitlines()[0] == (
        f"Memory {MEMORY_ID} · stored 2026-05-08 · author Grace · deleted; restore_memory brings it back"
        " · replaced by newer · replaces older, oldest"
    )
    assert (record["deleted_at"], record["replaced_by"], record["replaces"]) == (
        "2026-06-01T00:00:00Z",
        "newer",
        ["older", "oldest"],
    )


async def test_deep_metadata_is_returned_unchanged(tool, make_memory):
    nested = {}
    for _ in range(99):
        nested = {"in": nested}
    tool.core_engine.get_memory.return_value = make_memory(metadata=nested)
    assert (await page(tool))[1]["metadata"] == nested


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "field required: memory_id"),
        ({"memory_id": ""}, "memory_id cannot be empty or whitespace-only"),
        ({"memory_id": 5}, "memory_id: Input should be a valid string"),
        ({"memory_id": "x", "offset": -1}, "offset: Input should be greater than or equal to 0"),
        ({"memory_id": "x", "offset": "here"}, "offset: Input should be a valid integer"),
        ({"memory_id": "x", "max_chars": 0}, "max_chars: Input should be greater than or equal to 1"),
        ({"memory_id": "x", "page": 2}, "page: Extra inputs are not permitted"),
    ],
)
async def test_invalid_arguments_are_refused_with_field_and_rule(tool, arguments, said):
    assert (await refused(tool, arguments)).startswith(said)


async def test_an_unknown_memory_is_reported(tool, caplog):
    tool.core_engine.get_memory.side_effect = MemoryNotFoundError("there is no memory x in workspace 'default'")
    result = await tool.execute({"memory_id": "x"})
    record = checked(tool, result)
    assert headline_of(result) == "Error: there is no memory x in workspace 'default'"
    assert (record["error_type"], record["error_code"], record["status_code"]) == ("not_found", "MEMORY_NOT_FOUND", 404)
    assert caplog.records == []


async def test_a_failing_store_has_a_general_message(tool):
    tool.core_engine.get_memory.side_effect = DatabaseError("at /home/somebody")
    result = await tool.execute({"memory_id": "x"})
    assert checked(tool, result)["status_code"] == 503
    assert "somebody" not in str(result)
