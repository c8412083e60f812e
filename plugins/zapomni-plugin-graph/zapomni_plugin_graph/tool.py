"""The base of the graph tools: checks arguments, and answers as text and as data. The host answers errors."""

import re
import time
from abc import ABC, abstractmethod
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from zapomni_core.plugin import (
    ErrorResponse,
    InvalidInputError,
    Memory,
    MemoryEngine,
    MemoryNotFoundError,
    answer,
    response_schema,
)

RequestT = TypeVar("RequestT", bound=BaseModel)

READS: dict[str, bool] = {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False}
FIRST_DAY = "-01-01"
MOST_PROBLEMS = 10


class Request(BaseModel):
    """The arguments of a tool."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)


def parse_moment(given: Any) -> datetime:
    """A date or time in ISO 8601, in UTC unless it names a zone. A year, a month or a day is its first moment."""
    text = given.strip() if isinstance(given, str) else ""
    whole = text + FIRST_DAY[len(text) - len("2024") :] if re.fullmatch(r"\d{4}(-\d\d)?", text, re.ASCII) else text
    try:
        moment = datetime.fromisoformat(whole)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise ValueError("must be a date or a time in ISO 8601, such as 2024-05-31") from None


Moment = Annotated[datetime, BeforeValidator(parse_moment)]


class GraphTool(ABC, Generic[RequestT]):
    """A tool over the engine."""

    name: ClassVar[str]
    title: ClassVar[str]
    description: ClassVar[str]
    input_schema: ClassVar[dict[str, Any]]
    annotations: ClassVar[dict[str, bool]]
    request: type[RequestT]
    responses: ClassVar[tuple[type[BaseModel], ...]]
    unlisted_arguments: dict[str, Any] = {}  # noqa: RUF012 (never changed in place)

    def __init__(self, engine: MemoryEngine) -> None:
        self.engine = engine
        self.output_schema = response_schema(*self.responses, ErrorResponse)

    async def execute(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The answer to one call."""
        started = time.perf_counter()
        await self.engine.open()
        text, response = await self._answer(self._checked(arguments))
        return answer(text, response, seconds=time.perf_counter() - started)

    @abstractmethod
    async def _answer(self, request: RequestT) -> tuple[str, BaseModel]:
        """The answer to a call whose arguments are right, as text and as data."""

    def _checked(self, arguments: dict[str, Any]) -> RequestT:
        try:
            return self.request.model_validate(arguments)
        except ValidationError as error:
            raise InvalidInputError(problems_in(error)) from None


def problems_in(error: ValidationError) -> str:
    """The problems by field and rule, without the values."""
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(map(_problem, problems[:MOST_PROBLEMS]))


def _problem(problem: Any) -> str:
    field = ".".join(map(str, problem["loc"]))
    if problem["type"] == "value_error":
        return f"{field} {problem['msg'].removeprefix('Value error, ')}".strip()
    if problem["type"] == "missing":
        return f"field required: {field}"
    if problem["type"] == "extra_forbidden":
        return f"unknown field '{field[:100]}'"
    return f"{field}: {problem['msg']}"


async def live_memory(engine: MemoryEngine, memory_id: str) -> Memory:
    """A memory that the graph shows; MemoryNotFoundError where there is none."""
    memory = await engine.get_memory(memory_id)
    if memory.deleted_at:
        raise MemoryNotFoundError(f"memory {memory.id} is deleted, so the graph does not show it; it can be restored")
    if memory.replaced_by:
        raise MemoryNotFoundError(f"memory {memory.id} is replaced by {memory.replaced_by}, which the graph shows")
    return memory
