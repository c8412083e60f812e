import json
from datetime import UTC, date, datetime, timedelta

import pytest

from zapomni_core.testing import text_of

ALWAYS = {"start_date": "1970-01-01", "end_date": "9999-12-31"}
HERONS, RUGS = "Herons eat fish.", "Rugs are woven by hand."


@pytest.fixture
async def library(ask):
    """Stores two documents with vectors and one without; returns their ids."""
    given = [
        {"content": HERONS, "metadata": {"category": "birds", "tags": ["wild"]}, "embedding": [0.875, 0.125, 0]},
        {"content": RUGS, "metadata": {"category": "crafts"}, "embedding": [0, 0.25, 0.875]},
        {"content": "Herons nest in trees.", "metadata": {"category": "birds"}},
    ]
    return [(await ask("store_document", **one))["document_id"] for one in given]


def contents(record):
    assert record["count"] == len(record["documents"])
    return [one["content"] for one in record["documents"]]


async def test_a_vector_finds_documents_with_vectors_nearest_first(ask, library):
    record = await ask("semantic_search", query_embedding=[1, 0, 0])
    assert [(one["document_id"], one["content"]) for one in record["documents"]] == [
        (library[0], HERONS),
        (library[1], RUGS),
    ]
    assert [one["score"] for one in record["documents"]] == [0.9899, 0.0]


async def test_a_text_finds_documents_by_words_and_meaning_with_or_without_a_vector(ask, library):
    record = await ask("semantic_search", query="What do herons do?")
    assert set(contents(record)[:2]) == {HERONS, "Herons nest in trees."}
    best = record["documents"][0]
    assert best["metadata"]["category"] == "birds"
    assert 0 < best["score"] <= 1
    assert best["total_chars"] == len(best["content"])


async def test_a_search_finds_documents_but_not_memories_or_messages(app, ask, library):
    await app.app.engine.add_memory("Herons were seen on Monday.")
    await ask("store_message", session_id="5f6c3a52-0000-4000-8000-000000000001", role="user", content="Herons?")
    assert not {"Herons were seen on Monday.", "Herons?"} & set(contents(await ask("semantic_search", query="herons")))


@pytest.mark.parametrize("question", [{"query": "herons rugs"}, {"query_embedding": [0, 0, 1]}], ids=["text", "vector"])
async def test_filters_apply_before_the_cut(ask, library, question):
    for number in range(20):
        await ask("store_document", content=f"Rugs of kind {number}", embedding=[0, 0, 1])
    record = await ask("semantic_search", **question, top_k=1, metadata_filters={"category": ["birds"], "tags": "wild"})
    assert contents(record) == [HERONS]


@pytest.mark.parametrize("question", [{"query": "note"}, {"query_embedding": [0, 0, 1]}], ids=["text", "vector"])
@pytest.mark.parametrize("wanted", [{"source": None}, {"kind": "draft"}, {"date_from": 3, "source": [None, "x"]}])
async def test_filters_match_metadata_only(ask, question, wanted):
    metadata = {"source": None, "kind": "draft", "date_from": 3}
    await ask("store_document", content="a note", metadata=metadata, embedding=[0, 0, 1])
    await ask("store_document", content="another note", metadata={"source": "y"}, embedding=[0, 0, 1])
    assert contents(await ask("semantic_search", **question, metadata_filters=wanted)) == ["a note"]


async def test_a_search_without_hits_says_so(app):
    result = await app.call("semantic_search", {"query": "herons"})
    assert text_of(result) == "No documents found."


async def test_answers_do_not_contain_vectors(app, library):
    for call in (("semantic_search", {"query_embedding": [1, 0, 0]}), ("temporal_query", ALWAYS)):
        assert "0.875, 0.125" not in json.dumps(await app.call(*call))


async def test_a_zero_vector_scores_zero(ask):
    await ask("store_document", content=HERONS, embedding=[0, 0, 0])
    (document,) = (await ask("semantic_search", query_embedding=[1, 0, 0]))["documents"]
    assert document["score"] == 0


async def test_a_long_document_is_shown_by_the_passage_that_matched(ask):
    filling = "\n\n".join(f"Chapter {number}. " + "Water under the bridge. " * 60 for number in range(9))
    await ask("store_document", content=f"{filling}\n\nThe kingfisher is called Murdoch.")
    (document,) = (await ask("semantic_search", query="kingfisher Murdoch"))["documents"]
    assert "Murdoch" in document["content"]
    assert len(document["content"]) < document["total_chars"]


