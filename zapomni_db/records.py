"""The records of a store: plain values, no behaviour."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from zapomni_db.filters import NO_FILTER, Filter

if TYPE_CHECKING:
    from zapomni_db.arrays import Vector

Basis = Literal["stated", "extracted", "mention"]
"""The source of a fact: stated by an agent, extracted by a language model, or only a mention of both in one sentence."""

JobState = Literal["queued", "running", "done", "failed"]
Direction = Literal["out", "in", "both"]
State = Literal["live", "deleted", "replaced", "all"]
Order = Literal["newest", "oldest", "inserted"]
What = Literal["added", "changed", "deleted", "restored", "replaced"]

MENTIONED_WITH = "mentioned_with"
"""The type of a relation of which nothing is known but that one sentence names both: a co-mention."""

STATED = "stated"
"""Stands as the extractor of what agents state. No extractor may have this name."""

LARGEST_NUMBER = 1e30
"""In a document's own vector: far from where single precision ends."""


@dataclass(frozen=True, slots=True)
class EmbedderIdentity:
    """Which embedder made the vectors of a store."""

    name: str
    model: str
    dimension: int


@dataclass(frozen=True, slots=True)
class VectorWeight:
    """The weight of the vectors of an embedder beside words; `cyrillic` says whether it holds for questions in Cyrillic too."""

    weight: float
    cyrillic: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class NewChunk:
    """A part of a memory's text, ready to be found: its place, its terms, its vector.

    `start` and `end` count characters of the memory's text. A chunk without a vector is found by its words, and pending
    for `VectorStore`.
    """

    start: int
    end: int
    heading: str
    terms: tuple[str, ...]
    vector: "Vector | None"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJob:
    """Work to be done later, by a worker that knows its kind. `payload` is JSON.

    While a job of the same workspace, kind and key waits or runs, it is that one; an empty key is like no other.
    """

    kind: str
    payload: Mapping[str, Any] = field(default_factory=dict)
    key: str = ""
    not_before: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEntity:
    """Something that a text speaks of, and where it names it: (start, end) in characters of the memory's text."""

    name: str
    type: str
    spans: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRelation:
    """A relation between two entities of a text, by their names; `start` to `end` is the quote that states it.

    `replaces` ends the other relations with the same subject and type when this one begins. `stated_at` is when an agent
    stated it; only in the extraction STATED of an `Origin`.
    """

    subject: str
    type: str
    object: str
    basis: Basis
    start: int
    end: int
    replaces: bool = False
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    stated_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFact:
    """A fact that an agent states, with a memory as its evidence.

    `subject` and `object` are names, or ids of entities. `relation` is a verb phrase of the agent's choosing, such as
    "works_at". `since` and `until` say when the fact was true, where that is known. `quote` is the part of the memory's text
    that says it. `replaces` ends the other current facts with the same subject and relation.
    """

    subject: str
    relation: str
    object: str
    subject_type: str = ""
    object_type: str = ""
    since: datetime | None = None
    until: datetime | None = None
    quote: str = ""
    replaces: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """The result of one extractor for one memory. Every relation's subject and object are among the entities.

    `left_out` counts what a model named and the text does not show; it is reported, and not stored.
    """

    extractor: str
    entities: tuple[NewEntity, ...] = ()
    relations: tuple[NewRelation, ...] = ()
    left_out: int = 0


