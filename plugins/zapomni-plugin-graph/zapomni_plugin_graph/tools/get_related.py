"""get_related: what is known about an entity, or about what a memory speaks of."""

import re
from collections.abc import Iterator
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, Field

from zapomni_core.plugin import ErrorResponse, InvalidInputError, MemoryEngine, counted
from zapomni_core.plugin.graph import MENTIONED_WITH, Entity, Relation
from zapomni_plugin_graph.formatting import (
    entity_text,
    fact_line,
    mentioned_line,
    not_extracted,
    short,
)
from zapomni_plugin_graph.responses import EntityAnswer, GetRelatedResponse, Mentioned, fact_with_evidence
from zapomni_plugin_graph.tool import READS, GraphTool, Moment, Request, live_memory

DEEPEST = 3
MOST = 200
MOST_STARTS = 50
NEAREST = 5
MOST_TYPES = 20
MOST_MENTIONED = 5

Found = list[tuple[int, Relation]]


class GetRelatedRequest(Request):
    """Arguments of get_related."""

    entity: str = Field("", max_length=1000)
    memory_id: str = ""
    depth: int = Field(1, ge=1, le=DEEPEST)
    direction: Literal["out", "in", "both"] = "both"
    types: list[str] = Field(default_factory=list, max_length=20)
    limit: int = Field(20, ge=1, le=MOST)
    at: Moment | None = None
    ended: bool = False


class GetRelatedTool(GraphTool[GetRelatedRequest]):
    """Walks along facts, and quotes the evidence of each."""

    name = "get_related"
    title = "What is related"
    description = (
        "What is known about an entity (person, project, file...), or about what a memory speaks of: "
        "facts with dates and evidence. Give entity or memory_id."
    )
    input_schema: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "entity": {"type": "string", "description": "Its name or ID.", "maxLength": 1000},
            "memory_id": {"type": "string", "description": "ID of a memory."},
            "depth": {"type": "integer", "description": "Steps.", "minimum": 1, "maximum": DEEPEST, "default": 1},
            "direction": {
                "type": "string",
                "enum": ["out", "in", "both"],
                "description": "Of the facts.",
                "default": "both",
            },
            "types": {
                "type": "array",
                "items": {"type": "string"},
                "maxItems": 20,
                "description": f"Only these relations, such as works_at or {MENTIONED_WITH}.",
            },
            "limit": {"type": "integer", "description": "Most facts.", "minimum": 1, "maximum": MOST, "default": 20},
            "at": {"type": "string", "description": "What was true then: ISO date."},
            "ended": {"type": "boolean", "description": "Also what is over.", "default": False},
        },
        "additionalProperties": False,
    }
    annotations: ClassVar[dict[str, bool]] = READS
    request = GetRelatedRequest
    responses = (GetRelatedResponse,)

    async def _answer(self, request: GetRelatedRequest) -> tuple[str, BaseModel]:
        if bool(request.entity.strip()) == bool(request.memory_id.strip()):
            raise InvalidInputError("give either entity or memory_id")
        names = [request.entity] if request.entity else await self._mentioned(request.memory_id)
        # One more than asked for, to see whether there are more.
        starts, found = await self.engine.graph.related(
            self.engine.workspace,
            names,
            depth=request.depth,
            direction=request.direction,
            types=[form for one in request.types for form in dict.fromkeys((one, _as_relation(one)))],
            at=request.at,
            ended=request.ended,
            limit=request.limit + 1,
        )
        if not starts and request.entity:
            return await self._unknown(request.entity)
        found, is_more = found[: request.limit], len(found) > request.limit
        others = [] if request.types or request.at else await mentioned_with(self.engine, starts)
        headline = _headline(len(found), starts, request, is_more=is_more)
        if starts and not found:
            headline += await self._other_relations(starts)
        response = GetRelatedResponse(
            message=headline,
            episode_id=request.memory_id or None,
            about=[EntityAnswer.of(one) for one in starts],
            count=len(found),
            truncated=is_more,
            facts=[fact_with_evidence(one) | {"distance": distance} for distance, one in found],
            mentioned_with=[Mentioned(name=name, memories=count) for name, count in others],
        )
        lines = [headline, *_lines(found, request.depth), *([mentioned_line(others)] if others else [])]
        return "\n".join(lines), response

    async def _mentioned(self, memory_id: str) -> list[str]:
        """The ids of the entities that a memory speaks of."""
        entities = await self.engine.graph.entities_of(self.engine.workspace, memory_id)
        if not entities:
            await live_memory(self.engine, memory_id)
        return [one.id for one in entities[:MOST_STARTS]]

    async def _other_relations(self, starts: list[Entity]) -> str:
        """The relations that there are where none meets the request, over or not."""
        ids = [one.id for one in starts]
        _, found = await self.engine.graph.related(self.engine.workspace, ids, ended=True, limit=MOST)
        types = sorted({relation.type for _, relation in found})
        return f" There are others, current or over: {', '.join(types[:MOST_TYPES])}." if types else ""

    async def _unknown(self, name: str) -> tuple[str, BaseModel]:
        message = f"There is no entity '{short(name, 60)}' in the graph."
        suggestion = " ".join([*await hints(self.engine, name), "search_memory finds memories by meaning."])
        response = ErrorResponse(
            message=message,
            error_type="not_found",
            error_code="ENTITY_NOT_FOUND",
            status_code=404,
            recoverable=True,
            suggestion=suggestion,
        )
        return f"{message} {suggestion}", response


