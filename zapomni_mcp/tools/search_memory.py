"""search_memory: find what was kept."""

from itertools import accumulate
from typing import Any, ClassVar

from pydantic import BaseModel

from zapomni_core.models import SearchHit, SearchResult
from zapomni_core.responses import answer
from zapomni_mcp.formatting import format_kind, headline, short
from zapomni_mcp.schemas import SearchMemoryRequest, SearchMemoryResponse
from zapomni_mcp.schemas import SearchResult as FoundMemory
from zapomni_mcp.tools.memory_tool import ALWAYS_LOAD, MemoryTool

_LONGEST_HEADING = 28
_ROOM = 40
"""Characters for heading, tags and reasons of a hit."""


class SearchMemoryTool(MemoryTool[SearchMemoryRequest]):
    """Finds memories by words and by meaning, in any language."""

    name = "search_memory"
    title = "Recall"
    description = (
        "Search long-term memory by meaning and words, in any language. Call it before answering anything that may "
        "depend on earlier conversations, decisions or preferences; not for what is said in this one. A hit shows the best "
        "part of a memory; get_memory reads all of it."
    )
    input_schema: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "A question or key words.", "minLength": 1, "maxLength": 1000},
            "limit": {
                "type": "integer",
                "description": "Most memories.",
                "minimum": 1,
                "maximum": 100,
                "default": 10,
            },
            "filters": {
                "type": "object",
                "description": "tags (all), source, author, conversation, kind, date_from, date_to (ISO), or any metadata key; "
                "a list means any of its values, an object at least these keys.",
            },
            "max_tokens": {"type": "integer", "description": "Size of the answer.", "minimum": 1},
        },
        "required": ["query"],
        "additionalProperties": False,
    }
    annotations: ClassVar[dict[str, bool]] = {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False}
    instructions = "Call search_memory before answering what may depend on earlier conversations."
    meta: ClassVar[dict[str, Any]] = ALWAYS_LOAD
    request = SearchMemoryRequest
    responses: ClassVar[tuple[type[BaseModel], ...]] = (SearchMemoryResponse,)

    async def _answer(self, request: SearchMemoryRequest) -> dict[str, Any]:
        more = {} if request.max_tokens is None else {"max_tokens": request.max_tokens}
        result = await self.core_engine.search_memory(
            query=request.query, limit=request.limit, filters=request.filters, **more
        )
        return answer(_readable(result), _structured(result))


def _readable(result: SearchResult) -> str:
    parts = [headline(result), *(_hit(number, hit) for number, hit in enumerate(result.hits, start=1))]
    if result.degraded:
        parts.append(f"Note: {result.degraded}")
    return "\n\n".join(parts)


def _hit(number: int, hit: SearchHit) -> str:
    """A hit costs its text and about 40 tokens, of a session about 60."""
    date = (hit.timestamp or hit.created_at).date().isoformat()
    what, heading = format_kind(hit.kind, hit.role, hit.conversation), _heading(hit)
    tags = short(" ".join(f"#{tag}" for tag in hit.tags), _ROOM - len(heading))
    why = short(", ".join(hit.why), _ROOM - len(heading) - len(tags))
    copies = f"also {', '.join(hit.copies)}" if hit.copies else ""
    who = (short(hit.source, 28), short(hit.author, 18), tags)
    about = [hit.memory_id, date, what, *who, f"{hit.similarity_score:.2f}", why, copies]
    return f"[{number}] {' · '.join(part for part in about if part)}\n{heading}{hit.text.strip()}"


def _heading(hit: SearchHit) -> str:
    """The headings above a hit that its text does not show; only the nearest where there is no room for all."""
    shown = {line.lstrip("#").strip() for line in hit.text.splitlines() if line.startswith("#")}
    parts = [part for part in hit.heading.split(" > ") if part not in shown]
    while len(parts) > 1 and len(" > ".join(parts)) > _LONGEST_HEADING:
        parts = parts[1:]
    return f"{short(' > '.join(parts), _LONGEST_HEADING)}: " if any(parts) else ""


def _structured(result: SearchResult) -> SearchMemoryResponse:
    return SearchMemoryResponse(
        status="degraded" if result.degraded else "success",
        message=result.degraded or headline(result).rstrip(":"),
        count=len(result.hits),
        confidence=round(result.confidence, 2),
        verdict=result.verdict,
        results=[_structured_hit(hit) for hit in result.hits],
    )


def _structured_hit(hit: SearchHit) -> FoundMemory:
    return FoundMemory(
        memory_id=hit.memory_id,
        text=hit.text,
        similarity_score=round(hit.similarity_score, 2),
        why=_reasons(hit),
        kind=hit.kind,
        heading=hit.heading,
        tags=list(hit.tags),
        source=hit.source,
        author=hit.author,
        conversation=hit.conversation if hit.kind == "message" else "",
        role=hit.role,
        copies=list(hit.copies),
        timestamp=hit.timestamp or hit.created_at,
    )


def _reasons(hit: SearchHit) -> list[str]:
    """Why a hit was found, as far as the readable answer has room for it."""
    room = accumulate(len(reason) + 2 for reason in hit.why)
    return [reason for reason, used in zip(hit.why, room, strict=True) if used <= _ROOM]
