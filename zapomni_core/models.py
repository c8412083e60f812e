"""Results of the engine."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from zapomni_core.text.plural import counted
from zapomni_db.records import EmbedderIdentity, Job, JobCounts

if TYPE_CHECKING:
    from zapomni_core.http import ProviderFailure

Verdict = Literal["good", "weak", "nothing relevant"]


@dataclass(frozen=True, slots=True)
class MemoryResult:
    """A memory that was added, or that existed already; it is stored and can be found, whatever the status.

    With `degraded` and `queued` nothing was extracted from it, because of the `failure` if there was one; with `queued` the
    job does that. `not_embedded` says why it is found by its words only, until a job has made its vectors. `left_out` counts
    what a model named and the text does not show. `facts_moved` and `facts_dropped` are stated facts of the memory that it
    replaces. `similar` is another memory that says nearly the same.
    """

    memory_id: str
    chunks_created: int
    text_preview: str
    outcome: Literal["stored", "existing", "restored"] = "stored"
    replaced: str | None = None
    status: Literal["success", "degraded", "queued"] = "success"
    entities_extracted: int | None = None
    relationships_extracted: int | None = None
    job_id: str | None = None
    failure: "ProviderFailure | None" = None
    left_out: int = 0
    facts_moved: int = 0
    facts_dropped: int = 0
    similar: str | None = None
    not_embedded: str = ""

    @property
    def vectors_later(self) -> str:
        """That it has no vectors yet, in words; empty if it has."""
        reason = self.not_embedded.rstrip(".")
        return f"Found by its words only until its vectors are made: {reason}." if reason else ""

    @property
    def moved_facts(self) -> str:
        """The moved and dropped facts in words; empty if the replaced memory had none."""
        moved = f"{counted(self.facts_moved, 'fact')} moved to this version"
        dropped = counted(
            self.facts_dropped,
            "fact is no longer in its text and was left behind",
            "facts are no longer in its text and were left behind",
        )
        return "; ".join([moved] * (self.facts_moved > 0) + [dropped] * (self.facts_dropped > 0))


@dataclass(frozen=True, slots=True)
class UnextractedMemory:
    """A memory that was not extracted from."""

    memory_id: str
    text_preview: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Reprocessing:
    """Jobs that were queued to extract from memories, how many others wait already, and how many memories have no job yet."""

    jobs: Sequence[Job]
    waiting: int = 0
    left: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchHit:
    """A memory that was found, with its best chunk. `copies` are memories with the same text, which were left out."""

    memory_id: str
    text: str
    similarity_score: float
    why: tuple[str, ...]
    kind: str
    heading: str
    tags: tuple[str, ...]
    source: str
    author: str
    conversation: str
    timestamp: datetime | None
    created_at: datetime
    role: str = ""
    copies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """The hits, and how far they can be trusted. `degraded` says what was not searched, and why.

    `memories_searched` counts the memories that meet the filters, where there are any; None where the store does not say.
    `chunks_without_vector` are chunks, of those that meet the filters, that are found by their words only: a job will make
    their vectors.
    """

    hits: tuple[SearchHit, ...]
    confidence: float
    verdict: Verdict
    workspace: str
    memories_searched: int | None
    filtered: bool = False
    degraded: str | None = None
    chunks_without_vector: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class HostStats:
    """The state of the plugins around an engine, and counts of calls by tool."""

    plugins: tuple[Mapping[str, Any], ...] = ()
    calls: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineStats:
    """Counts and sizes of one workspace, and the state of store, embedder and language model.

    `store_warnings` say, a sentence each, how the store may lose what it acknowledged.
    """

    total_memories: int
    total_chunks: int
    deleted_memories: int
    superseded_memories: int
    database_size_mb: float
    graph_name: str
    store: str
    location: str
    embedder: EmbedderIdentity | None
    workspaces: tuple[str, ...]
    store_details: Mapping[str, Any] = field(default_factory=dict)
    store_warnings: tuple[str, ...] = ()
    avg_query_latency_ms: float | None = None
    jobs: JobCounts | None = None
    llm: Mapping[str, Any] | None = None
    unread_memories: int | None = None
    plugins: tuple[Mapping[str, Any], ...] = ()
    calls: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
