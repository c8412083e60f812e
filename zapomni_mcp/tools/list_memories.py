"""list_memories: what was kept, newest first."""

from typing import Any, ClassVar

from pydantic import BaseModel

from zapomni_core.memory.content import preview
from zapomni_core.responses import answer
from zapomni_db.records import Memory, Page
from zapomni_mcp.formatting import format_memory
from zapomni_mcp.schemas import ListedMemory, ListMemoriesRequest, ListMemoriesResponse
from zapomni_mcp.tools.memory_tool import MemoryTool


class ListMemoriesTool(MemoryTool[ListMemoriesRequest]):
    """Lists memories, newest first, in pages."""

    name = "list_memories"
    title = "Browse"
    description = (
        "List memories, newest first: what was stored lately, or everything that meets the filters. "
        "To answer a question, use search_memory."
    )
    input_schema: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "limit": {
                "type": "integer",
                "description": "Most memories.",
                "minimum": 1,
                "maximum": 100,
                "default": 20,
            },
            "filters": {"type": "object", "description": "As in search_memory."},
            "after": {"type": "string", "description": "For the next page: what this one ends with."},
        },
        "additionalProperties": False,
    }
    annotations: ClassVar[dict[str, bool]] = {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False}
    request = ListMemoriesRequest
    responses: ClassVar[tuple[type[BaseModel], ...]] = (ListMemoriesResponse,)

    async def _answer(self, request: ListMemoriesRequest) -> dict[str, Any]:
        page = await self.core_engine.list_memories(request.filters, after=request.after or "", limit=request.limit)
        headline = _headline(page, self.core_engine.workspace, filtered=bool(request.filters))
        response = ListMemoriesResponse(
            message=headline,
            count=len(page.memories),
            memories=[_listed(memory) for memory in page.memories],
            next_after=page.after or None,
        )
        following = [f'[next page: after="{page.after}" with the same filters]'] if page.after else []
        return answer("\n".join([headline, *map(format_memory, page.memories), *following]), response)


def _headline(page: Page, workspace: str, *, filtered: bool) -> str:
    where = f"{'that meet the filters ' * filtered}in workspace '{workspace}'"
    if not page.memories:
        return f"There are no memories {where}."
    return f"Memories {where}, newest first ({len(page.memories)} on this page):"


def _listed(memory: Memory) -> ListedMemory:
    return ListedMemory(
        memory_id=memory.id,
        text_preview=preview(memory.text),
        kind=memory.kind,
        tags=list(memory.tags),
        source=memory.source,
        author=memory.author,
        role=memory.role,
        timestamp=memory.timestamp or memory.created_at,
    )
