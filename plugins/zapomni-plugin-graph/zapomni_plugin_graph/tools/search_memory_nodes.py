"""search_memory_nodes: find entities by the words of their names."""

from typing import Any, ClassVar

from pydantic import BaseModel, Field

from zapomni_core.plugin import InvalidInputError, counted
from zapomni_plugin_graph.formatting import entity_text, not_extracted
from zapomni_plugin_graph.responses import EntityFound, SearchNodesResponse
from zapomni_plugin_graph.tool import READS, GraphTool, Request

MOST = 100
LEAST_OF_BEST = 0.5
"""Entities that score less than this part of the best are left out."""


class SearchMemoryNodesRequest(Request):
    """Arguments of search_memory_nodes."""

    query: str = Field(min_length=1, max_length=1000)
    limit: int = Field(10, ge=1, le=MOST)


class SearchMemoryNodesTool(GraphTool[SearchMemoryNodesRequest]):
    """Finds the entities that get_related can start from."""

    name = "search_memory_nodes"
    title = "Find entities"
    description = "Find people, projects, files and other entities of the graph by words of their names."
    input_schema: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "Words of a name.", "minLength": 1, "maxLength": 1000},
            "limit": {"type": "integer", "description": "Most entities.", "minimum": 1, "maximum": MOST, "default": 10},
        },
        "required": ["query"],
        "additionalProperties": False,
    }
    annotations: ClassVar[dict[str, bool]] = READS
    request = SearchMemoryNodesRequest
    responses = (SearchNodesResponse,)

    async def _answer(self, request: SearchMemoryNodesRequest) -> tuple[str, BaseModel]:
        if not request.query.strip():
            raise InvalidInputError("query cannot be empty or whitespace-only")
        found = await self.engine.graph.find(self.engine.workspace, request.query, request.limit)
        found = [(one, score) for one, score in found if score >= found[0][1] * LEAST_OF_BEST]
        headline = f"Found {counted(len(found), 'entity', 'entities')}:" if found else await self._nothing_found()
        lines = [f"{number}. {entity_text(one)}" for number, (one, _) in enumerate(found, start=1)]
        entities = [EntityFound.scored(entity, score) for entity, score in found]
        return "\n".join([headline, *lines]), SearchNodesResponse(message=headline, count=len(found), entities=entities)

    async def _nothing_found(self) -> str:
        """A hint where nothing was found: a memory may use other words, or may not be in the graph yet."""
        counts = await self.engine.graph.counts(self.engine.workspace)
        unread = counts.memories - counts.read.get(self.engine.extractor_name, 0)
        hint = f" {not_extracted(unread)}" if unread > 0 else ""
        return (
            f"No name of the {counted(counts.entities, 'entity', 'entities')} has these words.{hint} "
            "search_memory finds memories by meaning; get_related takes the memory_id of one."
        )
