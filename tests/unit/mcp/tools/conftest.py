from datetime import UTC, datetime
from unittest.mock import AsyncMock, Mock

import pytest

from zapomni_core.memory.engine import MemoryEngine
from zapomni_db.records import Memory


@pytest.fixture
def mock_core_engine():
    engine = Mock(spec=MemoryEngine, can_queue=False, asks_llm=False)
    for method in (
        "add_memory",
        "search_memory",
        "get_stats",
        "get_memory",
        "list_memories",
        "history",
        "delete_memory",
        "restore_memory",
        "get_job",
        "reprocess",
    ):
        setattr(engine, method, AsyncMock())
    return engine


@pytest.fixture
def make_memory():
    """Make a sample memory with the given differences."""

    def make_memory(**differences):
        sample = {
            "id": "550e8400-e29b-41d4-a716-446655440000",
            "workspace": "default",
            "kind": "memory",
            "text": "Ada keeps bees behind the house.",
            "metadata": {"source": "chat", "tags": ["hobby", "ada"], "level": 3},
            "tags": ("hobby", "ada"),
            "source": "chat",
            "author": "",
            "conversation": "",
            "timestamp": None,
            "created_at": datetime(2026, 5, 8, 12, tzinfo=UTC),
            "deleted_at": None,
            "replaces": (),
            "replaced_by": None,
            "chunks": 1,
        }
        return Memory(**(sample | differences))

    return make_memory