class Event(NamedTuple):
    """Something that happened to a memory, and by which client or command; `by` is empty where that is not known."""

    at: datetime
    what: What
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The identity and history of a memory that was kept elsewhere: `MemoryStore.origins` returns it, `NewMemory.origin` takes it.

    `replaced_by` may be the id of a memory that comes later. `role` is that of a message, whose session is the memory's
    conversation; `vector` is a document's own. `extractions` are what extractors read in it and, as the extractor STATED,
    what agents stated of it; the order of its relations counts.
    """

    id: str
    created_at: datetime
    deleted_at: datetime | None = None
    replaced_by: str | None = None
    role: str = ""
    vector: "Vector | None" = None
    extractions: tuple[Extraction, ...] = ()
    events: tuple[Event, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMemory:
    """A memory to keep, with everything that is derived from it. `timestamp` is when it was true, if the caller said so.

    Memories of the same `key` are the same; without one a memory is like no other. `embedder` made the vectors of the
    chunks, or is to make those that are missing; None leaves that open, and then no chunk has a vector. `analyser` is the version of the analyser that made their terms. What was
    extracted from it and jobs for it are kept in the same transaction; each job's payload gets its `memory_id`, which is also
    the key of a job that has none. `by` names the client or command that adds it. One with an `origin` was kept elsewhere, and
    is kept as it was there.
    """

    text: str
    metadata: Mapping[str, Any]
    chunks: tuple[NewChunk, ...]
    embedder: EmbedderIdentity | None
    analyser: int = 1
    key: str = ""
    kind: str = "memory"
    tags: tuple[str, ...] = ()
    source: str = ""
    author: str = ""
    conversation: str = ""
    timestamp: datetime | None = None
    replaces: str | None = None
    extraction: Extraction | None = None
    jobs: tuple[NewJob, ...] = ()
    by: str = ""
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class Added:
    """The outcome of adding a memory: stored now, there already, or there but deleted and now restored.

    Of the stated facts of a memory that it replaces, `facts_moved` were moved to it; `facts_dropped` were not, because their
    names do not occur in its text.
    """

    memory_id: str
    chunks: int
    outcome: Literal["stored", "existing", "restored"]
    job_ids: tuple[str, ...] = ()
    facts_moved: int = 0
    facts_dropped: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """A memory as it is kept. `role` is who said it, where it is a message of a session; `key` is that of `NewMemory`."""

    id: str
    workspace: str
    kind: str
    text: str
    metadata: Mapping[str, Any]
    tags: tuple[str, ...]
    source: str
    author: str
    conversation: str
    timestamp: datetime | None
    created_at: datetime
    deleted_at: datetime | None
    replaces: tuple[str, ...]
    replaced_by: str | None
    chunks: int
    role: str = ""
    key: str = ""


class Page(NamedTuple):
    """Some memories in an order, and where the next page begins: empty after the last one."""

    memories: list[Memory]
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change of a memory: delete or restore it, or replace its metadata.

    `tags` and `source` are those of the new metadata. A memory whose metadata are not `instead_of` is left as it is.
    """

    deleted: bool | None = None
    metadata: Mapping[str, Any] | None = None
    instead_of: Mapping[str, Any] | None = None
    tags: tuple[str, ...] = ()
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkFound:
    """A chunk with what an answer says of it and of its memory."""

    memory_id: str
    kind: str
    text: str
    heading: str
    start: int
    end: int
    tags: tuple[str, ...]
    source: str
    author: str
    conversation: str
    timestamp: datetime | None
    created_at: datetime
    role: str = ""


