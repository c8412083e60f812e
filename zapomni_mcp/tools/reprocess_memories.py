"""reprocess_memories: read for entities what was stored while the language model was away."""

from typing import Any, ClassVar

from pydantic import BaseModel

from zapomni_mcp.schemas import NothingToReprocess, ReprocessRequest, ReprocessResponse
from zapomni_mcp.tools.answering import MemoryTool, answer


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
                "type": ["array", "null"],
                "items": {"type": "string", "minLength": 1},
                "maxItems": 1000,
                "description": "Only these.",
            },
            "limit": {
                "type": ["integer", "null"],
                "minimum": 1,
                "maximum": 1000,
                "default": 100,
                "description": "At most so many.",
            },
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
    responses: ClassVar[tuple[type[BaseModel], ...]] = (ReprocessResponse, NothingToReprocess)

    async def _answer(self, request: ReprocessRequest) -> dict[str, Any]:
        jobs, left = await self.core_engine.reprocess(request.memory_ids, request.limit)
        if not jobs:
            message = "Nothing to do: every memory has been read for entities."
            return answer(message, NothingToReprocess(message=message))
        more = f"; {left:,} more are left for another call" if left else ""
        message = f"Queued {len(jobs):,} memor{'y' if len(jobs) == 1 else 'ies'} for entity extraction{more}."
        ids = [job.id for job in jobs]
        readable = f"{message}\nThe first is job {ids[0]}: get_job tells how far it is."
        return answer(readable, ReprocessResponse(message=message, job_id=ids[0], job_ids=ids, left=left))
