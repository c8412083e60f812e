"""The scenarios of AddMemoryTool, by their names in its specification."""

import logging
from unittest.mock import Mock

import pytest
from pydantic import ValidationError

from zapomni_core import DatabaseError, ProcessingError
from zapomni_core.models import MemoryResult
from zapomni_db.errors import StoreFullError
from zapomni_mcp.schemas import AddMemoryRequest
from zapomni_mcp.tools import AddMemoryTool

MEMORY_ID = "550e8400-e29b-41d4-a716-446655440000"


@pytest.fixture
def mock_memory_result():
    return MemoryResult(memory_id=MEMORY_ID, chunks_created=3, text_preview="Sample text preview...")


@pytest.fixture
def tool(mock_core_engine, mock_memory_result):
    mock_core_engine.add_memory.return_value = mock_memory_result
    return AddMemoryTool(core_engine=mock_core_engine)


def text_of(result):
    return result["content"][0]["text"]


async def refused(tool, arguments):
    result = await tool.execute(arguments)
    assert result["isError"] is True
    assert text_of(result).startswith("Error: ")
    assert result["structuredContent"]["error_type"] == "validation"
    assert result["structuredContent"]["status_code"] == 400
    tool.core_engine.add_memory.assert_not_called()
    return headline_of(result)


def headline_of(result):
    """The error itself; the lines below it say what to do."""
    return text_of(result).splitlines()[0]


def test_init_success(mock_core_engine):
    tool = AddMemoryTool(core_engine=mock_core_engine)
    assert tool.core_engine is mock_core_engine
    assert tool.name == "add_memory"
    assert 10 <= len(tool.description) <= 500
    assert tool.input_schema["required"] == ["text"]
    assert tool.logger.name.endswith("add_memory")


@pytest.mark.parametrize("engine", [None, "engine", Mock()])
def test_init_invalid_core_engine_type(engine):
    with pytest.raises(TypeError, match="core_engine must be MemoryEngine instance, got"):
        AddMemoryTool(core_engine=engine)


async def test_execute_success_minimal(tool):
    result = await tool.execute({"text": "Test memory"})
    assert result["isError"] is False
    assert text_of(result) == (
        f"Memory stored successfully.\nID: {MEMORY_ID}\nChunks created: 3\nPreview: Sample text preview..."
    )
    tool.core_engine.add_memory.assert_called_once_with(text="Test memory", metadata={})


@pytest.mark.parametrize(
    ("moved", "dropped", "words"),
    [
        (2, 1, "2 facts moved to this version; 1 fact is no longer in its text and was left behind"),
        (1, 0, "1 fact moved to this version"),
        (0, 2, "2 facts are no longer in its text and were left behind"),
    ],
)
async def test_moved_and_dropped_facts_of_the_replaced_memory_are_counted(tool, moved, dropped, words):
    tool.core_engine.add_memory.return_value = MemoryResult(
        memory_id=MEMORY_ID,
        chunks_created=1,
        text_preview="x",
        replaced="old",
        facts_moved=moved,
        facts_dropped=dropped,
    )
    result = await tool.execute({"text": "x", "replaces": "old"})
    assert text_of(result).endswith(f"Facts: {words}")
    assert words in result["structuredContent"]["message"]


async def test_execute_success_with_metadata(tool):
    metadata = {"source": "user", "tags": ["programming"], "language": "python"}
    result = await tool.execute({"text": "Python is a programming language", "metadata": metadata})
    tool.core_engine.add_memory.assert_called_once_with(text="Python is a programming language", metadata=metadata)
    assert result["structuredContent"] | {"processing_time_ms": 0} == {
        "status": "success",
        "message": "Memory stored successfully.",
        "episode_id": MEMORY_ID,
        "memory_id": MEMORY_ID,
        "chunks_created": 3,
        "text_preview": "Sample text preview...",
        "processing_time_ms": 0,
    }


async def test_execute_validation_error_empty_text(tool):
    assert await refused(tool, {"text": ""}) == "Error: text cannot be empty or whitespace-only"


async def test_execute_validation_error_whitespace_only(tool):
    assert await refused(tool, {"text": " \n\t "}) == "Error: text cannot be empty or whitespace-only"


async def test_execute_validation_error_missing_text(tool):
    assert await refused(tool, {"metadata": {}}) == "Error: field required: text"


async def test_execute_validation_error_text_too_long(tool):
    message = await refused(tool, {"text": "x" * 10_000_001})
    assert message == "Error: text exceeds maximum length (10,000,000 characters)"


