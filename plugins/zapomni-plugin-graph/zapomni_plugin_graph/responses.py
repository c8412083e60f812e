"""The structured answers of the graph tools, beside the readable text."""

from datetime import UTC, datetime, time
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, SkipValidation, WithJsonSchema

from zapomni_core.plugin import DegradedResponse, QueuedResponse, SuccessResponse
from zapomni_core.plugin.graph import Entity, Relation
from zapomni_core.plugin.jobs import Job

SHOWN_EVIDENCE = 3
MIDNIGHT = time()

FACT_SCHEMA = {
    "type": "object",
    "description": "subject, relation, object; since, until, ended_by (a memory ID) where there is one; "
    "basis (stated, extracted or mention), evidence (the newest: memory_id, quote), distance (in steps).",
    "required": ["subject", "relation", "object"],
}
"""Plain on purpose: every answer is checked against its schema, and an answer may have hundreds of facts."""

Fact = Annotated[dict[str, Any], WithJsonSchema(FACT_SCHEMA)]


def fact_record(relation: Relation) -> dict[str, Any]:
    """A fact as JSON, without its evidence."""
    record: dict[str, Any] = {
        "subject": relation.subject.name,
        "relation": relation.type,
        "object": relation.object.name,
    }
    if relation.valid_from:
        record["since"] = moment_text(relation.valid_from)
    if relation.valid_until:
        record["until"] = moment_text(relation.valid_until)
    if relation.ended_by:
        record["ended_by"] = relation.ended_by
    return record


def fact_with_evidence(relation: Relation) -> dict[str, Any]:
    """A fact as JSON, with how it is known."""
    evidence = [{"memory_id": one.memory_id, "quote": one.quote} for one in relation.evidence[:SHOWN_EVIDENCE]]
    return fact_record(relation) | {"basis": basis_of(relation), "evidence": evidence}


def basis_of(relation: Relation) -> str:
    """The best of how a relation is known."""
    found = {one.basis for one in relation.evidence}
    return "stated" if "stated" in found else "extracted" if "extracted" in found else "mention"


def moment_text(moment: datetime) -> str:
    """A moment in ISO 8601: a date where it is the first moment of a day, else to the second."""
    moment = moment.astimezone(UTC)
    if moment.time() == MIDNIGHT:
        return moment.date().isoformat()
    return moment.replace(microsecond=0, tzinfo=None).isoformat() + "Z"


class AddFactsResponse(SuccessResponse):
    """The outcome of stating facts."""

    memory_id: str
    new: int = Field(ge=0)
    known: int = Field(ge=0)
    ended: int = Field(ge=0)
    also_current: SkipValidation[list[Fact]] = Field(
        default_factory=list,
        description="Other current facts with the same subject and relation.",
    )


class EntityAnswer(BaseModel):
    """An entity of the graph."""

    entity_id: str
    name: str
    type: str
    memories: int = Field(description="How many memories name it.")

    @classmethod
    def of(cls, entity: Entity) -> "EntityAnswer":
        return cls(entity_id=entity.id, name=entity.name, type=entity.type, memories=entity.memories)


class EntityFound(EntityAnswer):
    """An entity that a search found."""

    score: float = Field(ge=0, le=1)

    @classmethod
    def scored(cls, entity: Entity, score: float) -> "EntityFound":
        return cls(**EntityAnswer.of(entity).model_dump(), score=round(min(max(score, 0.0), 1.0), 2))


class Mentioned(BaseModel):
    """An entity that is mentioned together with another, in how many memories (10: or more)."""

    name: str
    memories: int


class GetRelatedResponse(SuccessResponse):
    """The facts about an entity, or about the entities of a memory."""

    about: list[EntityAnswer] = Field(description="Where the steps begin.")
    count: int = Field(ge=0)
    truncated: bool = Field(default=False, description="Whether there are more facts than `limit`.")
    facts: SkipValidation[list[Fact]] = Field(description="The nearest first, then those with most evidence.")
    mentioned_with: list[Mentioned] = Field(default_factory=list)


class SearchNodesResponse(SuccessResponse):
    """Entities by the words of their names, best first."""

    count: int = Field(ge=0)
    entities: list[EntityFound]


class _Graph(BaseModel):
    entities: int = Field(ge=0)
    facts: int = Field(ge=0, description="Current facts.")
    ended: int = Field(ge=0, description="Facts that are over.")
    extractor: str = Field(description="What extracts entities from memories.")
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
    """The job that builds the graph, or that failed to."""

    job_id: str
    state: Literal["queued", "running", "done", "failed"]
    progress: float | None = Field(default=None, ge=0, le=1)
    message: str = ""

    @classmethod
    def of(cls, job: Job) -> "JobAnswer":
        return cls(job_id=job.id, state=job.state, progress=job.progress, message=job.message)


class GraphStatusResponse(_Graph, SuccessResponse):
    """The size of the graph, and the next step."""

    together: int = Field(ge=0, description="Pairs of entities that are mentioned together.")
    memories_read: int = Field(ge=0)
    job: JobAnswer | None = None
    next_step: str
