"""What a store keeps and gives back: plain values, no behaviour."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from zapomni_db.arrays import Vector


@dataclass(frozen=True, slots=True)
class EmbedderIdentity:
    """Which embedder made the vectors of a store."""

    name: str
    model: str
    dimension: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NewChunk:
    """A part of a memory's text, ready to be found: its place, its terms, its vector.

    `start` and `end` count characters of the memory's text. `digest` names what was embedded, so that a vector can be
    reused for equal content.
    """

    start: int
    end: int
    heading: str
    terms: tuple[str, ...]
    digest: bytes
    vector: "Vector"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMemory:
    """A memory to keep, with everything that is derived from it. `timestamp` is when it was true, if the caller said so.

    `merge` lets it be the same as an equal memory that is there already; messages are kept each for itself.
    """

    text: str
    metadata: Mapping[str, Any]
    chunks: tuple[NewChunk, ...]
    kind: str = "memory"
    tags: tuple[str, ...] = ()
    source: str = ""
    author: str = ""
    conversation: str = ""
    timestamp: datetime | None = None
    replaces: str | None = None
    merge: bool = True


@dataclass(frozen=True, slots=True)
class Added:
    """What became of a memory that was added: stored now, there already, or there but deleted and now restored."""

    memory_id: str
    chunks: int
    outcome: Literal["stored", "existing", "restored"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """A memory as it is kept."""

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
    replaces: str | None
    replaced_by: str | None
    chunks: int


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


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreStats:
    """How much one workspace holds, and the store as a whole."""

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