async def test_execute_validation_error_invalid_metadata_type(tool):
    message = await refused(tool, {"text": "valid", "metadata": "a secret"})
    assert "metadata" in message
    assert "dictionary" in message
    assert "a secret" not in message


async def test_execute_processing_error(tool):
    tool.core_engine.add_memory.side_effect = ProcessingError("chunker at /home/somebody")
    result = await tool.execute({"text": "valid"})
    assert headline_of(result) == "Error: An internal error occurred while processing your memory."
    assert result["structuredContent"]["error_type"] == "processing"
    assert result["structuredContent"]["status_code"] == 500
    assert "somebody" not in str(result)


async def test_execute_database_error(tool):
    tool.core_engine.add_memory.side_effect = DatabaseError("disk I/O error at /home/somebody")
    result = await tool.execute({"text": "valid"})
    assert headline_of(result) == "Error: Database temporarily unavailable. Please retry in a few seconds."
    record = result["structuredContent"]
    assert (record["status_code"], record["recoverable"], record["retry_after_seconds"]) == (503, True, 5)
    assert text_of(result).endswith(f"\n{record['suggestion']} Retry in 5 seconds.")
    assert "somebody" not in str(result)


async def test_execute_unexpected_error(tool, caplog):
    error = RuntimeError("a secret of the server")
    tool.core_engine.add_memory.side_effect = error
    with caplog.at_level(logging.ERROR):
        result = await tool.execute({"text": "valid"})
    assert headline_of(result) == "Error: An internal error occurred while processing your memory."
    assert caplog.records[-1].exc_info[1] is error
    assert "secret" not in str(result)


def test_validate_arguments_success(tool):
    assert tool._validate_arguments({"text": "valid", "metadata": {"a": 1}}) == ("valid", {"a": 1})
    assert tool._validate_arguments({"text": "valid"}) == ("valid", {})
    assert tool._validate_arguments({"text": "valid", "metadata": None}) == ("valid", {})


def test_format_success(tool, mock_memory_result):
    result = tool._format_success(mock_memory_result)
    assert result["isError"] is False
    assert [part["type"] for part in result["content"]] == ["text"]
    assert text_of(result).splitlines() == [
        "Memory stored successfully.",
        f"ID: {MEMORY_ID}",
        "Chunks created: 3",
        "Preview: Sample text preview...",
    ]


def test_format_error_validation_error(tool):
    with pytest.raises(ValidationError) as error:
        AddMemoryRequest.model_validate({"text": " "})
    result = tool._format_error(error.value)
    assert headline_of(result) == "Error: text cannot be empty or whitespace-only"
    assert result["isError"] is True


def test_format_error_database_error(tool):
    assert "retry" in text_of(tool._format_error(DatabaseError("x")))


def test_format_error_generic(tool):
    result = tool._format_error(Exception("a secret"))
    assert headline_of(result) == "Error: An internal error occurred while processing your memory."


async def test_a_similar_memory_is_named_with_the_argument_that_replaces_it(tool):
    tool.core_engine.add_memory.return_value = MemoryResult(MEMORY_ID, 1, "preview", similar="older")
    result = await tool.execute({"text": "valid"})
    assert "older" in text_of(result).splitlines()[-1]
    assert "replaces" in text_of(result).splitlines()[-1]
    assert result["structuredContent"]["similar"] == "older"
    assert "replaces" in result["structuredContent"]["message"]


async def test_the_memory_that_is_corrected_is_passed_only_when_given(tool, mock_memory_result):
    await tool.execute({"text": "valid", "replaces": "old"})
    tool.core_engine.add_memory.assert_called_once_with(text="valid", metadata={}, replaces="old")


@pytest.mark.parametrize(("outcome", "headline"), [("existing", "Already remembered"), ("restored", "it is restored")])
async def test_an_identical_memory_is_reported_as_existing(tool, outcome, headline):
    tool.core_engine.add_memory.return_value = MemoryResult(MEMORY_ID, 1, "preview", outcome)
    result = await tool.execute({"text": "valid"})
    assert headline in text_of(result).splitlines()[0]
    assert result["structuredContent"]["outcome"] == outcome


async def test_a_full_disk_is_reported(tool):
    tool.core_engine.add_memory.side_effect = StoreFullError("the disk is full; nothing was written")
    result = await tool.execute({"text": "valid"})
    assert headline_of(result) == "Error: the disk is full; nothing was written"
    assert result["structuredContent"]["error_code"] == "STORE_FULL"