async def mentioned_with(engine: MemoryEngine, starts: list[Entity]) -> list[tuple[str, int]]:
    """The entities that most memories mention together with these, each with the number of memories."""
    ids = {one.id for one in starts}
    if not ids:
        return []
    # Each pair may be there in both orders; those among the entities themselves are left out.
    most = 2 * MOST_MENTIONED + len(ids) * (len(ids) - 1)
    _, found = await engine.graph.related(engine.workspace, list(ids), types=[MENTIONED_WITH], limit=most)
    memories: dict[str, set[str]] = {}
    for _, relation in found:
        for other in (relation.subject, relation.object):
            if other.id not in ids:
                memories.setdefault(other.name, set()).update(one.memory_id for one in relation.evidence)
    most_often = sorted(memories.items(), key=lambda other: -len(other[1]))[:MOST_MENTIONED]
    return [(name, len(in_memories)) for name, in_memories in most_often]


async def hints(engine: MemoryEngine, name: str) -> list[str]:
    """Hints for an entity that is not there: similar names, and memories that were not extracted from."""
    near = await engine.graph.find(engine.workspace, name, NEAREST)
    _, unread = await engine.graph.unread(engine.workspace, engine.extractor_name, 1)
    return [
        *([f"Similar names: {', '.join(short(one.name, 60) for one, _ in near)}."] if near else []),
        *([not_extracted(unread)] if unread else []),
    ]


def _as_relation(words: str) -> str:
    """A relation as the store writes it: `Lives in` is `lives_in`."""
    return re.sub(r"[\W_]+", "_", words).strip("_").lower()


def _headline(count: int, starts: list[Entity], request: GetRelatedRequest, *, is_more: bool) -> str:
    if not starts:
        return f"No entity is known in memory {request.memory_id}; add_facts states what it says, build_graph extracts names."
    about = ", ".join(map(entity_text, starts[:NEAREST])) + (", …" if len(starts) > NEAREST else "")
    if not count:
        is_all = not (request.types or request.at or request.ended or request.direction != "both")
        return f"No current facts about {about}." if is_all else f"No facts about {about} that meet the request."
    if is_more:
        return f"The first {counted(count, 'fact', 'facts')} about {about}; there are more (limit {request.limit}):"
    return f"{counted(count, 'fact', 'facts')} about {about}:"


def _lines(found: Found, depth: int) -> Iterator[str]:
    last = 0
    for distance, relation in found:
        if depth > 1 and distance != last:
            last = distance
            yield f"{counted(distance, 'step', 'steps')} away:"
        yield fact_line(relation)
