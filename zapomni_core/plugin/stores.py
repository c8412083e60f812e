"""What a store needs: the protocols, and the records that go in and come out."""

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
    Page,
    Question,
    SessionRecord,
    StoreStats,
    TermCounts,
    VectorWeight,
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
    "Page",
    "Question",
    "SessionRecord",
    "SessionStore",
    "StoreStats",
    "TermCounts",
    "VectorStore",
    "VectorWeight",
    "parse_metadata_filter",
]
