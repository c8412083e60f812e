"""The four answers a bundled tool can give, as text and as data, error results, and checks of what tools return."""

import re
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, ValidationInfo, WithJsonSchema, field_validator
from pydantic.json_schema import SkipJsonSchema

from zapomni_core.host.schemas import is_json
from zapomni_core.json_schema import plain_schema
from zapomni_core.text.plural import waiting
from zapomni_core.tool import ToolResult

if TYPE_CHECKING:
    from zapomni_core.host.registry import CheckedTool

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
    "validation": "Correct the arguments and call again.",
    "not_found": "Check the name or the ID, and call again.",
    "refused": "Do as the message says, or do without it.",
    "processing": "See the server's log for the cause; `zapomni doctor` examines the installation.",
    "database": "Try again; if that does not help, `zapomni doctor` examines the store.",
    "llm_unavailable": "Try again later, or call a tool that needs no language model.",
    "timeout": "Try again, or with less at a time; `timeout_seconds` in the settings of a tool is its limit.",
    "plugin": "Ask the user to fix or disable the plugin that the message names; `zapomni plugins` says what is wrong.",
    "internal": "See the server's log for the cause, and report it.",
}


def moment_text(moment: datetime) -> str:
    """A moment to the second, in UTC, in ISO 8601."""
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


Moment = Annotated[datetime, PlainSerializer(moment_text, when_used="json")]
"""A moment, which an answer tells to the second."""


class _Response(BaseModel):
    model_config = ConfigDict(frozen=True)

    message: str = Field(description="What happened, for a person.")
    episode_id: str | None = Field(default=None, description="The memory this is about, where there is one.")
    processing_time_ms: float = Field(default=0.0, ge=0, description="How long it took.")


class _Delayed(_Response):
    """Fields that say why a part is missing."""

    error_code: str | None = Field(default=None, description="Why a part is missing, stable for programs.")
    suggestion: str | None = Field(default=None, description="What to do about that.")
    retry_after_seconds: float | None = Field(default=None, ge=0, description="When what was away may be back.")


class SuccessResponse(_Response):
    """Everything that was asked for is done, and durable."""

    status: Literal["success"] = "success"


class DegradedResponse(_Delayed):
    """Part of it is done; `message` says which part is not."""

    status: Literal["degraded"] = "degraded"
    raw_stored: bool | None = Field(default=None, description="Whether the text is kept and can be found.")
    entities_extracted: int | None = Field(default=None, ge=0, description="How many entities were read in it.")
    reprocess_available: bool | None = Field(
        default=None, description="Whether what is missing can be made up for later."
    )


class QueuedResponse(_Delayed):
    """It is kept and will be done; nothing has to be sent again."""

    status: Literal["queued"] = "queued"
    raw_stored: bool | None = Field(default=None, description="Whether the text is kept and can be found.")
    job_id: str | None = Field(default=None, description="The receipt: what get_job asks for.")


class ErrorResponse(_Response):
    """It was not done; says whether to try again, and how. Without a suggestion of its own, it has a general one."""

    status: Literal["error"] = "error"
    error_type: Annotated[ErrorType, WithJsonSchema({"type": "string"})] = Field(
        description="What kind of failure it was."
    )
    error_code: str = Field(description="The exact failure, stable for programs.")
    status_code: int = Field(
        description="400 or 404 the request is wrong, 500 we failed, 503 something we need is away."
    )
    recoverable: bool = Field(description="Whether the same call can succeed later, or after a correction.")
    # The text says both, so no output schema has to.
    suggestion: Annotated[str | None, SkipJsonSchema()] = Field(
        default=None, validate_default=True, description="What to do next."
    )
    retry_after_seconds: Annotated[float | None, SkipJsonSchema()] = Field(
        default=None, ge=0, description="When to try again."
    )

    @field_validator("suggestion")
    @classmethod
    def has_next_step(cls, suggestion: str | None, others: ValidationInfo) -> str | None:
        """The next step: the error's own, or a general one. An error always has one."""
        code, kind = others.data.get("error_code", ""), others.data.get("error_type", "")
        return suggestion or _NEXT_STEPS.get(code) or _NEXT_STEPS.get(kind)


def answer(text: str, response: BaseModel, *, seconds: float = 0.0) -> dict[str, Any]:
    """A result as text and as data; of an error, the text is made from its fields.

    `seconds` is how long it took.
    """
    record = record_of(response) | {"processing_time_ms": round(seconds * 1000, 1)}
    if isinstance(response, ErrorResponse):
        return ToolResult.error(error_text(response), structured=record)
    return ToolResult.text(text, structured=record)


def record_of(response: BaseModel) -> dict[str, Any]:
    """A response as data: status and message first, then what differs from its default, so that nothing is empty."""
    first = {name: getattr(response, name) for name in _ALWAYS if name in type(response).model_fields}
    return first | response.model_dump(mode="json", exclude_defaults=True)


def error_text(error: ErrorResponse) -> str:
    """The message, the next step and the time to retry: some clients show a model nothing else of an error."""
    text = "\n".join(filter(None, (f"Error: {error.message}", error.suggestion)))
    if not error.retry_after_seconds:
        return text
    wait = waiting(error.retry_after_seconds)
    return text if re.search(rf"\b{wait}\b", text) else f"{text} Retry in {wait}."


_ALWAYS = ("status", "message")
_NOT_FOR_CLIENTS = frozenset({"default", "description", "maximum", "maxLength", "minimum", "minLength"})


def response_schema(*kinds: type[BaseModel]) -> dict[str, Any]:
    """One output schema for answers of these kinds, as `answer` makes them: a flat list of fields, and which go together."""
    properties: dict[str, Any] = {}
    required: list[list[str]] = []
    for schema in map(_schema_of, kinds):
        for name, part in schema["properties"].items():
            properties[name] = _joined(properties.get(name, part), part)
        required.append(schema["required"])
    always = [name for name in required[0] if all(name in names for names in required)]
    groups = [{"required": more} for names in required if (more := [name for name in names if name not in always])]
    made = {"type": "object", "properties": properties, "required": always}
    return made | {"anyOf": groups} if len(groups) == len(kinds) > 1 else made


def _joined(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """The schema of a field that two kinds of answers have."""
    if one == other:
        return one
    if "enum" in one and "enum" in other:
        return one | {"enum": [*dict.fromkeys([*one["enum"], *other["enum"]])]}
    return {"anyOf": [*one.get("anyOf", [one]), other]}


@cache
def _schema_of(kind: type[BaseModel]) -> dict[str, Any]:
    """The schema of one kind; made once, because all tools share the common kinds, and every start waits for it.

    Without what only tells how answers are made: a schema is sent to every client.
    """
    schema = plain_schema(kind.model_json_schema(), without=_NOT_FOR_CLIENTS)
    fields = schema.setdefault("properties", {})
    schema["required"] = [name for name in fields if name in _ALWAYS or name in schema.get("required", ())]
    return schema


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
    record = record_of(error)
    if tool is None or _admits(tool, record):
        return ToolResult.error(error_text(error), structured=record)
    return ToolResult.error(error_text(error), meta={ERROR_KEY: record})


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
