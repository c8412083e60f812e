"""SearchMemoryTool validates its arguments, calls the engine once, and answers as text and as data."""

import logging
from datetime import UTC, datetime
from unittest.mock import Mock

import pytest

from tests.unit.mcp.tools.answers import checked, refused, text_of
from zapomni_core import DatabaseError, ProcessingError
from zapomni_core.models import SearchHit, SearchResult
from zapomni_db.errors import EmbedderMismatchError, InvalidInputError
from zapomni_mcp.tools import SearchMemoryTool

MEMORY_ID = "550e8400-e29b-41d4-a716-446655440000"


def make_hit(**differences):
    sample = {
        "memory_id": MEMORY_ID,
        "text": "  Ada keeps bees behind the house.\n",
        "similarity_score": 0.87654321,
        "why": ("bees", "meaning"),
        "kind": "memory",
        "heading": "",
        "tags": ("hobby",),
        "source": "chat",
        "author": "Grace",
        "conversation": "c1",
        "timestamp": None,
        "created_at": datetime(2026, 5, 8, 12, tzinfo=UTC),
    }
    return SearchHit(**(sample | differences))


def make_result(*hits, **differences):
    sample = {
        "hits": hits,
        "confidence": 0.9,
        "verdict": "good",
        "workspace": "default",
        "memories_searched": 1234,
    }
    return SearchResult(**(sample | differences))


@pytest.fixture
def tool(mock_core_engine):
    mock_core_engine.search_memory.return_value = make_result(make_hit())
    return SearchMemoryTool(core_engine=mock_core_engine)


@pytest.mark.parametrize("engine", [None, "engine", Mock()])
def test_only_an_engine_is_accepted(engine):
    with pytest.raises(TypeError, match="core_engine must be MemoryEngine instance, got"):
        SearchMemoryTool(core_engine=engine)


@pytest.mark.parametrize(
    ("author", "who"), [("", "message by assistant in session s1"), ("Ada", "message by assistant in session s1 · Ada")]
)
async def test_a_message_is_shown_with_its_session_and_role(tool, mock_core_engine, author, who):
    message = make_hit(kind="message", role="assistant", author=author, source="", conversation="s1")
    mock_core_engine.search_memory.return_value = make_result(message)
    result = await tool.execute({"query": "bees"})
    assert f" · 2026-05-08 · {who} · #hobby · 0.88 · " in text_of(result)
    (hit,) = result["structuredContent"]["results"]
    assert (hit["kind"], hit["role"], hit["conversation"]) == ("message", "assistant", "s1")


async def test_a_document_is_shown_as_one(tool, mock_core_engine):
    mock_core_engine.search_memory.return_value = make_result(make_hit(kind="document"))
    assert " · 2026-05-08 · document · chat · Grace · " in text_of(await tool.execute({"query": "bees"}))


async def test_a_hit_reads_as_its_text_below_one_line_about_it(tool):
    result = await tool.execute({"query": "Who keeps bees?"})
    assert result["isError"] is False
    assert text_of(result) == (
        "Found 1 result (good match) among 1,234 memories in workspace 'default':\n\n"
        f"[1] {MEMORY_ID} · 2026-05-08 · chat · Grace · #hobby · 0.88 · bees, meaning\n"
        "Ada keeps bees behind the house."
    )


async def test_the_structured_answer_has_everything_and_meets_its_schema(tool):
    record = checked(tool, await tool.execute({"query": "Who keeps bees?"}))
    assert record | {"processing_time_ms": 0} == {
        "status": "success",
        "message": "Found 1 result (good match) among 1,234 memories in workspace 'default'",
        "processing_time_ms": 0,
        "count": 1,
        "confidence": 0.9,
        "verdict": "good",
        "results": [
            {
                "memory_id": MEMORY_ID,
                "text": "  Ada keeps bees behind the house.\n",
                "similarity_score": 0.88,
                "why": ["bees", "meaning"],
                "tags": ["hobby"],
                "source": "chat",
                "author": "Grace",
                "timestamp": "2026-05-08T12:00:00Z",
            }
        ],
    }


