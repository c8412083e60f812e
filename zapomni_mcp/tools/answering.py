"""What the memory tools share: they check their arguments, ask the engine, and answer in one vocabulary."""

import logging
import time
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from zapomni_core.engine import MemoryEngine
from zapomni_core.errors import ConfigurationError, DatabaseError, LLMUnavailableError, ProcessingError
from zapomni_core.masking import without_paths
from zapomni_core.responses import ErrorResponse, ErrorType, response_schema
from zapomni_core.results import without_llm
from zapomni_core.tool import ToolResult
from zapomni_db.errors import (
    EmbedderMismatchError,
    InvalidInputError,
    JobNotFoundError,
    MemoryNotFoundError,
    StoreDamagedError,
    StoreFullError,
    StoreTooNewError,
    StoreUnavailableError,
)

RequestT = TypeVar("RequestT", bound=BaseModel)

GENERIC = "An internal error occurred while processing your memory."
RETRY = "Database temporarily unavailable. Please retry in a few seconds."
TOLD_AS_THEY_ARE = (EmbedderMismatchError, StoreDamagedError, StoreFullError, StoreTooNewError)


class MemoryTool(ABC, Generic[RequestT]):
    """A tool over the engine. Never raises: what goes wrong becomes an answer."""

    name: ClassVar[str]
    title: ClassVar[str]
    description: ClassVar[str]
    input_schema: ClassVar[dict[str, Any]]
    annotations: ClassVar[dict[str, bool]]
    request: type[RequestT]
    responses: ClassVar[tuple[type[BaseModel], ...]]

    def __init__(self, core_engine: MemoryEngine) -> None:
        if not isinstance(core_engine, MemoryEngine):
            raise TypeError(f"core_engine must be MemoryEngine instance, got {type(core_engine)}")
        self.core_engine = core_engine
        self.logger = logging.getLogger(f"zapomni.tools.{self.name}")
        self.output_schema = response_schema(*self.responses, ErrorResponse)

    async def execute(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The answer to one call."""
        started = time.perf_counter()
        try:
            result = await self._answer(self.request.model_validate(arguments))
        except Exception as error:  # noqa: BLE001 (the seam: a tool answers, it never raises)
            result = self._format_error(error)
        result["structuredContent"]["processing_time_ms"] = round((time.perf_counter() - started) * 1000, 3)
        return result

    @abstractmethod
    async def _answer(self, request: RequestT) -> dict[str, Any]:
        """The result of a call whose arguments are right."""

    def _format_error(self, error: Exception) -> dict[str, Any]:
        """The answer that tells of a failure; complete only in the log, unless it is the caller's to mend."""
        response = describe(error)
        if response.error_type not in ("validation", "not_found"):
            self.logger.error("tool_failed", exc_info=error, extra={"tool": self.name})
        text = f"Error: {response.message}" + (f" {response.suggestion}" if response.suggestion else "")
        return ToolResult.error(text, structured=response.model_dump(mode="json"))


def answer(text: str, response: BaseModel) -> dict[str, Any]:
    """A result: readable, and the same as data."""
    return ToolResult.text(text, structured=response.model_dump(mode="json"))


def describe(error: Exception) -> ErrorResponse:
    """What a client may know of a failure."""
    if isinstance(error, ValidationError):
        return _failure("validation", "INVALID_ARGUMENTS", 400, _problem(error), recoverable=True)
    if isinstance(error, InvalidInputError):
        return _failure("validation", "INVALID_ARGUMENTS", 400, str(error), recoverable=True)
    if isinstance(error, MemoryNotFoundError):
        return _failure("not_found", "MEMORY_NOT_FOUND", 404, str(error), recoverable=True)
    if isinstance(error, JobNotFoundError):
        return _failure("not_found", "JOB_NOT_FOUND", 404, str(error), recoverable=True)
    if isinstance(error, TOLD_AS_THEY_ARE):
        return _failure("database", type(error).__name__.removesuffix("Error").upper(), 503, without_paths(str(error)))
    if isinstance(error, StoreUnavailableError):
        return _failure(
            "database", "STOREUNAVAILABLE", 503, without_paths(str(error)), recoverable=True, retry_after_seconds=5
        )
    if isinstance(error, DatabaseError):
        return _failure("database", "DATABASE_UNAVAILABLE", 503, RETRY, recoverable=True, retry_after_seconds=5)
    if isinstance(error, LLMUnavailableError):
        return without_llm(error)
    if isinstance(error, ConfigurationError):
        return _failure("internal", "CONFIGURATION", 503, without_paths(str(error)))
    kind: ErrorType = "processing" if isinstance(error, ProcessingError) else "internal"
    return _failure(kind, f"{kind.upper()}_ERROR", 500, GENERIC)


def _failure(kind: ErrorType, code: str, status: int, message: str, **more: Any) -> ErrorResponse:
    parts = {"recoverable": False} | more
    return ErrorResponse(message=message, error_type=kind, error_code=code, status_code=status, **parts)


def _problem(error: ValidationError) -> str:
    """The first problem by field and rule, without the value."""
    problem = error.errors(include_url=False, include_context=False, include_input=False)[0]
    field = ".".join(map(str, problem["loc"]))
    if problem["type"] == "value_error":
        return problem["msg"].removeprefix("Value error, ")
    if problem["type"] == "missing":
        return f"{field} is required"
    return f"{field}: {problem['msg']}"
