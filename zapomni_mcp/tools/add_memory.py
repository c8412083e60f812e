"""add_memory: keep a text."""

from typing import Any, ClassVar

from pydantic import BaseModel

from zapomni_core.memory.engine import MemoryEngine
from zapomni_core.models import MemoryResult
from zapomni_core.responses import ErrorResponse, answer, response_schema
from zapomni_core.text.plural import counted
from zapomni_mcp.schemas import (
    AddMemoryDegraded,
    AddMemoryQueued,
    AddMemoryRequest,
    AddMemoryResponse,
)
from zapomni_mcp.tools.memory_tool import ALWAYS_LOAD, MemoryTool

_HEADLINES = {
    "stored": "Memory stored successfully.",
    "existing": "Already remembered: the same text with the same metadata is kept once.",
    "restored": "This memory had been deleted; it is restored.",
}
SIMILAR = "Similar: memory {} says nearly the same; if this takes its place, add it again with replaces"
_WAIT: dict[str, Any] = {
    "wait_for_completion": {
        "type": "boolean",
        "description": "Wait until entities are extracted.",
        "default": True,
    }
}


class AddMemoryTool(MemoryTool[AddMemoryRequest]):
    """Keeps text or code; the answer comes when it is durable and can be found.

    `wait_for_completion` is always accepted. It is advertised where a language model extracts entities, and has no effect
    elsewhere.
    """

    name = "add_memory"
    title = "Remember"
    description = (
        "Remember a fact, decision, preference, note or code for later conversations. Call it when the user shares "
        "something worth keeping, or asks to remember. One fact per memory is found best."
    )
    input_schema: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "text": {
                "type": "string",
                "description": "What to remember, in full sentences.",
                "minLength": 1,
                "maxLength": 10_000_000,
            },
            "metadata": {
                "type": "object",
                "description": "Optional: tags (list), source, author, conversation, timestamp (ISO 8601: when it was true), "
                "language (of code); other keys can be filtered by too.",
            },
            "replaces": {"type": "string", "description": "ID of the memory that this corrects."},
        },
        "required": ["text"],
        "additionalProperties": False,
    }
    annotations: ClassVar[dict[str, bool]] = {
        "readOnlyHint": False,
        "destructiveHint": False,
        "idempotentHint": True,
        "openWorldHint": False,
    }
    unlisted_arguments: ClassVar[dict[str, Any]] = _WAIT
    instructions = (
        "Call add_memory when the user shares a fact, decision or preference worth keeping; correct a memory with its "
        "argument replaces."
    )
    meta: ClassVar[dict[str, Any]] = ALWAYS_LOAD
    request = AddMemoryRequest
    responses: ClassVar[tuple[type[BaseModel], ...]] = (AddMemoryResponse,)

    def __init__(self, core_engine: MemoryEngine) -> None:
        super().__init__(core_engine)
        if core_engine.asks_llm is True:  # a mock engine says neither
            self._offer_extraction()

    def _offer_extraction(self) -> None:
        """Advertise what depends on a language model; a tool without one spares every conversation the tokens."""
        properties = {**self.input_schema["properties"], **_WAIT}
        responses = (AddMemoryResponse, AddMemoryDegraded, AddMemoryQueued)
        self.input_schema = {**self.input_schema, "properties": properties}  # type: ignore[misc]
        self.annotations = {**self.annotations, "openWorldHint": True}  # type: ignore[misc]
        self.responses = responses  # type: ignore[misc]
        self.output_schema = response_schema(*responses, ErrorResponse)

    async def _answer(self, request: AddMemoryRequest) -> dict[str, Any]:
        more: dict[str, Any] = {} if request.replaces is None else {"replaces": request.replaces}
        if not request.wait_for_completion:
            more["wait_for_completion"] = False
        result = await self.core_engine.add_memory(text=request.text, metadata=request.metadata or {}, **more)
        self.logger.info("memory_added", extra={"memory_id": result.memory_id, "chunks": result.chunks_created})
        return self._format_success(result)

    def _validate_arguments(self, arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """The text and the metadata, checked."""
        request = AddMemoryRequest.model_validate(arguments)
        return request.text, request.metadata or {}

    def _format_success(self, result: MemoryResult) -> dict[str, Any]:
        """The answer that says what was kept."""
        return answer(_readable(result), _structured(result))


def _readable(result: MemoryResult) -> str:
    lines = [
        _HEADLINES[result.outcome],
        f"ID: {result.memory_id}",
        f"Chunks created: {result.chunks_created}",
        f"Preview: {result.text_preview}",
    ]
    if result.replaced:
        lines.append(f"Replaces: {result.replaced}, which get_memory still shows")
    if result.moved_facts:
        lines.append(f"Facts: {result.moved_facts}")
    if result.similar:
        lines.append(SIMILAR.format(result.similar))
    if result.entities_extracted is not None:
        lines.append(_of_entities(result))
    if result.vectors_later:
        lines.append(result.vectors_later)
    return "\n".join(lines)


def _of_entities(result: MemoryResult) -> str:
    if result.status == "success":
        entities = counted(result.entities_extracted or 0, "entity", "entities")
        read = f"Extracted: {entities}, {counted(result.relationships_extracted or 0, 'relation')}"
        return f"{read} ({_left_out(result.left_out)})" if result.left_out else read
    why = f": {result.failure.message} {result.failure.suggestion}" if result.failure else "."
    if result.status == "degraded":
        why = why if result.failure else ": the extractor failed; the server's log says why."
        return f"Entities not extracted{why} The memory can be found; reprocess_memories extracts them later."
    return f"Entities not extracted yet{why} Job {result.job_id} does it; the memory can be found already."


def _left_out(count: int) -> str:
    were, them = ("was", "it") if count == 1 else ("were", "them")
    return f"{count:,} more that the model named {were} left out: the text does not show {them}"


def _structured(result: MemoryResult) -> AddMemoryResponse | AddMemoryDegraded | AddMemoryQueued:
    message = _HEADLINES[result.outcome]
    if result.moved_facts:
        message = f"{message} {result.moved_facts}."
    if result.similar:
        message = f"{message} {SIMILAR.format(result.similar)}."
    kept: dict[str, Any] = {
        "episode_id": result.memory_id,
        "memory_id": result.memory_id,
        "chunks_created": result.chunks_created,
        "text_preview": result.text_preview,
        "outcome": result.outcome,
        "replaced": result.replaced,
        "similar": result.similar,
    }
    if result.status == "success":
        read = {
            "entities_extracted": result.entities_extracted,
            "relationships_extracted": result.relationships_extracted,
        }
        if result.left_out:
            message = f"{message} {_of_entities(result)}."
        if result.vectors_later:
            message = f"{message} {result.vectors_later}"
        return AddMemoryResponse(
            status="degraded" if result.not_embedded else "success", message=message, **kept, **read
        )
    message = f"{message} {_of_entities(result)}"
    if result.vectors_later:
        message = f"{message} {result.vectors_later}"
    kept |= _why(result)
    if result.status == "degraded":
        return AddMemoryDegraded(
            message=message, raw_stored=True, entities_extracted=0, reprocess_available=True, **kept
        )
    return AddMemoryQueued(message=message, raw_stored=True, job_id=result.job_id, **kept)


def _why(result: MemoryResult) -> dict[str, Any]:
    """The fields of an answer about a language model that is away."""
    if result.failure is None:
        return {}
    return {
        "error_code": result.failure.code,
        "suggestion": result.failure.suggestion,
        "retry_after_seconds": result.failure.retry_after_seconds,
    }
