"""delete_memory and restore_memory: hide a memory, and bring it back."""

from typing import Any, ClassVar

from pydantic import BaseModel

from zapomni_core.memory.content import preview
from zapomni_core.responses import answer
from zapomni_db.records import Memory
from zapomni_mcp.schemas import DeleteMemoryResponse, MemoryIdRequest
from zapomni_mcp.tools.memory_tool import MemoryTool

_BY_ID: dict[str, Any] = {
    "type": "object",
    "properties": {"memory_id": {"type": "string", "description": "ID of the memory.", "minLength": 1}},
    "required": ["memory_id"],
    "additionalProperties": False,
}


class DeleteMemoryTool(MemoryTool[MemoryIdRequest]):
    """Hides a memory from every search at once."""

    name = "delete_memory"
    title = "Forget"
    description = "Forget a memory by its ID, when the user asks for it. It can be restored."
    instructions = "Call delete_memory when the user asks to forget."
    input_schema: ClassVar[dict[str, Any]] = _BY_ID
    annotations: ClassVar[dict[str, bool]] = {
        "readOnlyHint": False,
        "destructiveHint": True,
        "idempotentHint": True,
        "openWorldHint": False,
    }
    request = MemoryIdRequest
    responses: ClassVar[tuple[type[BaseModel], ...]] = (DeleteMemoryResponse,)

    async def _answer(self, request: MemoryIdRequest) -> dict[str, Any]:
        memory = await self.core_engine.delete_memory(request.memory_id)
        undo = "restore_memory with the same memory_id brings it back."
        if memory.replaces:
            undo += (
                f" It had replaced {', '.join(memory.replaces)}, which stays out of the search unless you restore it."
            )
        return answer(f"Deleted: {preview(memory.text)}\n{undo}", _structured(memory, f"Deleted. {undo}"))


class RestoreMemoryTool(MemoryTool[MemoryIdRequest]):
    """Brings a deleted memory back."""

    name = "restore_memory"
    title = "Undo forgetting"
    description = "Bring a deleted memory back by its ID."
    input_schema: ClassVar[dict[str, Any]] = _BY_ID
    annotations: ClassVar[dict[str, bool]] = {
        "readOnlyHint": False,
        "destructiveHint": False,
        "idempotentHint": True,
        "openWorldHint": False,
    }
    request = MemoryIdRequest
    responses: ClassVar[tuple[type[BaseModel], ...]] = (DeleteMemoryResponse,)

    async def _answer(self, request: MemoryIdRequest) -> dict[str, Any]:
        memory = await self.core_engine.restore_memory(request.memory_id)
        headline, why = _became_of(memory, request.memory_id)
        line = f"{headline}: {preview(memory.text)}"
        message = f"{headline}. {why}".rstrip()
        return answer("\n".join([line, *([why] if why else ()), f"ID: {memory.id}"]), _structured(memory, message))


def _became_of(memory: Memory, asked: str) -> tuple[str, str]:
    """The headline for a restored memory, and the reason if it is not the one that was asked for."""
    if memory.id != asked:
        return "The same memory is there", (
            f"It was added again, as {memory.id}, after {asked} was replaced: {asked} did not have to be restored."
        )
    if memory.replaced_by:
        return "Still replaced", (
            f"It is no longer deleted, but no search finds it: {memory.replaced_by}, which is kept, replaces it."
            f" To bring it back, call delete_memory with memory_id {memory.replaced_by}, then this again."
        )
    return "Restored", ""


def _structured(memory: Memory, message: str) -> DeleteMemoryResponse:
    return DeleteMemoryResponse(
        message=message, episode_id=memory.id, memory_id=memory.id, text_preview=preview(memory.text)
    )
