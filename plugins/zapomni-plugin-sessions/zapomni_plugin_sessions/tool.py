"""The base of the tools: a memory manager, and answers as text and as data. The host reports errors."""

import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import BaseModel

from zapomni_core.plugin import ErrorResponse, MemoryEngine, answer, response_schema

if TYPE_CHECKING:
    from zapomni_core.plugin.sessions import MemoryManager

READS: dict[str, bool] = {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False}
WRITES: dict[str, bool] = {"readOnlyHint": False, "destructiveHint": False, "openWorldHint": False}
METADATA = {"type": "object", "description": "Kept with it."}
FILTERS = {"type": "object", "description": "By metadata: key to value, or to a list, any of which will do."}


def vector_schema(dimension: int) -> dict[str, Any]:
    """The schema of a vector of the caller's own. The manager checks how many numbers it has, and says how many it wants."""
    about = f"Your own vector: {dimension} numbers."
    return {"type": "array", "items": {"type": "number"}, "description": about}


class SessionsTool(ABC):
    """A tool over the engine. The host has checked the arguments by their schema; the manager checks the rest."""

    name: ClassVar[str]
    title: ClassVar[str]
    description: ClassVar[str]
    annotations: ClassVar[dict[str, bool]]
    required: ClassVar[tuple[str, ...]] = ()
    responses: ClassVar[tuple[type[BaseModel], ...]]

    def __init__(self, engine: MemoryEngine, dimension: int) -> None:
        self.engine = engine
        self.dimension = dimension
        self.input_schema = self._input_schema()
        self.output_schema = response_schema(*self.responses, ErrorResponse)

    @abstractmethod
    def properties(self) -> dict[str, Any]:
        """The arguments by name, each with its schema."""

    @abstractmethod
    async def answer(self, *args: Any, **kwargs: Any) -> tuple[str, BaseModel]:
        """The readable answer to a call, and the same as data; arguments are passed by name."""

    async def execute(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The answer to one call."""
        started = time.perf_counter()
        text, response = await self.answer(**arguments)
        return answer(text, response, seconds=time.perf_counter() - started)

    def _input_schema(self) -> dict[str, Any]:
        required = {"required": list(self.required)} if self.required else {}
        return {"type": "object", "properties": self.properties(), **required, "additionalProperties": False}

    @property
    def manager(self) -> "MemoryManager":
        """Sessions and documents of the engine's workspace; made for each call, which costs nothing."""
        from zapomni_core.plugin.sessions import MemoryManager

        return MemoryManager(self.engine, embedding_dimension=self.dimension)
