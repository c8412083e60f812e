"""search_memory_nodes: find entities by words and by meaning."""

from typing import Any, ClassVar

from pydantic import BaseModel, Field

from zapomni_core.plugin import Entity, InvalidInputError
from zapomni_plugin_graph.answering import READS, GraphTool, Request
from zapomni_plugin_graph.responses import EntityFound, SearchNodesByWordsResponse, SearchNodesResponse
from zapomni_plugin_graph.vectors import find_by_meaning
from zapomni_plugin_graph.words import counted, entity_words, graph_words, unread_words

MOST = 100
LEAST_OF_BEST = 0.5
"""By meaning everything is a little like everything: what scores less than this part of the best is left out."""
LIKELY = 0.2
"""A name that scores less has no word of the question, and is no nearer to it by meaning than nonsense is."""
FEW = 3
WORDS_ALONE = "The embedder failed, so only words were searched, not meaning."


class SearchMemoryNodesRequest(Request):
    """Arguments of search_memory_nodes."""

    query: str = Field(min_length=1, max_length=1000)
    limit: int = Field(10, ge=1, le=MOST)


class SearchMemoryNodesTool(GraphTool[SearchMemoryNodesRequest]):
    """Finds the entities that get_related can start from."""

    name = "search_memory_nodes"
    title = "Find entities"
    description = "Find people, places, projects, files and other things that memories speak of, by name or meaning."
    input_schema: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "A name or key words.", "minLength": 1, "maxLength": 1000},
            "limit": {"type": "integer", "description": "Most entities.", "minimum": 1, "maximum": MOST, "default": 10},
        },
        "required": ["query"],
        "additionalProperties": False,
    }
    annotations: ClassVar[dict[str, bool]] = READS
    request = SearchMemoryNodesRequest
    responses = (SearchNodesResponse, SearchNodesByWordsResponse)

    async def _answer(self, request: SearchMemoryNodesRequest) -> tuple[str, BaseModel]:
        if not request.query.strip():
            raise InvalidInputError("query cannot be empty or whitespace-only")
        found, degraded = await self._find(request)
        found = [(one, score) for one, score in found if score >= found[0][1] * LEAST_OF_BEST]
        is_likely = bool(found) and found[0][1] >= LIKELY
        found = found if is_likely else found[:FEW]
        headline = await self._headline(len(found), is_likely=is_likely)
        entities = [EntityFound.scored(entity, score) for entity, score in found]
        lines = [f"{number}. {entity_words(one)} · {score:.2f}" for number, (one, score) in enumerate(found, start=1)]
        if degraded:
            message = f"{WORDS_ALONE} {headline}"
            by_words = SearchNodesByWordsResponse(
                message=message, count=len(found), likely=is_likely, entities=entities
            )
            return "\n".join([headline, *lines, f"Note: {WORDS_ALONE}"]), by_words
        response = SearchNodesResponse(message=headline, count=len(found), likely=is_likely, entities=entities)
        return "\n".join([headline, *lines]), response

    async def _find(self, request: SearchMemoryNodesRequest) -> tuple[list[tuple[Entity, float]], bool]:
        """Entities with their scores, and whether meaning had to be left out."""
        has_vectors = await self.engine.memories.embedder(self.engine.workspace) is not None
        found = await find_by_meaning(self.engine, request.query, request.limit) if has_vectors else None
        if found is not None:
            return found, False
        return await self.engine.graph.find(
            self.engine.workspace, request.query, None, None, request.limit
        ), has_vectors

    async def _headline(self, count: int, *, is_likely: bool) -> str:
        if count and is_likely:
            return f"Found {counted(count, 'entity', 'entities')}:"
        if count:
            return "Probably nothing: no name has these words, and none is near by meaning. The nearest:"
        counts = await self.engine.graph.counts(self.engine.workspace)
        unread = counts.memories - counts.read.get(self.engine.extractor_name, 0)
        hint = f" {unread_words(unread)}" if unread > 0 else ""
        return f"Nothing found: {graph_words(counts.entities, counts.relations).lower()}.{hint}"
