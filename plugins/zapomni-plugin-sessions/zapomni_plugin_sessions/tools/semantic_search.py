"""semantic_search: documents by a text, or by a vector of the caller's own."""

import math
from collections.abc import Sequence
from operator import mul
from typing import Any

from pydantic import BaseModel

from zapomni_core.plugin import InvalidInputError
from zapomni_plugin_sessions.answering import FILTERS, READS, SessionsTool, vector_schema
from zapomni_plugin_sessions.responses import DocumentAnswer, DocumentsFound, DocumentsFoundInPart
from zapomni_plugin_sessions.words import counted, document_words

MOST = 100
ELSEWHERE = ("kind", "conversation", "date_from", "date_to")
"""Filters of `search_memory` that are no metadata."""


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
            "query": {"type": ["string", "null"], "description": "A question or key words.", "maxLength": 1000},
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
        return _told(*await self._by_text(query, top_k, metadata_filters or {}))

    async def _by_vector(
        self, vector: list[float], top_k: int, metadata_filters: dict[str, Any] | None
    ) -> list[DocumentAnswer]:
        found = await self.manager.semantic_search(vector, top_k, metadata_filters)
        return [DocumentAnswer.of(one, _cosine(vector, one.embedding or ())) for one in found]

    async def _by_text(
        self, query: str, top_k: int, metadata_filters: dict[str, Any]
    ) -> tuple[list[DocumentAnswer], str | None]:
        """Documents by what matched in them, and what could not be searched."""
        if taken := next((name for name in ELSEWHERE if name in metadata_filters), None):
            raise InvalidInputError(f"metadata_filters.{taken} is no metadata beside query; search_memory has it")
        try:
            result = await self.engine.search_memory(query, top_k, {**metadata_filters, "kind": "document"})
        except InvalidInputError as error:
            raise InvalidInputError(str(error).replace("filters.", "metadata_filters.", 1)) from None
        found = []
        for hit in result.hits:
            memory = await self.engine.get_memory(hit.memory_id)
            found.append(DocumentAnswer.by_passage(memory, hit.text, round(hit.similarity_score, 4)))
        return found, result.degraded


def _told(documents: list[DocumentAnswer], degraded: str | None) -> tuple[str, BaseModel]:
    headline = f"{counted(len(documents), 'document')}, the nearest first:" if documents else "No documents found."
    lines = [headline, *map(document_words, range(1, len(documents) + 1), documents)]
    if degraded is None:
        return "\n\n".join(lines), DocumentsFound(message=headline, count=len(documents), documents=documents)
    response = DocumentsFoundInPart(message=degraded, count=len(documents), documents=documents)
    return "\n\n".join([*lines, f"Note: {degraded}"]), response


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    lengths = math.hypot(*one) * math.hypot(*other)
    return round(sum(map(mul, one, other)) / lengths, 4) if lengths else 0.0
