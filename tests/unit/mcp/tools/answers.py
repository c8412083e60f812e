"""Checks that the tests of the memory tools share."""

from jsonschema import Draft202012Validator


def text_of(result):
    """The readable text of a result."""
    [part] = result["content"]
    assert part["type"] == "text"
    return part["text"]


def headline_of(result):
    """The first line of the readable text of a result."""
    return text_of(result).splitlines()[0]


def checked(tool, result):
    """The structured content, which must meet the tool's output schema, errors too."""
    Draft202012Validator(tool.output_schema).validate(result["structuredContent"])
    assert result["structuredContent"]["processing_time_ms"] >= 0
    assert result["structuredContent"]["status"] == "error" or not result["isError"]
    return result["structuredContent"]


async def refused(tool, arguments):
    """The error message for invalid arguments; checks that the engine was not called."""
    result = await tool.execute(arguments)
    record = checked(tool, result)
    assert (result["isError"], record["error_type"], record["status_code"]) == (True, "validation", 400)
    assert record["error_code"] == "INVALID_ARGUMENTS"
    assert tool.core_engine.mock_calls == []
    assert len(text_of(result)) < 300
    assert record["suggestion"] in text_of(result)
    return headline_of(result).removeprefix("Error: ")
