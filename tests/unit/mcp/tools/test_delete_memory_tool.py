"""DeleteMemoryTool hides a memory; RestoreMemoryTool brings it back."""

from unittest.mock import Mock

import pytest

from tests.unit.mcp.tools.answers import checked, headline_of, refused, text_of
from zapomni_core import DatabaseError
from zapomni_db.errors import MemoryNotFoundError
from zapomni_mcp.tools import DeleteMemoryTool, RestoreMemoryTool

MEMORY_ID = "550e8400-e29b-41d4-a716-446655440000"
LONG = (
    "Ada keeps bees behind the house, and sells the honey on Saturdays, on the market, beside the well of the old town."
)


@pytest.fixture(params=[DeleteMemoryTool, RestoreMemoryTool])
def tool(request, mock_core_engine, make_memory):
    mock_core_engine.delete_memory.return_value = mock_core_engine.restore_memory.return_value = make_memory()
    return request.param(core_engine=mock_core_engine)


def engine_method(tool):
    """The engine's method that has the tool's name."""
    return getattr(tool.core_engine, tool.name)


@pytest.mark.parametrize("made", [DeleteMemoryTool, RestoreMemoryTool])
@pytest.mark.parametrize("engine", [None, "engine", Mock()])
def test_only_an_engine_is_accepted(made, engine):
    with pytest.raises(TypeError, match="core_engine must be MemoryEngine instance, got"):
        made(core_engine=engine)


async def test_deleting_quotes_the_memory_and_names_the_tool_that_restores_it(mock_core_engine, make_memory):
    mock_core_engine.delete_memory.return_value = make_memory()
    tool = DeleteMemoryTool(core_engine=mock_core_engine)
    result = await tool.execute({"memory_id": MEMORY_ID})
    undo = "restore_memory with the same memory_id brings it back."
    assert text_of(result) == f"Deleted: Ada keeps bees behind the house.\n{undo}"
    assert checked(tool, result) | {"processing_time_ms": 0} == {
        "status": "success",
        "message": f"Deleted. {undo}",
        "episode_id": MEMORY_ID,
        "processing_time_ms": 0,
        "memory_id": MEMORY_ID,
        "text_preview": "Ada keeps bees behind the house.",
    }


async def test_deleting_a_correction_names_the_memories_it_had_replaced(mock_core_engine, make_memory):
    mock_core_engine.delete_memory.return_value = make_memory(replaces=("older", "oldest"))
    result = await DeleteMemoryTool(core_engine=mock_core_engine).execute({"memory_id": MEMORY_ID})
    assert text_of(result).endswith(
        "It had replaced older, oldest, which stays out of the search unless you restore it."
    )


async def test_restoring_quotes_the_restored_memory(mock_core_engine, make_memory):
    mock_core_engine.restore_memory.return_value = make_memory()
    tool = RestoreMemoryTool(core_engine=mock_core_engine)
    result = await tool.execute({"memory_id": MEMORY_ID})
    assert text_of(result) == f"Restored: Ada keeps bees behind the house.\nID: {MEMORY_ID}"
    record = checked(tool, result)
    assert (record["message"], record["text_preview"]) == ("Restored.", "Ada keeps bees behind the house.")


async def test_restoring_a_replaced_memory_names_the_calls_that_bring_it_back(mock_core_engine, make_memory):
    mock_core_engine.restore_memory.return_value = make_memory(replaced_by="newer")
    tool = RestoreMemoryTool(core_engine=mock_core_engine)
    result = await tool.execute({"memory_id": MEMORY_ID})
    why = (
        "It is no longer deleted, but no search finds it: newer, which is kept, replaces it."
        " To bring it back, call delete_memory with memory_id newer, then this again."
    )
    assert text_of(result) == f"Still replaced: Ada keeps bees behind the house.\n{why}\nID: {MEMORY_ID}"
    assert checked(tool, result)["message"] == f"Still replaced. {why}"


async def test_restoring_a_text_that_was_added_again_names_the_stored_memory(mock_core_engine, make_memory):
    mock_core_engine.restore_memory.return_value = make_memory()
    tool = RestoreMemoryTool(core_engine=mock_core_engine)
    result = await tool.execute({"memory_id": "older"})
    why = f"It was added again, as {MEMORY_ID}, after older was replaced: older did not have to be restored."
    assert text_of(result) == f"The same memory is there: Ada keeps bees behind the house.\n{why}\nID: {MEMORY_ID}"
    assert checked(tool, result)["message"] == f"The same memory is there. {why}"
    assert checked(tool, result)["memory_id"] == MEMORY_ID


async def test_the_engine_is_called_once_with_the_id(tool):
    await tool.execute({"memory_id": MEMORY_ID})
    engine_method(tool).assert_called_once_with(MEMORY_ID)
    assert len(tool.core_engine.mock_calls) == 1


async def test_a_long_memory_is_quoted_by_its_beginning(tool, make_memory):
    engine_method(tool).return_value = make_memory(text=f"    {LONG}\n\n{LONG}")
    result = await tool.execute({"memory_id": MEMORY_ID})
    preview = checked(tool, result)["text_preview"]
    assert preview == LONG[:99] + "…"
    assert preview in text_of(result).splitlines()[0]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, "field required: memory_id"),
        ({"memory_id": ""}, "memory_id cannot be empty or whitespace-only"),
        ({"memory_id": None}, "memory_id: Input should be a valid string"),
        ({"memory_id": ["a", "b"]}, "memory_id: Input should be a valid string"),
        ({"memory_id": "x", "forever": True}, "forever: Extra inputs are not permitted"),
    ],
)
async def test_invalid_arguments_are_refused_with_field_and_rule(tool, arguments, expected):
    assert (await refused(tool, arguments)).startswith(expected)


async def test_an_unknown_memory_is_reported(tool):
    engine_method(tool).side_effect = MemoryNotFoundError("there is no memory x in workspace 'default'")
    result = await tool.execute({"memory_id": "x"})
    assert result["isError"] is True
    assert headline_of(result) == "Error: there is no memory x in workspace 'default'"
    assert checked(tool, result)["error_code"] == "MEMORY_NOT_FOUND"


@pytest.mark.parametrize("error", [DatabaseError("at /home/somebody"), RuntimeError("at /home/somebody")])
async def test_other_failures_have_a_general_message(tool, error):
    engine_method(tool).side_effect = error
    result = await tool.execute({"memory_id": "x"})
    assert checked(tool, result)["status_code"] in (500, 503)
    assert "somebody" not in str(result)
