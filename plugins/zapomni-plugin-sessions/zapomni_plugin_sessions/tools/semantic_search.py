"""semantic_search: documents by a text, or by a vector of the caller's own."""

from dataclasses import replace
from typing import Any

from pydantic import BaseModel

from zapomni_core.plugin import InvalidInputError, counted
from zapomni_core.plugin.stores import parse_metadata_filter
from zapomni_plugin_sessions.formatting import format_document
from zapomni_plugin_sessions.responses import DocumentAnswer, DocumentsFound, DocumentsFoundInPart
from zapomni_plugin_sessions.tool import FILTERS, READS, SessionsTool, vector_schema

MOST = 100


class SemanticSearchTool(SessionsTool):
    """Finds documents: by a text like `search_memory`, by a vector among those that were stored with one."""

    name = "semantic_search"
    title = "Find documents"
    description = (
        "Find documents by meaning: give query (text), or query_embedding to compare with the vectors that documents "
        "were stored with."
    )
    annotations = READS
    responses = (DocumentsFound, DocumentsFoundInPart)

    def properties(self) -> dict[str, Any]:
        return {
            "query": {"type": "string", "description": "A question or key words.", "maxLength": 1000},
            "query_embedding": vector_schema(self.dimension),
            "top_k": {
                "type": "integer",
                "description": "Most documents.",
                "minimum": 1,
                "maximum": MOST,
                "default": 10,
            },
            "metadata_filters": FILTERS,
        }

    async def answer(
        self,
        query: str = "",
        query_embedding: list[float] | None = None,
        top_k: int = 10,
        metadata_filters: dict[str, Any] | None = None,
    ) -> tuple[str, BaseModel]:
        if bool(query.strip()) == (query_embedding is not None):
            raise InvalidInputError("give either query or query_embedding")
        if query_embedding is not None:
            return _told(await self._by_vector(query_embedding, top_k, metadata_filters), None)
        return _told(*await self._by_text(query, top_k, metadata_filters))

    async def _by_vector(
        self, vector: list[float], top_k: int, metadata_filters: dict[str, Any] | None
    ) -> list[DocumentAnswer]:
        found = await self.manager.nearest_documents(vector, top_k, metadata_filters)
        return [DocumentAnswer.of(one, round(cosine, 4)) for one, cosine in found]

    async def _by_text(
        self, query: str, top_k: int, metadata_filters: dict[str, Any] | None
    ) -> tuple[list[DocumentAnswer], str | None]:
        """Documents by what matched in them, and what could not be searched."""
        wanted = replace(parse_metadata_filter("metadata_filters", metadata_filters), kinds=("document",))
        result = await self.engine.search_memory(query, top_k, wanted)
        ids = [hit.memory_id for hit in result.hits]
        found = {one.id: one for one in await self.engine.sessions.documents(self.engine.workspace, ids)}
        answers = [
            DocumentAnswer.by_passage(found[hit.memory_id], hit.text, round(hit.similarity_score, 4))
            for hit in result.hits
            if hit.memory_id in found  # one may be deleted in between
        ]
        return answers, result.degraded


def _told(documents: list[DocumentAnswer], degraded: str | None) -> tuple[str, BaseModel]:
    headline = f"{counted(len(documents), 'document')}, the nearest first:" if documents else "No documents found."
    lines = [headline, *map(format_document, range(1, len(documents) + 1), documents)]
    if degraded is None:
        return "\n\n".join(lines), DocumentsFound(message=headline, count=len(documents), documents=documents)
    response = DocumentsFoundInPart(message=degraded, count=len(documents), documents=documents)
    return "\n\n".join([*lines, f"Note: {degraded}"]), response
