"""reprocess_memories: read for entities what was stored while the language model was away."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, ClassVar

from pydantic import BaseModel

from zapomni_core.models import Reprocessing, UnextractedMemory
from zapomni_core.responses import answer
from zapomni_core.text.plural import counted
from zapomni_mcp.schemas import (
    NothingToReprocess,
    ReprocessRequest,
    ReprocessResponse,
    UnreadMemories,
    UnreadMemoryResponse,
)
from zapomni_mcp.tools.memory_tool import MemoryTool


class ReprocessMemoriesTool(MemoryTool[ReprocessRequest]):
    """Queues the reading of memories. Offered only where a language model reads them."""

    name = "reprocess_memories"
    title = "Extract entities later"
    description = (
        "Queue entity extraction of memories that were stored without it, the oldest first, or of those named."
    )
    input_schema: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "memory_ids": {
                "type": "array",
                "items": {"type": "string", "minLength": 1},
                "minItems": 1,
                "maxItems": 1000,
                "description": "Only these.",
            },
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": 1000,
                "default": 100,
                "description": "At most so many.",
            },
            "list_only": {"type": "boolean", "default": False, "description": "List them, queue nothing."},
        },
        "additionalProperties": False,
    }
    annotations: ClassVar[dict[str, bool]] = {
        "readOnlyHint": False,
        "destructiveHint": False,
        "idempotentHint": True,
        "openWorldHint": True,
    }
    request = ReprocessRequest
    responses: ClassVar[tuple[type[BaseModel], ...]] = (ReprocessResponse, NothingToReprocess, UnreadMemories)

    async def _answer(self, request: ReprocessRequest) -> dict[str, Any]:
        if request.list_only:
            return _listed(*await self.core_engine.list_unextracted(request.limit, request.memory_ids))
        result = await self.core_engine.reprocess(request.memory_ids, request.limit)
        if not result.jobs and not result.waiting:
            message = "Nothing to do: every memory has been read for entities."
            return answer(message, NothingToReprocess(message=message))
        ids = [job.id for job in result.jobs]
        message = _told(result)
        readable = f"{message}\nThe first is job {ids[0]}: get_job tells how far it is." if ids else message
        response = ReprocessResponse(
            message=message, job_id=ids[0] if ids else None, job_ids=ids, waiting=result.waiting, left=result.left
        )
        return answer(readable, response)


def _told(result: Reprocessing) -> str:
    queued = f"Queued {_memories(len(result.jobs))} for entity extraction" if result.jobs else "Nothing new to queue"
    waiting = f"already queued: {_memories(result.waiting)}" if result.waiting else ""
    left = f"{result.left:,} more {'is' if result.left == 1 else 'are'} left for another call" if result.left else ""
    return "; ".join(filter(None, [queued, waiting, left])) + "."


def _listed(memories: Sequence[UnextractedMemory], count: int) -> dict[str, Any]:
    message = f"Not read for entities: {_memories(count)}." if count else "Every memory has been read for entities."
    lines = [f"{one.memory_id} · {one.created_at.date().isoformat()} · {one.text_preview}" for one in memories]
    listed = [UnreadMemoryResponse.model_validate(asdict(one)) for one in memories]
    return answer("\n".join([message, *lines]), UnreadMemories(message=message, count=count, memories=listed))


def _memories(count: int) -> str:
    return counted(count, "memory", "memories")
