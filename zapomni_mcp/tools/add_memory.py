"""add_memory: keep a text."""

from typing import Any, ClassVar

from zapomni_core.models import MemoryResult
from zapomni_mcp.schemas import AddMemoryRequest, AddMemoryResponse
from zapomni_mcp.tools.answering import MemoryTool, answer

_HEADLINES = {
    "stored": "Memory stored successfully.",
    "existing": "Already remembered: the same text with the same metadata is kept once.",
    "restored": "This memory had been deleted; it is restored.",
}


class AddMemoryTool(MemoryTool[AddMemoryRequest]):
    """Keeps text or code; the answer comes when it is durable and can be found."""

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
                "type": ["object", "null"],
                "description": "Optional: tags (list), source, author, conversation, timestamp (ISO 8601: when it was true), "
                "language (of code); other keys can be filtered by too.",
            },
            "replaces": {"type": ["string", "null"], "description": "ID of the memory that this corrects."},
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
    request = AddMemoryRequest
    response = AddMemoryResponse

    async def _answer(self, request: AddMemoryRequest) -> dict[str, Any]:
        more = {} if request.replaces is None else {"replaces": request.replaces}
        result = await self.core_engine.add_memory(text=request.text, metadata=request.metadata, **more)
        self.logger.info("memory_added", extra={"memory_id": result.memory_id, "chunks": result.chunks_created})
        return self._format_success(result)

    def _validate_arguments(self, arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """The text and the metadata, checked."""
        request = AddMemoryRequest.model_validate(arguments)
        return request.text, request.metadata

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
    return "\n".join(lines)


def _structured(result: MemoryResult) -> AddMemoryResponse:
    return AddMemoryResponse(
        message=_HEADLINES[result.outcome],
        episode_id=result.memory_id,
        memory_id=result.memory_id,
        chunks_created=result.chunks_created,
        text_preview=result.text_preview,
        outcome=result.outcome,
        replaced=result.replaced,
    )
