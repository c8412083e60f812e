"""The four answers a bundled tool can give, error results, and checks of what tools return."""

from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_serializer

from zapomni_core.host.schemas import is_json
from zapomni_core.tool import ToolResult

if TYPE_CHECKING:
    from zapomni_core.host.registry import CheckedTool

_ANNOTATIONS = {"title", "description", "default"}

ErrorType = Literal[
    "validation", "not_found", "refused", "processing", "database", "llm_unavailable", "timeout", "plugin", "internal"
]

_NEXT_STEPS = {
    "MEMORY_NOT_FOUND": "Take the ID from search_memory; one that was purged is gone.",
    "JOB_NOT_FOUND": "Take the ID from the answer that queued it; a job is forgotten a week after it is done.",
    "CONFIGURATION": "Correct the settings and start the server again; `zapomni doctor` examines them.",
    "STORE_REPLACED": "Ask the user to start the server again; until then every call fails.",
    "STORE_DAMAGED": "Tell the user what the message says; `zapomni doctor` examines the store.",
    "STORE_TOO_NEW": "Ask the user to update Zapomni and to start the server again.",
    "EMBEDDER_MISMATCH": "Ask the user to run the command that the message names.",
    "validation": "Correct the arguments as the message says, and call again.",
    "not_found": "Check the name or the ID, and call again.",
    "refused": "Do as the message says, or do without it.",
    "processing": "See the server's log for the cause; `zapomni doctor` examines the installation.",
    "database": "Try again; if that does not help, `zapomni doctor` examines the store.",
    "llm_unavailable": "Try again later, or call a tool that needs no language model.",
    "timeout": "Try again, or with less at a time; `timeout_seconds` in the settings of a tool is its limit.",
    "plugin": "Ask the user to fix or disable the plugin that the message names; `zapomni plugins` says what is wrong.",
    "internal": "See the server's log for the cause, and report it.",
}


def _if_it_applies(description: str, **rules: Any) -> Any:
    """A field that is left out of the answer if it is None."""
    return Field(default=None, exclude_if=lambda value: value is None, description=description, **rules)


class _Response(BaseModel):
    model_config = ConfigDict(frozen=True)

    message: str = Field(description="What happened, for a person.")
    episode_id: str | None = Field(default=None, description="The memory this is about, where there is one.")
    processing_time_ms: float = Field(default=0.0, ge=0, description="How long it took.")


class _Delayed(_Response):
    """Fields that say why a part is missing."""

    error_code: str | None = _if_it_applies("Why a part is missing, stable for programs.")
    suggestion: str | None = _if_it_applies("What to do about that.")
    retry_after_seconds: float | None = _if_it_applies("When what was away may be back.", ge=0)


class SuccessResponse(_Response):
    """Everything that was asked for is done, and durable."""

    status: Literal["success"] = "success"
    entities_extracted: int | None = _if_it_applies("How many entities were read in it.", ge=0)
    relationships_extracted: int | None = _if_it_applies("How many relations were read in it.", ge=0)


class DegradedResponse(_Delayed):
    """Part of it is done; `message` says which part is not."""

    status: Literal["degraded"] = "degraded"
    raw_stored: bool | None = _if_it_applies("Whether the text is kept and can be found.")
    entities_extracted: int | None = _if_it_applies("How many entities were read in it.", ge=0)
    reprocess_available: bool | None = _if_it_applies("Whether what is missing can be made up for later.")


class QueuedResponse(_Delayed):
    """It is kept and will be done; nothing has to be sent again."""

    status: Literal["queued"] = "queued"
    raw_stored: bool | None = _if_it_applies("Whether the text is kept and can be found.")
    job_id: str | None = _if_it_applies("The receipt: what get_job asks for.")


class ErrorResponse(_Response):
    """It was not done; says whether to try again, and how."""

    status: Literal["error"] = "error"
    error_type: ErrorType = Field(description="What kind of failure it was.")
    error_code: str = Field(description="The exact failure, stable for programs.")
    status_code: int = Field(
        description="400 or 404 the request is wrong, 500 we failed, 503 something we need is away."
    )
    recoverable: bool = Field(description="Whether the same call can succeed later, or after a correction.")
    suggestion: str | None = Field(default=None, description="What to do next.")
    retry_after_seconds: float | None = Field(default=None, ge=0, description="When to try again.")

    @field_serializer("suggestion")
    def has_next_step(self, suggestion: str | None) -> str | None:
        """The next step: the error's own, or a general one. An error always has one."""
        return suggestion or _NEXT_STEPS.get(self.error_code) or _NEXT_STEPS.get(self.error_type)


def response_schema(*kinds: type[BaseModel]) -> dict[str, Any]:
    """One output schema that admits every given kind of answer."""
    defined: dict[str, Any] = {}
    for kind in kinds:
        schema = dict(_schema_of(kind))
        defined |= schema.pop("$defs", {})
        defined[kind.__name__] = schema
    return {
        "type": "object",
        "anyOf": [{"$ref": f"#/$defs/{kind.__name__}"} for kind in kinds],
        "$defs": dict(sorted(defined.items())),
    }


@cache
def _schema_of(kind: type[BaseModel]) -> dict[str, Any]:
    """The schema of one kind; made once, because all tools share the common kinds, and every start waits for it."""
    schema: dict[str, Any] = _without_annotations(kind.model_json_schema(mode="serialization"))
    return schema


def _without_annotations(schema: Any) -> Any:
    """A schema without titles, descriptions and defaults: half its size, and it is sent to every client."""
    if isinstance(schema, dict):
        return {
            key: _without_annotations(value)
            for key, value in schema.items()
            if key not in _ANNOTATIONS or isinstance(value, dict)
        }
    return [_without_annotations(one) for one in schema] if isinstance(schema, list) else schema


ERROR_KEY = "zapomni/error"
_PARTS: dict[Any, dict[str, type]] = {
    "text": {"text": str},
    "image": {"data": str, "mimeType": str},
    "audio": {"data": str, "mimeType": str},
    "resource_link": {"uri": str, "name": str},
    "resource": {"resource": dict},
}
_BESIDE_CONTENT = {"isError", "structuredContent", "_meta"}


def check_result(result: Any, tool: "CheckedTool") -> str | None:
    """The flaw in a tool's result, or None. Never quotes it: results are private."""
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


def error_result(error: ErrorResponse, tool: "CheckedTool | None" = None) -> dict[str, Any]:
    """The result for a failure: readable, and structured if the tool's output schema admits it."""
    record = error.model_dump(mode="json")
    text = f"Error: {error.message}" + (f" {error.suggestion}" if error.suggestion else "")
    if tool is None or _admits(tool, record):
        return ToolResult.error(text, structured=record)
    return ToolResult.error(text, meta={ERROR_KEY: record})


def _admits(tool: "CheckedTool", record: dict[str, Any]) -> bool:
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