async def test_memories_that_say_the_same_are_named_beside_the_hit(tool, mock_core_engine):
    mock_core_engine.search_memory.return_value = make_result(make_hit(copies=("one", "two")))
    result = await tool.execute({"query": "bees"})
    assert " · also one, two\n" in text_of(result)
    assert checked(tool, result)["results"][0]["copies"] == ["one", "two"]


async def test_when_it_was_true_counts_more_than_when_it_was_stored(tool):
    tool.core_engine.search_memory.return_value = make_result(make_hit(timestamp=datetime(2023, 1, 2, tzinfo=UTC)))
    result = await tool.execute({"query": "bees"})
    assert " · 2023-01-02 · " in text_of(result)
    assert checked(tool, result)["results"][0]["timestamp"] == "2023-01-02T00:00:00Z"


async def test_the_heading_precedes_the_text_and_empty_fields_are_omitted(tool):
    bare = make_hit(heading="Garden > Bees", source="", author="", why=(), tags=())
    tool.core_engine.search_memory.return_value = make_result(bare, make_hit())
    _headline, first, second = text_of(await tool.execute({"query": "bees"})).split("\n\n")
    assert first == f"[1] {MEMORY_ID} · 2026-05-08 · 0.88\nGarden > Bees: Ada keeps bees behind the house."
    assert second.startswith("[2] ")


@pytest.mark.parametrize(
    ("heading", "text", "shown"),
    [
        ("Garden > Bees", "## Bees\nThey are behind the house.", "Garden: ## Bees\nThey are behind the house."),
        ("Bees", "# Bees\nThey are behind the house.", "# Bees\nThey are behind the house."),
        ("Garden > " * 9 + "Bees", "They.", "Garden > Garden > Bees: They."),
        ("The heading of a chapter without end", "They.", "The heading of a chapter wi…: They."),
    ],
)
async def test_headings_are_shown_once_with_the_nearest_first(tool, heading, text, shown):
    tool.core_engine.search_memory.return_value = make_result(make_hit(heading=heading, text=text))
    _headline, hit = text_of(await tool.execute({"query": "bees"})).split("\n\n")
    assert hit.split("\n", 1)[1] == shown


@pytest.mark.parametrize(
    ("result", "headline"),
    [
        (
            make_result(make_hit(), memories_searched=1),
            "Found 1 result (good match) among 1 memory in workspace 'default':",
        ),
        (make_result(), "Nothing found among 1,234 memories in workspace 'default'."),
        (
            make_result(memories_searched=4, filtered=True),
            "Nothing found among 4 memories in workspace 'default' that meet the filters.",
        ),
        (
            make_result(make_hit(), make_hit(), verdict="weak", memories_searched=1000, filtered=True),
            "Found 2 results (weak match) among 1,000 memories in workspace 'default' that meet the filters:",
        ),
        (make_result(memories_searched=None), "Nothing found among the memories in workspace 'default'."),
        (
            make_result(make_hit(), verdict="nothing relevant"),
            "Probably nothing relevant among 1,234 memories in workspace 'default'; the nearest result:",
        ),
    ],
)
async def test_the_first_line_shows_count_and_verdict(tool, result, headline):
    tool.core_engine.search_memory.return_value = result
    answer = await tool.execute({"query": "bees"})
    assert text_of(answer).split("\n\n")[0] == headline
    record = checked(tool, answer)
    assert (record["message"], record["verdict"], record["count"]) == (
        headline.rstrip(":"),
        result.verdict,
        len(result.hits),
    )


async def test_a_degraded_search_has_a_note_with_the_reason(tool):
    reason = "The embedder failed, so only words were searched, not meaning."
    tool.core_engine.search_memory.return_value = make_result(make_hit(), degraded=reason)
    result = await tool.execute({"query": "bees"})
    assert result["isError"] is False
    assert text_of(result).endswith(f"\n\nNote: {reason}")
    record = checked(tool, result)
    assert (record["status"], record["message"]) == ("degraded", reason)


