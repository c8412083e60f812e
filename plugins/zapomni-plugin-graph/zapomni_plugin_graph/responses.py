"""The structured answers of the graph tools, beside the readable text."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, SkipValidation, TypeAdapter, WithJsonSchema

from zapomni_core.plugin import DegradedResponse, Entity, Evidence, Job, QueuedResponse, Relation, SuccessResponse

Basis = Literal["stated", "pattern", "mention"]

MOST_EVIDENCE = 3


class EntityAnswer(BaseModel):
    """Something that memories speak of."""

    entity_id: str
    name: str
    type: str
    mentions: int = Field(description="How many places name it.")
    memories: int = Field(description="How many memories name it.")

    @classmethod
    def of(cls, entity: Entity) -> "EntityAnswer":
        return cls(
            entity_id=entity.id, name=entity.name, type=entity.type, mentions=entity.mentions, memories=entity.memories
        )


class EntityFound(EntityAnswer):
    """An entity that a search found."""

    score: float = Field(ge=0, le=1)

    @classmethod
    def scored(cls, entity: Entity, score: float) -> "EntityFound":
        return cls(**EntityAnswer.of(entity).model_dump(), score=round(min(max(score, 0.0), 1.0), 4))


STEP_SCHEMA = {
    "type": "object",
    "description": "distance (in steps), subject, type, object, basis (stated, pattern, or mention: only named together), "
    "learned_at, valid_from, valid_until, superseded_at (times, where there is one), "
    f"evidence (the newest {MOST_EVIDENCE} at most: memory_id, quote).",
    "required": ["distance", "subject", "type", "object", "basis", "evidence"],
}
"""Plain on purpose: every answer is checked against its schema, and an answer may have hundreds of steps."""
_moment = TypeAdapter(datetime).serializer.to_python  # as in all answers, at a third of the cost of `isoformat`


def step_record(distance: int, relation: Relation) -> dict[str, Any]:
    """One step in the graph as JSON, with the memories that say it."""
    _, subject, kind, target, valid_from, valid_until, learned_at, _, superseded_at, evidence = relation
    step = {
        "distance": distance,
        "subject": subject.name,
        "type": kind,
        "object": target.name,
        "basis": evidence[0].basis if len(evidence) == 1 else _best_basis(evidence),
        "learned_at": _moment(learned_at, mode="json"),
        "evidence": [{"memory_id": one.memory_id, "quote": one.quote} for one in evidence[:MOST_EVIDENCE]],
    }
    if valid_from:
        step["valid_from"] = _moment(valid_from, mode="json")
    if valid_until:
        step["valid_until"] = _moment(valid_until, mode="json")
    if superseded_at:
        step["superseded_at"] = _moment(superseded_at, mode="json")
    return step


def _best_basis(evidence: Sequence[Evidence]) -> Basis:
    found = {one.basis for one in evidence}
    return "stated" if "stated" in found else "pattern" if "pattern" in found else "mention"


class GetRelatedResponse(SuccessResponse):
    """What is around an entity or a memory."""

    about: list[EntityAnswer] = Field(description="Where the steps begin.")
    count: int = Field(ge=0)
    truncated: bool = Field(default=False, description="Whether there are more than `limit`.")
    relations: SkipValidation[list[Annotated[dict[str, Any], WithJsonSchema(STEP_SCHEMA)]]] = Field(
        description="The nearest first, then those with most evidence."
    )


def record_of(response: BaseModel) -> dict[str, Any]:
    """A response as JSON. Steps are JSON already, and may be hundreds: they are neither checked nor copied here."""
    if isinstance(response, GetRelatedResponse):
        return response.model_dump(mode="json", exclude={"relations"}) | {"relations": response.relations}
    return response.model_dump(mode="json")


class SearchNodesResponse(SuccessResponse):
    """Entities by words and by meaning, best first."""

    count: int = Field(ge=0)
    likely: bool = Field(description="Whether any of them is probably meant.")
    entities: list[EntityFound]


class SearchNodesByWordsResponse(DegradedResponse):
    """Entities by words alone: the embedder failed."""

    count: int = Field(ge=0)
    likely: bool = Field(description="Whether any of them is probably meant.")
    entities: list[EntityFound]


class _Graph(BaseModel):
    entities: int = Field(ge=0)
    relations: int = Field(ge=0)
    extractor: str = Field(description="Who reads the memories.")
    memories_unread: int = Field(ge=0, description="How many memories it has not read.")


class BuildGraphResponse(_Graph, SuccessResponse):
    """All that was asked for is in the graph."""

    job_id: str
    memories_read: int = Field(ge=0, description="How many were read by this call.")


class BuildGraphInPartResponse(_Graph, DegradedResponse):
    """Some of it is in the graph; the message says what is missing."""

    job_id: str
    memories_read: int = Field(ge=0, description="How many were read by this call.")


class BuildGraphQueuedResponse(QueuedResponse):
    """The work goes on in the background."""

    progress: float | None = Field(default=None, ge=0, le=1)


class JobAnswer(BaseModel):
    """The job that builds the graph, or has failed to."""

    job_id: str
    state: Literal["queued", "running", "done", "failed"]
    progress: float | None = Field(default=None, ge=0, le=1)
    message: str = ""

    @classmethod
    def of(cls, job: Job) -> "JobAnswer":
        return cls(job_id=job.id, state=job.state, progress=job.progress, message=job.message)


class GraphStatusResponse(_Graph, SuccessResponse):
    """How much graph there is, and what to do next."""

    superseded: int = Field(ge=0, description="Relations that a later one took the place of.")
    memories_read: int = Field(ge=0)
    job: JobAnswer | None = None
    next_step: str
