"""get_related: what is around an entity or a memory."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, Field, field_validator

from zapomni_core.plugin import Entity, InvalidInputError, Relation, Surroundings
from zapomni_plugin_graph.answering import READS, GraphTool, Request, live_memory, not_found
from zapomni_plugin_graph.responses import EntityAnswer, GetRelatedResponse, step_record
from zapomni_plugin_graph.words import counted, entity_words, short, step_words, unread_words

DEEPEST = 3
MOST = 200
MOST_STARTS = 50
NEAREST = 5
MOST_TYPES = 20
FIRST_DAY = "-01-01"


class GetRelatedRequest(Request):
    """Arguments of get_related."""

    entity: str = Field("", max_length=500)
    memory_id: str = ""
    depth: int = Field(1, ge=1, le=DEEPEST)
    direction: Literal["out", "in", "both"] = "both"
    types: list[str] = Field(default_factory=list, max_length=20)
    limit: int = Field(20, ge=1, le=MOST)
    at: datetime | None = None
    include_superseded: bool = False

    @field_validator("at", mode="before")
    @classmethod
    def is_a_moment(cls, text: str) -> datetime:
        """A year or a month is its first moment, a moment without a zone one of UTC."""
        whole = text + FIRST_DAY[len(text) - len("2024") :] if re.fullmatch(r"\d{4}(-\d\d)?", text) else text
        try:
            moment = datetime.fromisoformat(whole)
        except ValueError:
            raise ValueError("at must be a date or a time in ISO 8601, such as 2024-05-31") from None
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


class GetRelatedTool(GraphTool[GetRelatedRequest]):
    """Walks along relations, and quotes the memory for each step."""

    name = "get_related"
    title = "What is related"
    description = (
        "How an entity (person, place, project, file...), or what a memory speaks of, is related to others; "
        "each step with the memory that says it. Give entity or memory_id."
    )
    input_schema: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "entity": {"type": ["string", "null"], "description": "Its name or ID.", "maxLength": 500},
            "memory_id": {"type": ["string", "null"], "description": "ID of a memory."},
            "depth": {"type": "integer", "description": "Steps.", "minimum": 1, "maximum": DEEPEST, "default": 1},
            "direction": {"enum": ["out", "in", "both"], "description": "Of the relations.", "default": "both"},
            "types": {
                "type": ["array", "null"],
                "items": {"type": "string"},
                "maxItems": 20,
                "description": "Only these, such as works_at.",
            },
            "limit": {"type": "integer", "description": "Most steps.", "minimum": 1, "maximum": MOST, "default": 20},
            "at": {"type": ["string", "null"], "description": "Only what was true then (ISO 8601)."},
            "include_superseded": {"type": "boolean", "description": "Also what is over.", "default": False},
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
        starts, found = await self._related(names, request)
        if not starts and request.entity:
            return await self._unknown(request.entity)
        found, is_more = found[: request.limit], len(found) > request.limit
        about = ", ".join(map(entity_words, starts[:NEAREST])) + (", …" if len(starts) > NEAREST else "")
        headline = _headline(len(found), about, request, is_more=is_more)
        if starts and not found:
            headline += await self._others(starts)
        steps = [step_record(distance, relation) for distance, relation in found]
        response = GetRelatedResponse(
            message=headline,
            episode_id=request.memory_id or None,
            about=[EntityAnswer.of(one) for one in starts],
            count=len(found),
            truncated=is_more,
            relations=steps,
        )
        return "\n".join([headline, *_lines(found, steps, request.depth)]), response

    async def _mentioned(self, memory_id: str) -> list[str]:
        """The ids of the entities that a memory speaks of."""
        entities = await self.engine.graph.entities_of(self.engine.workspace, memory_id)
        if not entities:
            await live_memory(self.engine, memory_id)
        return [one.id for one in entities[:MOST_STARTS]]

    async def _related(self, names: list[str], request: GetRelatedRequest) -> Surroundings:
        """As the store ranks them, and one more than was asked for, if there is one."""
        return await self.engine.graph.related(
            self.engine.workspace,
            names,
            depth=request.depth,
            direction=request.direction,
            types=[form for one in request.types for form in dict.fromkeys((one, _as_type(one)))],
            at=request.at,
            superseded=request.include_superseded,
            limit=request.limit + 1,
        )

    async def _others(self, starts: list[Entity]) -> str:
        """What there is where nothing meets the request: the types of all relations, over or not."""
        ids = [one.id for one in starts]
        _, found = await self.engine.graph.related(self.engine.workspace, ids, superseded=True, limit=MOST)
        types = sorted({relation.type for _, relation in found})
        return (
            f" There are relations of these types, some perhaps superseded: {', '.join(types[:MOST_TYPES])}."
            if types
            else ""
        )

    async def _unknown(self, name: str) -> tuple[str, BaseModel]:
        """Which names are near, and whether more may be known later."""
        workspace = self.engine.workspace
        near = await self.engine.graph.find(workspace, name, None, None, NEAREST)
        _, unread = await self.engine.graph.unread(workspace, self.engine.extractor_name, 1)
        hints = [
            *([f"Near by name: {', '.join(short(one.name, 60) for one, _ in near)}."] if near else []),
            *([unread_words(unread)] if unread else []),
            "search_memory_nodes finds entities by meaning.",
        ]
        return not_found(f"There is no entity '{short(name, 60)}' in the graph.", " ".join(hints))


def _as_type(words: str) -> str:
    """A type as extractors write it: `Lives in` is `lives_in`."""
    return re.sub(r"[\W_]+", "_", words).strip("_").lower()


def _headline(count: int, about: str, request: GetRelatedRequest, *, is_more: bool) -> str:
    if not about:
        return (
            f"No entity was read in memory {request.memory_id}; if it is new, build_graph with its ID in memory_ids "
            "reads it."
        )
    if not count:
        return f"No relations of {about} that meet the request."
    if is_more:
        return (
            f"The first {counted(count, 'relation', 'relations')} of {about}; there are more (limit {request.limit}):"
        )
    return f"{counted(count, 'relation', 'relations')} of {about}:"


def _lines(found: list[tuple[int, Relation]], steps: list[dict[str, Any]], depth: int) -> Iterator[str]:
    last = 0
    for (distance, relation), step in zip(found, steps, strict=True):
        if depth > 1 and distance != last:
            yield f"{counted(distance, 'step', 'steps')} away:"
            last = distance
        yield step_words(relation, step["basis"])
