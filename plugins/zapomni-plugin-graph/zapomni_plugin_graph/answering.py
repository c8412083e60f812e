"""What the graph tools share: they check their arguments, and answer readably and as data. Errors are told by the host."""

import time
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from zapomni_core.plugin import (
    ErrorResponse,
    InvalidInputError,
    Memory,
    MemoryEngine,
    MemoryNotFoundError,
    ToolResult,
    response_schema,
)
from zapomni_plugin_graph.responses import record_of

RequestT = TypeVar("RequestT", bound=BaseModel)

READS: dict[str, bool] = {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False}


class Request(BaseModel):
    """The arguments of a tool."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)


class GraphTool(ABC, Generic[RequestT]):
    """A tool over the engine."""

    name: ClassVar[str]
    title: ClassVar[str]
    description: ClassVar[str]
    input_schema: ClassVar[dict[str, Any]]
    annotations: ClassVar[dict[str, bool]]
    request: type[RequestT]
    responses: ClassVar[tuple[type[BaseModel], ...]]

    def __init__(self, engine: MemoryEngine) -> None:
        self.engine = engine
        self.output_schema = response_schema(*self.responses, ErrorResponse)

    async def execute(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The answer to one call."""
        started = time.perf_counter()
        text, response = await self._answer(self._checked(arguments))
        structured = record_of(response)
        structured["processing_time_ms"] = round((time.perf_counter() - started) * 1000, 3)
        if isinstance(response, ErrorResponse):
            return ToolResult.error(f"Error: {text}", structured=structured)
        return ToolResult.text(text, structured=structured)

    @abstractmethod
    async def _answer(self, request: RequestT) -> tuple[str, BaseModel]:
        """The readable answer to a call whose arguments are right, and the same as data."""

    def _checked(self, arguments: dict[str, Any]) -> RequestT:
        """The arguments; null is what clients send for what they leave out."""
        given = {name: value for name, value in arguments.items() if value is not None}
        try:
            return self.request.model_validate(given)
        except ValidationError as error:
            raise InvalidInputError(_problem(error)) from None


async def live_memory(engine: MemoryEngine, memory_id: str) -> Memory:
    """A memory that the graph shows; MemoryNotFoundError where there is none."""
    memory = await engine.get_memory(memory_id)
    if memory.deleted_at:
        raise MemoryNotFoundError(f"memory {memory.id} is deleted, so the graph does not show it; it can be restored")
    if memory.replaced_by:
        raise MemoryNotFoundError(f"memory {memory.id} is replaced by {memory.replaced_by}, which the graph shows")
    return memory


def not_found(message: str, suggestion: str) -> tuple[str, ErrorResponse]:
    """An answer that says what is not there, and where to look."""
    response = ErrorResponse(
        message=message,
        error_type="not_found",
        error_code="ENTITY_NOT_FOUND",
        status_code=404,
        recoverable=True,
        suggestion=suggestion,
    )
    return f"{message} {suggestion}", response


def _problem(error: ValidationError) -> str:
    """The first problem by field and rule, without the value."""
    problem = error.errors(include_url=False, include_context=False, include_input=False)[0]
    if problem["type"] == "value_error":
        return problem["msg"].removeprefix("Value error, ")
    return f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}"