class TermCounts(NamedTuple):
    """The number of live chunks of a workspace, and of those that hold each term. No filter applies."""

    chunks: int
    holding: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A search, ready for a store to propose chunks for.

    `counts` is what `term_counts` returned for `terms`. `vector` has unit length and was made by `embedder`. The filter
    applies before each leg is cut to its best `by_terms` or `by_vector` chunks.
    """

    terms: tuple[str, ...]
    counts: TermCounts
    vector: "Vector | None" = None
    embedder: EmbedderIdentity | None = None
    wanted: Filter = NO_FILTER
    by_terms: int = 100
    by_vector: int = 100


class Candidate(NamedTuple):
    """A chunk that a store proposes.

    `chunk` names it for `chunks`, for a short while. `length` counts its terms, `counts` how often it holds each term of
    the question. `cosine` is exact, or None while the chunk has no vector. `moment` is the memory's timestamp, or else
    its creation. `meets` is False for a neighbour that the filter excludes: it is evidence, never a hit.
    """

    chunk: str
    memory_id: str
    length: int
    counts: tuple[int, ...]
    cosine: float | None
    moment: datetime
    author: str
    meets: bool = True


class Candidates(NamedTuple):
    """The candidates that a store proposes for a question.

    `found` holds every chunk once: the best by terms, the best by vector, and up to four chunks of each memory at most
    two places away in the same conversation. `links` names such neighbours: (memory, offset, memory). A leg is full when
    it was cut. `matching` counts the memories that meet the filter, `without_vector` their chunks that have no vector yet.
    """

    found: list[Candidate]
    links: list[tuple[str, int, str]]
    words_full: bool
    vectors_full: bool
    matching: int | None
    without_vector: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreStats:
    """The size of one workspace, and of the store as a whole. A superseded memory that was deleted counts as deleted alone.

    `warnings` say, a sentence each, how the store may lose what it acknowledged.
    """

    memories: int
    chunks: int
    deleted: int
    superseded: int
    size_bytes: int
    embedder: EmbedderIdentity | None
    store: str
    location: str
    workspaces: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job as it is kept. One that runs belongs to a worker until its lease ends; a failed one is not tried again by itself.

    `attempts` counts how often it was begun. `progress` goes from 0 to 1 where it is known; `error` is the last one.
    `postponed_since` is when it was first given back because what it needs is away, unless it failed in between.
    """

    id: str
    workspace: str
    kind: str
    key: str
    payload: Mapping[str, Any]
    state: JobState
    attempts: int
    progress: float | None
    message: str
    error: str
    result: Mapping[str, Any] | None
    created_at: datetime
    updated_at: datetime
    not_before: datetime
    postponed_since: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCounts:
    """The number of jobs in each state."""

    queued: int = 0
    running: int = 0
    done: int = 0
    failed: int = 0


class Entity(NamedTuple):
    """Something that live memories speak of; `mentions` counts the places, `memories` the memories."""

    id: str
    name: str
    type: str
    mentions: int
    memories: int


class Evidence(NamedTuple):
    """The place in a memory that states a relation, and the extractor that found it."""

    memory_id: str
    quote: str
    start: int
    end: int
    extractor: str
    basis: Basis


class Relation(NamedTuple):
    """A relation between two entities in live memories, and when it was true.

    `valid_from` is None where it is not known since when, `valid_until` where no end is known. `ended_by` is the id of the
    memory that ended it by stating what replaces it.
    """

    id: str
    subject: Entity
    type: str
    object: Entity
    valid_from: datetime | None
    valid_until: datetime | None
    ended_by: str | None
    evidence: tuple[Evidence, ...]


class FactsStated(NamedTuple):
    """The outcome of stating facts: the numbers of new, known and ended facts.

    `also_current` are other current relations with the subject and type of one of these facts, at most 10.
    """

    new: int
    known: int
    ended: int
    also_current: tuple[Relation, ...]


class Surroundings(NamedTuple):
    """Entities that were asked about, and the relations around them, each with its distance in steps."""

    about: list[Entity]
    relations: list[tuple[int, Relation]]


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphCounts:
    """The size of a workspace's graph.

    `facts` are current relations other than co-mentions, `ended` those that are over, `together` the co-mentions. `read` is
    how many live memories each extractor has read, of `memories`.
    """

    entities: int
    facts: int
    ended: int
    together: int
    mentions: int
    memories: int
    read: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRecord:
    """A session. `updated_at` is the moment of its last message; `user_id` is empty where it is not known."""

    id: str
    user_id: str
    metadata: Mapping[str, Any]
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageRecord:
    """A message as it is kept; `id` is that of its memory."""

    id: str
    session_id: str
    role: str
    text: str
    metadata: Mapping[str, Any]
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentRecord:
    """A document as it is kept; `id` is that of its memory, `vector` the caller's own where there is one."""

    id: str
    text: str
    metadata: Mapping[str, Any]
    vector: "Vector | None"
    created_at: datetime
