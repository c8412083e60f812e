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
)
from zapomni_db.store import ConversationStore, FileStore, GraphStore, JobStore, MemoryStore, Reembedding

__all__ = [
    "Added",
    "Candidate",
    "Candidates",
    "Change",
    "ChunkFound",
    "ConversationStore",
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
    "Reembedding",
    "SessionRecord",
    "StoreStats",
    "TermCounts",
    "parse_metadata_filter",
]
