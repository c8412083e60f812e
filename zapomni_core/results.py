"""Whether a tool's result has the shape it must have, and the error results that stand in for one that has not."""

from typing import Any

from zapomni_core.host.registry import CheckedTool
from zapomni_core.host.schemas import is_json
from zapomni_core.responses import ErrorResponse
from zapomni_core.tool import ToolResult

ERROR_KEY = "zapomni/error"
_PARTS: dict[Any, dict[str, type]] = {
    "text": {"text": str},
    "image": {"data": str, "mimeType": str},
    "audio": {"data": str, "mimeType": str},
    "resource_link": {"uri": str, "name": str},
    "resource": {"resource": dict},
}
_BESIDE_CONTENT = {"isError", "structuredContent", "_meta"}


def check_result(result: Any, tool: CheckedTool) -> str | None:
    """What is wrong with a tool's result; None if nothing is. Never quotes it: results are private."""
    problem = _shape_problem(result)
    if problem or tool.output_schema is None:
        return problem
    if result.get("isError") and "structuredContent" not in result:
        return None
    if "structuredContent" not in result:
        return "structuredContent is missing, though the tool has an output_schema"
    error = next(tool.output_validator.iter_errors(result["structuredContent"]), None)
    if error is None:
        return None
    place = "/".join(["structuredContent", *map(str, error.absolute_path)])
    return f"{place} breaks '{error.validator}' of the output_schema"


def error_result(error: ErrorResponse, tool: CheckedTool | None = None) -> dict[str, Any]:
    """The result that tells a client of a failure: readable, and as data where the tool's output schema admits it."""
    record = error.model_dump(mode="json")
    text = f"Error: {error.message}" + (f" {error.suggestion}" if error.suggestion else "")
    if tool is None or _admits(tool, record):
        return ToolResult.error(text, structured=record)
    return ToolResult.error(text, meta={ERROR_KEY: record})


def _admits(tool: CheckedTool, record: dict[str, Any]) -> bool:
    try:
        return tool.output_validator is None or bool(tool.output_validator.is_valid(record))
    except RecursionError:  # a schema that refers to itself without end
        return False


def _shape_problem(result: Any) -> str | None:
    if not isinstance(result, dict):
        return f"it is {type(result).__name__}, not a dict"
    if not isinstance(result.get("content"), list):
        return "'content' must be a list"
    if unknown := set(result) - _BESIDE_CONTENT - {"content"}:
        return f"it has an unknown key {min(map(repr, unknown))[:50]}"
    if not isinstance(result.get("isError", False), bool):
        return "'isError' must be true or false"
    for key in ("_meta", "structuredContent"):
        if not isinstance(result.get(key, {}), dict):
            return f"'{key}' must be a dict"
    for number, part in enumerate(result["content"]):
        if problem := _part_problem(part):
            return f"content[{number}] {problem}"
    return None if is_json(result) else "it cannot be sent as JSON"


def _part_problem(part: Any) -> str | None:
    wanted = _PARTS.get(part.get("type")) if isinstance(part, dict) and isinstance(part.get("type"), str) else None
    if wanted is None:
        return f"must be a dict whose type is one of {', '.join(_PARTS)}"
    for key, kind in wanted.items():
        if not isinstance(part.get(key), kind):
            return f"must have '{key}' of type {kind.__name__}"
    return None
