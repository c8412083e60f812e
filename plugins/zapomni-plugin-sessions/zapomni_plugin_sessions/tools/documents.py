"""store_document, temporal_query: documents, and those of a time."""

from typing import Any

from pydantic import BaseModel

from zapomni_core.plugin import counted
from zapomni_plugin_sessions.arguments import end_of, start_of
from zapomni_plugin_sessions.formatting import format_document
from zapomni_plugin_sessions.responses import DocumentAnswer, DocumentsFound, DocumentStored
from zapomni_plugin_sessions.tool import FILTERS, METADATA, READS, WRITES, SessionsTool, vector_schema

MOST_DOCUMENTS = 100


class StoreDocumentTool(SessionsTool):
    """Keeps a document, with a vector of the caller's own where there is one."""

    name = "store_document"
    title = "Keep a document"
    description = "Keep a document; search_memory and semantic_search find it."
    annotations = WRITES
    required = ("content",)
    responses = (DocumentStored,)

    def properties(self) -> dict[str, Any]:
        return {
            "content": {"type": "string", "description": "Its text.", "minLength": 1},
            "metadata": METADATA,
            "embedding": vector_schema(self.dimension),
        }

    async def answer(
        self, content: str, metadata: dict[str, Any] | None = None, embedding: list[float] | None = None
    ) -> tuple[str, BaseModel]:
        stored = str(await self.manager.store_document(content, metadata, embedding))
        message = f"Document {stored} stored."
        return message, DocumentStored(message=message, episode_id=stored, document_id=stored)


class TemporalQueryTool(SessionsTool):
    """Lists the documents that were stored from one moment to another."""

    name = "temporal_query"
    title = "Documents of a time"
    description = "Documents that were stored between two dates, newest first."
    annotations = READS
    required = ("start_date", "end_date")
    responses = (DocumentsFound,)

    def properties(self) -> dict[str, Any]:
        most = {"minimum": 1, "maximum": MOST_DOCUMENTS, "default": 20}
        return {
            "start_date": {"type": "string", "description": "ISO 8601, UTC by default."},
            "end_date": {"type": "string", "description": "Included."},
            "metadata_filters": FILTERS,
            "limit": {"type": "integer", "description": "Most documents.", **most},
        }

    async def answer(
        self, start_date: str, end_date: str, metadata_filters: dict[str, Any] | None = None, limit: int = 20
    ) -> tuple[str, BaseModel]:
        start, end = start_of("start_date", start_date), end_of("end_date", end_date)
        found = await self.manager.temporal_query(start, end, metadata_filters, limit=limit + 1)
        documents = [DocumentAnswer.of(one) for one in found[:limit]]
        headline = _headline(len(documents), more=len(found) > limit)
        response = DocumentsFound(message=headline, count=len(documents), documents=documents)
        return "\n\n".join([headline, *map(format_document, range(1, limit + 1), documents)]), response


def _headline(count: int, *, more: bool) -> str:
    if not count:
        return "No documents of that time that meet the request."
    if more:
        return f"The newest {counted(count, 'document')} of that time; there are more, an earlier end_date has them:"
    return f"{counted(count, 'document')} of that time:"