@pytest.mark.parametrize(
    ("arguments", "passed"),
    [
        ({}, {"limit": 10, "filters": None}),
        ({"limit": 1}, {"limit": 1, "filters": None}),
        ({"limit": 100, "filters": {"tags": ["a"]}}, {"limit": 100, "filters": {"tags": ["a"]}}),
        ({"max_tokens": 1}, {"limit": 10, "filters": None, "max_tokens": 1}),
    ],
)
async def test_the_engine_is_called_once_with_the_arguments(tool, arguments, passed):
    await tool.execute({"query": "bees"} | arguments)
    tool.core_engine.search_memory.assert_called_once_with(query="bees", **passed)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, "field required: query"),
        ({"query": None}, "query: Input should be a valid string"),
        ({"query": 5}, "query: Input should be a valid string"),
        ({"query": ""}, "query cannot be empty or whitespace-only"),
        ({"query": " \n\t"}, "query cannot be empty or whitespace-only"),
        ({"query": "x" * 1001}, "query exceeds maximum length (1,000 characters)"),
        ({"query": "bees", "limit": 0}, "limit: Input should be greater than or equal to 1"),
        ({"query": "bees", "limit": 101}, "limit: Input should be less than or equal to 100"),
        ({"query": "bees", "limit": 1.5}, "limit: Input should be a valid integer"),
        ({"query": "bees", "limit": "many"}, "limit: Input should be a valid integer"),
        ({"query": "bees", "filters": "secret"}, "filters: Input should be a valid dictionary"),
        ({"query": "bees", "filters": ["secret"]}, "filters: Input should be a valid dictionary"),
        ({"query": "bees", "max_tokens": 0}, "max_tokens: Input should be greater than or equal to 1"),
        ({"query": "bees", "max_tokens": "all"}, "max_tokens: Input should be a valid integer"),
        ({"query": "bees", "top_k": 5}, "top_k: Extra inputs are not permitted"),
    ],
)
async def test_invalid_arguments_are_refused_with_field_and_rule_without_the_value(tool, arguments, expected):
    message = await refused(tool, arguments)
    assert message.startswith(expected)
    assert "secret" not in message


@pytest.mark.parametrize("query", ["x", "x" * 1000, "' OR 1=1", '"(NEAR) AND *', "数据库", "\0"])
async def test_any_other_query_reaches_the_engine_unchanged(tool, query):
    result = await tool.execute({"query": query})
    assert result["isError"] is False
    assert tool.core_engine.search_memory.call_args.kwargs["query"] == query


@pytest.mark.parametrize(
    ("error", "kind", "status", "expected"),
    [
        (InvalidInputError("filters.tags must be text"), "validation", 400, "filters.tags must be text"),
        (DatabaseError("at /home/somebody"), "database", 503, "Database temporarily unavailable."),
        (EmbedderMismatchError("run: zapomni reindex"), "database", 503, "run: zapomni reindex"),
        (ProcessingError("at /home/somebody"), "processing", 500, "An internal error occurred"),
        (RuntimeError("at /home/somebody"), "internal", 500, "An internal error occurred"),
    ],
)
async def test_a_failure_is_an_error_and_not_an_empty_result(tool, error, kind, status, expected, caplog):
    tool.core_engine.search_memory.side_effect = error
    with caplog.at_level(logging.ERROR):
        result = await tool.execute({"query": "bees"})
    record = checked(tool, result)
    assert (result["isError"], record["error_type"], record["status_code"]) == (True, kind, status)
    assert text_of(result).startswith(f"Error: {expected}")
    assert "somebody" not in str(result)
    assert "results" not in record
    logged = [entry.exc_info[1] for entry in caplog.records]
    assert logged == ([] if kind == "validation" else [error])
