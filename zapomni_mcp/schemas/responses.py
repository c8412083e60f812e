"""The structured answers of the memory tools, beside the readable text."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field
from pydantic.json_schema import SkipJsonSchema

from zapomni_core.responses import DegradedResponse, Moment, QueuedResponse, SuccessResponse

_NoError = Annotated[str | None, SkipJsonSchema()]
"""Never there: an error is an answer of another kind."""


class _Kept(BaseModel):
    """A memory."""

    memory_id: str = Field(description="The memory's ID.")
    chunks_created: int = Field(ge=0, description="How many chunks it was cut into.")
    text_preview: str = Field(description="Its first 100 characters.")
    outcome: Literal["stored", "existing", "restored"] = Field(
        default="stored", description="New, there already, or brought back."
    )
    replaced: str | None = Field(default=None, description="The memory that this one corrects.")
    similar: str | None = Field(default=None, description="Another memory that says nearly the same.")
    error: _NoError = None


class AddMemoryResponse(_Kept, SuccessResponse):
    """A memory is kept, and can be found; `degraded` if it is found by its words only, until a job has made its vectors."""

    status: Literal["success", "degraded"] = "success"  # type: ignore[assignment]  # one schema for both: a client pays for each
    message: str = "Memory stored successfully."
    entities_extracted: int | None = Field(default=None, ge=0, description="How many entities were read in it.")
    relationships_extracted: int | None = Field(default=None, ge=0, description="How many relations were read in it.")


class AddMemoryDegraded(_Kept, DegradedResponse):
    """A memory is kept and can be found, but was not read for entities."""


class AddMemoryQueued(_Kept, QueuedResponse):
    """A memory is kept and can be found; a job reads it for entities."""


class ReprocessResponse(QueuedResponse):
    """Memories that jobs will read for entities."""

    job_ids: list[str] = Field(description="The receipts: what get_job asks for.")
    waiting: int = Field(ge=0, description="How many were queued before.")
    left: int = Field(ge=0, description="How many more memories have not been read and have no job.")


class NothingToReprocess(SuccessResponse):
    """There is nothing that was not read."""


class UnreadMemoryResponse(BaseModel):
    """A memory that was not read for entities."""

    memory_id: str
    text_preview: str
    created_at: Moment


class UnreadMemories(SuccessResponse):
    """Memories that were not read for entities, the oldest first."""

    count: int = Field(ge=0, description="How many there are in all.")
    memories: list[UnreadMemoryResponse]


class SearchResult(BaseModel):
    """A memory that was found, by its best chunk."""

    memory_id: str
    text: str
    similarity_score: float = Field(ge=0.0, le=1.0)
    why: list[str] = Field(
        default_factory=list, description="The query's words that it holds; meaning, conversation, author."
    )
    kind: str = "memory"
    heading: str = ""
    tags: list[str] = Field(default_factory=list)
    source: str = ""
    author: str = ""
    conversation: str = Field(default="", description="Of a message: its session.")
    role: str = ""
    timestamp: Moment | None = Field(default=None, description="When it was true, else when it was stored.")
    copies: list[str] = Field(default_factory=list, description="Ids of memories that say the same.")


class SearchMemoryResponse(BaseModel):
    """The hits, and how far they can be trusted."""

    status: Literal["success", "degraded"]
    message: str = ""
    episode_id: str | None = None
    processing_time_ms: float = Field(default=0.0, ge=0)
    count: int = Field(ge=0)
    confidence: float | None = Field(default=None, ge=0.0, le=1.0)
    verdict: Literal["good", "weak", "nothing relevant"] | None = None
    results: list[SearchResult]
    error: _NoError = None


class ListedMemory(BaseModel):
    """A memory in a list."""

    memory_id: str
    text_preview: str
    kind: str = "memory"
    tags: list[str] = Field(default_factory=list)
    source: str = ""
    author: str = ""
    role: str = ""
    timestamp: Moment = Field(description="When it was true, else when it was stored.")


class ListMemoriesResponse(SuccessResponse):
    """A page of memories, newest first."""

    count: int = Field(ge=0, description="How many there are on this page.")
    memories: list[ListedMemory]
    next_after: str | None = Field(default=None, description="Where the next page begins, unless it is the last.")


class Statistics(BaseModel):
    """The size and the state of the memory."""

    total_memories: int = Field(ge=0)
    total_chunks: int = Field(ge=0)
    database_size_mb: float = Field(ge=0.0)
    graph_name: str
    cache_hit_rate: Annotated[float | None, SkipJsonSchema()] = Field(
        default=None, ge=0.0, le=1.0, description="Never there: nothing is cached."
    )
    avg_query_latency_ms: float | None = Field(default=None, ge=0.0)
    deleted_memories: int = 0
    superseded_memories: int = 0
    store: str = Field(default="", description="What it is, and where.")
    embedder: str = ""
    jobs: dict[str, int] = Field(default_factory=dict, description="Jobs by state, if there ever was one.")
    llm: str = Field(default="", description="The language model, if one is asked.")
    unread_memories: int = Field(default=0, description="Not read for entities, if a model reads them.")
    degraded: list[str] = Field(default_factory=list, description="The parts that do not work, a sentence each.")


class GetStatsResponse(SuccessResponse):
    """Statistics about the memory."""

    message: str = ""
    statistics: Statistics
    error: _NoError = None


class GetJobResponse(SuccessResponse):
    """A job."""

    job_id: str
    kind: str
    state: Literal["queued", "running", "done", "failed"]
    attempts: int = Field(ge=0, description="How often it was begun.")
    progress: float | None = Field(default=None, ge=0.0, le=1.0)
    last_error: str | None = None
    next_at: Moment | None = Field(default=None, description="When it is tried next, if it waits.")
    result: dict[str, Any] | None = None


class GetMemoryResponse(SuccessResponse):
    """A page of a memory's text, and all that is known of it."""

    memory_id: str
    text: str
    kind: str = Field(default="memory", description="memory, message or document.")
    conversation: str = Field(default="", description="Its conversation; a message's session.")
    role: str = Field(default="", description="Who says a message.")
    offset: int = 0
    total_chars: int
    next_offset: int | None = Field(default=None, description="Where the next page begins, unless it is the last.")
    metadata: dict[str, Any] = Field(default_factory=dict)
    created_at: Moment
    added_by: str = Field(default="", description="The client or command that added it, if known.")
    deleted_at: Moment | None = None
    replaces: list[str] = Field(default_factory=list, description="The memories that this one corrects.")
    replaced_by: str | None = None


class DeleteMemoryResponse(SuccessResponse):
    """A memory that was deleted or restored."""

    memory_id: str
    text_preview: str
