"""The agreed examples run as written, except for imports, on the default store."""

from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest
import pytest_asyncio

from zapomni_core import DatabaseError, MemoryManager, ValidationError

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return tmp_path_factory.mktemp("data")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def memory(data):
    """One for all examples: it loads the default embedder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(data))
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
    stored = await memory.store_document("Ponds freeze.", {"category": "research", "source": "journal"}, [0.1] * 1536)
    await memory.store_document("Markets rise.", {"category": "news"}, [0.1] * 1536)
    query_embedding = [0.1, 0.2, *[0.5] * 1533, 0.9]

    results = await memory.semantic_search(
        query_embedding=query_embedding, top_k=5, metadata_filters={"category": "research"}
    )

    assert [(doc.id, doc.content[:100], doc.metadata_.get("source", "unknown")) for doc in results] == [
        (stored, "Ponds freeze.", "journal")
    ]


async def test_temporal_query(memory):
    await memory.store_document("Ponds freeze.", {"source": "arxiv"})
    end_date = datetime.now(UTC).replace(tzinfo=None) + timedelta(minutes=10)  # as utcnow: without a zone
    start_date = end_date - timedelta(days=30)

    documents = await memory.temporal_query(
        start_date=start_date, end_date=end_date, metadata_filters={"source": "arxiv"}
    )

    assert len(documents) == 1


async def test_health_check(memory, data):
    health = await memory.health_check()
    assert (data / "zapomni" / "memory.db").is_file()
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
