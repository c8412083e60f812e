"""get_memory: a whole memory, in pages."""

import json
import textwrap
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from pydantic import BaseModel

from zapomni_core.responses import answer
from zapomni_core.text.plural import counted
from zapomni_db.records import Event, Memory
from zapomni_mcp.formatting import format_kind
from zapomni_mcp.schemas import GetMemoryRequest, GetMemoryResponse
from zapomni_mcp.tools.memory_tool import MemoryTool

_LONGEST_VALUE = 120
_MOST_METADATA = 600
"""Characters of metadata in the readable answer: of each entry, and of all."""


class GetMemoryTool(MemoryTool[GetMemoryRequest]):
    """Opens a memory by its ID: the whole text in pages, metadata, and what became of it."""

    name = "get_memory"
    title = "Open a memory"
    description = "Read a whole memory by its ID: text (in pages), metadata, what it replaces or was replaced by."
    input_schema: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "memory_id": {"type": "string", "description": "ID from a search hit.", "minLength": 1},
            "offset": {"type": "integer", "description": "First character.", "minimum": 0, "default": 0},
            "max_chars": {"type": "integer", "description": "Page size.", "minimum": 1, "default": 8000},
        },
        "required": ["memory_id"],
        "additionalProperties": False,
    }
    annotations: ClassVar[dict[str, bool]] = {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False}
    request = GetMemoryRequest
    responses: ClassVar[tuple[type[BaseModel], ...]] = (GetMemoryResponse,)

    async def _answer(self, request: GetMemoryRequest) -> dict[str, Any]:
        memory = await self.core_engine.get_memory(request.memory_id)
        added_by = _added_by(await self.core_engine.history(memory.id))
        about = _about(memory, added_by)
        page = memory.text[request.offset : request.offset + request.max_chars]
        end = request.offset + len(page)
        following = end if end < len(memory.text) else None
        response = GetMemoryResponse(
            message=_place(request.offset, end, len(memory.text)),
            episode_id=memory.id,
            memory_id=memory.id,
            text=page,
            kind=memory.kind,
            conversation=memory.conversation if memory.kind == "message" else "",
            role=memory.role,
            offset=request.offset,
            total_chars=len(memory.text),
            next_offset=following,
            metadata=dict(memory.metadata),
            created_at=memory.created_at,
            added_by=added_by,
            deleted_at=memory.deleted_at,
            replaces=list(memory.replaces),
            replaced_by=memory.replaced_by,
        )
        parts = [about, page] if page else [about]
        if following is not None or not page:
            parts.append(f"[{response.message}]")
        return answer("\n\n".join(parts), response)


def _place(begin: int, end: int, total: int) -> str:
    """The part of the text that a page shows."""
    if begin >= total:
        return f"offset {begin:,} is past the end: the text has {counted(total, 'character')}"
    if end < total:
        return f"characters {begin:,} to {end:,} of {total:,}; next: offset={end}"
    return f"from character {begin:,} to the end" if begin else "the whole text"


def _others(metadata: Mapping[str, Any]) -> list[str]:
    """The rest of the metadata, in short, as far as there is room; the structured answer has all of it."""
    rest = [(key, value) for key, value in metadata.items() if key not in ("source", "author", "tags")]
    lines: list[str] = []
    for key, value in rest:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        lines.append(_short(f"{key} {text}"))
        if sum(map(len, lines)) > _MOST_METADATA:
            break
    left = len(rest) - len(lines)
    return [*lines, f"and {left:,} more in metadata"] if left else lines


def _short(entry: str) -> str:
    """An entry on one line, as far as there is room for it."""
    return textwrap.shorten(entry[: 2 * _LONGEST_VALUE], _LONGEST_VALUE, placeholder="…")


def _added_by(history: Iterable[Event]) -> str:
    """The client or command that added a memory; empty where that is not known."""
    return next((event.by for event in history if event.what == "added"), "")


def _about(memory: Memory, added_by: str) -> str:
    what = format_kind(memory.kind, memory.role, memory.conversation)
    stored = f"stored {memory.created_at.date().isoformat()}" + (f" by {added_by}" if added_by else "")
    parts = [f"Memory {memory.id}", _short(stored), *([what] if what else [])]
    named = (("source", memory.source), ("author", memory.author), ("tags", ", ".join(memory.tags)))
    parts += [_short(f"{key} {value}") for key, value in named if value]
    parts += _others(memory.metadata)
    if memory.deleted_at:
        parts.append("deleted; restore_memory brings it back")
    if memory.replaced_by:
        parts.append(f"replaced by {memory.replaced_by}")
    if memory.replaces:
        parts.append(f"replaces {', '.join(memory.replaces)}")
    return " · ".join(parts)