async def test_with_a_broken_embedder_the_search_uses_words_only_and_says_so(app, parts, library):
    parts.embedder.broken = True
    result = await app.call("semantic_search", {"query": "herons"})
    record = result["structuredContent"]
    assert (result["isError"], record["status"]) == (False, "degraded")
    assert HERONS in contents(record)
    assert f"Note: {record['message']}" in text_of(result)


async def test_documents_of_a_period_are_sorted_newest_first(ask, library):
    today = datetime.now(UTC)
    record = await ask("temporal_query", start_date=f"{today - timedelta(1):%Y-%m-%d}", end_date=f"{today:%Y-%m-%d}")
    assert contents(record) == ["Herons nest in trees.", RUGS, HERONS]
    assert not any("score" in one for one in record["documents"])
    birds = await ask("temporal_query", **ALWAYS, metadata_filters={"category": "birds"})
    assert contents(birds) == ["Herons nest in trees.", HERONS]
    none = await ask("temporal_query", start_date="1970-01-01", end_date="1999-12-31T23:59:59Z")
    assert (contents(none), none["message"]) == ([], "No documents of that time that meet the request.")


async def test_an_end_date_includes_the_whole_day(ask, library):
    (newest, *_) = (await ask("temporal_query", **ALWAYS))["documents"]
    day = newest["created_at"][:10]
    week = "{}-W{:02}-{}".format(*date.fromisoformat(day).isocalendar())
    for written in (day, day.replace("-", ""), week):
        assert len(contents(await ask("temporal_query", start_date=written, end_date=written))) >= 1, written
    assert contents(await ask("temporal_query", start_date="1970-01-01", end_date=f"{day}T00:00:00")) == []


async def test_the_answer_says_if_there_are_more_documents_than_the_limit(app, library):
    text = text_of(await app.call("temporal_query", {**ALWAYS, "limit": 2}))
    assert text.startswith("The newest 2 documents of that time; there are more")
    assert HERONS not in text
    assert text_of(await app.call("temporal_query", {**ALWAYS, "limit": 3})).startswith("3 documents of that time:")


async def test_a_long_document_is_shown_with_its_beginning_and_length(app, ask):
    await ask("store_document", content="a" * 3000)
    result = await app.call("temporal_query", ALWAYS)
    (document,) = result["structuredContent"]["documents"]
    assert (document["content"], document["total_chars"]) == ("a" * 2000, 3000)
    assert "· 3,000 characters\n" in text_of(result)


@pytest.mark.parametrize(
    ("tool", "arguments", "rule"),
    [
        ("store_document", {"content": "x", "embedding": [1, 2]}, "embedding must have 3 dimensions"),
        ("semantic_search", {"query_embedding": [1, 2, 3, 4]}, "query_embedding must have 3 dimensions"),
        ("semantic_search", {"query_embedding": [1, 2, 1e300]}, "query_embedding must hold numbers up to 1e+30"),
        ("semantic_search", {}, "give either query or query_embedding"),
        ("semantic_search", {"query": "x", "query_embedding": [1, 0, 0]}, "give either query or query_embedding"),
        ("semantic_search", {"query": "x", "top_k": 0}, "top_k must be at least 1"),
        (
            "semantic_search",
            {"query": "x", "metadata_filters": {"deep": {"a": []}}},
            "metadata_filters.deep must be text, a number, true, false, null, a list of those, or an object of such values, and not empty",
        ),
        (
            "semantic_search",
            {"query_embedding": [1, 0, 0], "metadata_filters": {"deep": {"a": []}}},
            "metadata_filters.deep must be text, a number, true, false, null, a list of those, or an object of such values, and not empty",
        ),
        (
            "temporal_query",
            {"start_date": "2026-02-02", "end_date": "2026-02-01"},
            "end_date must not be before start_date",
        ),
        (
            "temporal_query",
            {"start_date": "yesterday", "end_date": "2026-02-01"},
            "start_date must be ISO 8601, such as 2026-05-08 or 2026-05-08T12:00:00+00:00",
        ),
        (
            "temporal_query",
            {"start_date": "2026-02-01", "end_date": "2026-W07"},
            "end_date must be a day or a moment, such as 2026-05-08, not a week",
        ),
    ],
    ids=range(11),
)
async def test_an_invalid_argument_is_named_with_its_rule(problem, tool, arguments, rule):
    assert await problem(tool, **arguments) == rule
