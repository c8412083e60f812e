"""Names for stores: the protocols and their records."""

from zapomni_db.filters import Filter, parse_metadata_filter
from zapomni_db.records import (
    Added,
    Candidate,
    Candidates,
    Change,
    ChunkFound,
    DocumentRecord,
    Event,
    MessageRecord,
    NewChunk,
    NewMemory,
    Origin,
    Page,
    Question,
    SessionRecord,
    StoreStats,
    TermCounts,
)
from zapomni_db.store import FileStore, GraphStore, JobStore, MemoryStore, SessionStore, VectorStore

__all__ = [
    "Added",
    "Candidate",
    "Candidates",
    "Change",
    "ChunkFound",
    "DocumentRecord",
    "Event",
    "FileStore",
    "Filter",
    "GraphStore",
    "JobStore",
    "MemoryStore",
    "MessageRecord",
    "NewChunk",
    "NewMemory",
    "Origin",
    "Page",
    "Question",
    "SessionRecord",
    "SessionStore",
    "StoreStats",
    "TermCounts",
    "VectorStore",
    "parse_metadata_filter",
]
