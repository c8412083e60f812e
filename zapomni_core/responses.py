"""The four answers a bundled tool can give, as structured content beside the readable text."""

from functools import cache
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

_TOLD = {"title", "description", "default"}

ErrorType = Literal[
    "validation", "not_found", "refused", "processing", "database", "llm_unavailable", "timeout", "plugin", "internal"
]


def _if_it_applies(description: str, **rules: Any) -> Any:
    """A field that is left out of the answer where it has nothing to say."""
    return Field(default=None, exclude_if=lambda value: value is None, description=description, **rules)


class _Response(BaseModel):
    model_config = ConfigDict(frozen=True)

    message: str = Field(description="What happened, for a person.")
    episode_id: str | None = Field(default=None, description="The memory this is about, where there is one.")
    processing_time_ms: float = Field(default=0.0, ge=0, description="How long it took.")


class SuccessResponse(_Response):
    """Everything that was asked for is done, and durable."""

    status: Literal["success"] = "success"
    entities_extracted: int | None = _if_it_applies("How many entities were read in it.", ge=0)
    relationships_extracted: int | None = _if_it_applies("How many relations were read in it.", ge=0)


class DegradedResponse(_Response):
    """Part of it is done; `message` says which part is not."""

    status: Literal["degraded"] = "degraded"
    raw_stored: bool | None = _if_it_applies("Whether the text is kept and can be found.")
    entities_extracted: int | None = _if_it_applies("How many entities were read in it.", ge=0)
    reprocess_available: bool | None = _if_it_applies("Whether what is missing can be made up for later.")


class QueuedResponse(_Response):
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
    schema: dict[str, Any] = _checked_part(kind.model_json_schema(mode="serialization"))
    return schema


def _checked_part(schema: Any) -> Any:
    """A schema without what nobody checks an answer by: half of its size, which every client is sent."""
    if isinstance(schema, dict):
        return {
            key: _checked_part(value) for key, value in schema.items() if key not in _TOLD or isinstance(value, dict)
        }
    return [_checked_part(one) for one in schema] if isinstance(schema, list) else schema
