"""The base of the memory tools: checks arguments, calls the engine, and turns errors into answers."""

import logging
import time
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from zapomni_core.dispatch.arguments import EMPTY, MISSING, TOO_LONG, ArgumentProblem, joined, problem_of
from zapomni_core.errors import LLMUnavailableError, describe_failure
from zapomni_core.memory.engine import MemoryEngine
from zapomni_core.responses import ErrorResponse, error_result, response_schema
from zapomni_db.errors import InvalidInputError

RequestT = TypeVar("RequestT", bound=BaseModel)

ALWAYS_LOAD = {"anthropic/alwaysLoad": True}
"""Claude Code shows a model only the names of tools until it searches for them; not of these."""
GENERIC = "An internal error occurred while processing your memory."


class MemoryTool(ABC, Generic[RequestT]):
    """A tool over the engine. It never raises: an error becomes an answer."""

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
        result["structuredContent"]["processing_time_ms"] = round((time.perf_counter() - started) * 1000, 1)
        return result

    @abstractmethod
    async def _answer(self, request: RequestT) -> dict[str, Any]:
        """The result of a call whose arguments are right."""

    def _format_error(self, error: Exception) -> dict[str, Any]:
        """The answer for an error. Details go to the log, except for errors that the caller can correct."""
        if isinstance(error, ValidationError):
            problems = error.errors(include_url=False, include_input=False)
            error = InvalidInputError(joined(map(_problem, problems)))
        response = describe_failure(error, GENERIC)
        if isinstance(error, LLMUnavailableError):
            fields = {"tool": self.name, "code": response.error_code, "cause": error.root_cause}
            self.logger.warning("language_model_away", extra=fields)
        elif isinstance(error, InvalidInputError):
            problem = problem_of(error, self.input_schema)
            self.logger.warning("validation_error", extra={"tool": self.name, **problem._asdict()})
        elif response.error_type not in ("validation", "not_found"):
            self.logger.error("tool_failed", exc_info=error, extra={"tool": self.name})
        return error_result(response)


def _problem(problem: Any) -> str:
    """A problem by field and rule, without the value."""
    field = ".".join(map(str, problem["loc"]))
    if problem["type"] == "value_error":
        return str(problem["msg"]).removeprefix("Value error, ")
    if problem["type"] == "missing":
        return str(ArgumentProblem(field, MISSING))
    if problem["type"] == "string_too_short":
        return str(ArgumentProblem(field, EMPTY))
    if problem["type"] == "string_too_long":
        return str(ArgumentProblem(field, TOO_LONG.format(problem["ctx"]["max_length"])))
    return f"{field}: {problem['msg']}"
