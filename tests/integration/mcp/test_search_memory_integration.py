"""search_memory from end to end: the tool, a real engine, a real SQLite file."""

import json
from datetime import UTC, datetime

import pytest

from tests.integration.mcp.memory_tools import FailingEmbedder, MemoryTools, text_of

FACTS = {
    "Ada keeps bees behind the house.": {"tags": ["hobby", "ada"], "source": "chat", "author": "Grace"},
    "Ada keeps her passport in the blue drawer.": {"tags": ["ada"], "source": "mail", "author": "Ada"},
    "Grace keeps a diary in French.": {"tags": ["hobby", "grace"], "source": "chat", "conversation": "c1"},
    "Linus keeps the release notes in the wiki.": {"timestamp": "2023-05-08T12:00:00+00:00", "level": 3, "open": True},
}


@pytest.fixture
async def kept(tools):
    """The ids of the facts by their words."""
    return {text: await tools.add(text, metadata) for text, metadata in FACTS.items()}


async def test_a_hit_has_all_fields_of_its_memory(tools, kept):
    answer = await tools.ask("search_memory", query="bees", filters={"source": "chat"}, limit=1)
    [hit] = answer["results"]
    text = "Ada keeps bees behind the house."
    assert (hit["memory_id"], hit["text"]) == (kept[text], text)
    assert (hit["tags"], hit["source"], hit["author"]) == (["hobby", "ada"], "chat", "Grace")
    assert "bees" in hit["why"]
    assert 0 < hit["similarity_score"] <= 1
    stored = datetime.fromisoformat(hit["timestamp"])
    assert abs((datetime.now(UTC) - stored).total_seconds()) < 600
    assert answer["status"] == "success"
    assert "among 2 memories" in answer["message"]


async def test_the_readable_answer_has_what_the_structured_one_has(tools, kept):
    result = await tools.call("search_memory", query="Where is the passport?")
    best = result["structuredContent"]["results"][0]
    said = text_of(result)
    assert best["text"] == "Ada keeps her passport in the blue drawer."
    assert said.startswith("Found ")
    assert "among 4 memories in workspace 'default':" in said
    for piece in (best["memory_id"], best["text"], "mail", f"{best['similarity_score']:.2f}", "passport"):
        assert piece in said


async def test_hits_are_sorted_by_score_in_a_stable_order(tools, kept):
    first = await tools.ask("search_memory", query="Ada keeps what?")
    scores = [hit["similarity_score"] for hit in first["results"]]
    assert scores == sorted(scores, reverse=True)
    again = await tools.ask("search_memory", query="Ada keeps what?")
    assert again["results"] == first["results"]


async def test_the_limit_is_the_number_of_memories(tools, kept):
    assert len(await tools.found("keeps", limit=2)) == 2
    assert len(await tools.found("keeps", limit=100)) == 4


async def test_a_long_memory_is_one_hit_by_its_best_chunk(tools):
    parts = [f"Chapter {number} is about the garden, the weather and the well." for number in range(150)]
    parts.insert(70, "The treasure lies under the third oak.")
    memory_id = await tools.add("\n\n".join(parts))
    [hit] = (await tools.ask("search_memory", query="treasure oak"))["results"]
    assert hit["memory_id"] == memory_id
    assert "The treasure lies under the third oak." in hit["text"]
    assert len(hit["text"]) < 2000


@pytest.mark.parametrize(
    ("filters", "things"),
    [
        ({"tags": ["hobby"]}, ["bees", "diary"]),
        ({"tags": ["hobby", "ada"]}, ["bees"]),
        ({"source": "chat"}, ["bees", "diary"]),
        ({"source": ["chat", "mail"]}, ["bees", "passport", "diary"]),
        ({"author": "Ada"}, ["passport"]),
        ({"conversation": "c1"}, ["diary"]),
        ({"kind": "memory"}, ["bees", "passport", "diary", "notes"]),
        ({"kind": "message"}, []),
        ({"date_to": "2023-05-08"}, ["notes"]),
        ({"date_from": "2023-05-08", "date_to": "2023-05-08T12:00:00Z"}, ["notes"]),
        ({"date_to": "2023-05-08T11:59:59+00:00"}, []),
        ({"level": 3}, ["notes"]),
        ({"level": [2, 3.0]}, ["notes"]),
        ({"level": "3"}, []),
        ({"open": True}, ["notes"]),
        ({"open": 1}, []),
        ({"no_such_key": None}, []),
        ({"source": "chat", "tags": ["grace"]}, ["diary"]),
        ({"source": "' OR 1=1 --"}, []),
    ],
)
async def test_hits_meet_all_filters(tools, kept, filters, things):
    answer = await tools.ask("search_memory", query="keeps", filters=filters)
    assert sorted(text for text in kept if any(thing in text for thing in things)) == sorted(
        hit["text"] for hit in answer["results"]
    )
    assert f"among {len(things)} memor" in answer["message"]


async def test_filters_come_before_the_cut(tools):
    for number in range(130):
        await tools.add(f"The river rises to mark {number}.")
    wanted = await tools.add("A boat.", {"source": "harbour"})
    assert await tools.found("the river rises", {"source": "harbour"}, limit=1) == [wanted]


async def test_an_empty_answer_counts_searched_and_filtered_memories(tools, kept):
    result = await tools.call("search_memory", query="bees", filters={"source": "nowhere"})
    assert result["isError"] is False
    assert text_of(result) == "Nothing found among 0 memories in workspace 'default' that meet the filters."
    assert result["structuredContent"]["verdict"] == "nothing relevant"


async def test_a_search_of_an_empty_store_succeeds(tools):
    result = await tools.call("search_memory", query="anything")
    assert text_of(result) == "Nothing found among 0 memories in workspace 'default'."
    assert result["structuredContent"]["results"] == []


async def test_a_search_does_not_find_memories_of_another_workspace(tools, kept):
    work = MemoryTools(tools.engine.in_workspace("work"))
    assert await work.found("Ada keeps bees") == []
    mine = await work.add("Ada keeps bees at the office.")
    assert await work.found("Ada keeps bees", {"kind": "memory"}) == [mine]
    assert mine not in await tools.found("Ada keeps bees at the office")
    theirs = kept["Ada keeps bees behind the house."]
    for tool in ("get_memory", "delete_memory", "restore_memory"):
        result = await work.call(tool, memory_id=theirs)
        assert result["structuredContent"]["error_code"] == "MEMORY_NOT_FOUND", tool
    assert theirs in await tools.found("Ada keeps bees")


async def test_without_a_working_embedder_words_are_searched(open_tools, kept, tools):
    broken = open_tools(made=FailingEmbedder())
    result = await broken.call("search_memory", query="bees")
    told = result["structuredContent"]
    assert result["isError"] is False
    assert told["status"] == "degraded"
    assert told["message"] == "Only words were searched, not meaning: the model at … is broken."
    assert f"Note: {told['message']}" in text_of(result)
    assert "somebody" not in str(result)
    assert [hit["text"] for hit in told["results"]] == ["Ada keeps bees behind the house."]


async def test_the_answer_respects_max_tokens(tools):
    for number in range(20):
        await tools.add(f"The garden has a tree of kind {number}. It was planted long ago. " * 5)
    result = await tools.call("search_memory", query="tree garden", limit=20, max_tokens=500)
    assert len(text_of(result)) <= len(json.dumps(result["structuredContent"], ensure_ascii=False)) <= 2000
    assert 2 <= result["structuredContent"]["count"] < 20


async def test_the_answer_respects_max_tokens_with_many_short_memories(tools):
    for number in range(60):
        await tools.add(f"Tree {number}.", {"source": "a list of all trees in the garden"})
    result = await tools.call("search_memory", query="tree", limit=60, max_tokens=100)
    assert len(text_of(result)) <= 400
    assert result["structuredContent"]["count"] == 1


async def test_quotes_and_line_breaks_are_counted_as_json(tools):
    for number in range(20):
        await tools.add(f'Line {number} of the "garden":\n' + '"\n' * 40)
    result = await tools.call("search_memory", query="garden", limit=20, max_tokens=500)
    assert len(json.dumps(result["structuredContent"], ensure_ascii=False)) <= 2000


async def test_a_memory_is_found_by_its_exact_text_its_word_and_its_id(tools, kept):
    for text, memory_id in kept.items():
        assert (await tools.found(text))[0] == memory_id
        assert (await tools.found(text.split()[-1]))[0] == memory_id
        assert (await tools.ask("get_memory", memory_id=memory_id))["text"] == text


@pytest.mark.parametrize(
    ("filters", "problem"),
    [
        ({"tags": 5}, "filters.tags must be text or a list of texts"),
        ({"source": []}, "filters.source must be text or a list of texts"),
        ({"date_from": "tomorrow"}, "filters.date_from must be a date such as"),
        ({"date_from": "2024-01-02", "date_to": "2024-01-01"}, "filters.date_from must not be after filters.date_to"),
        ({"level": {"$gt": 3}}, "filters.level must be values to compare with; there are no operators such as $gt"),
    ],
)
async def test_a_wrong_filter_is_refused_by_field_and_rule(tools, filters, problem):
    result = await tools.call("search_memory", query="bees", filters=filters)
    assert result["structuredContent"]["error_type"] == "validation"
    assert text_of(result).startswith(f"Error: {problem}")


async def test_a_failing_store_is_an_error(tools, kept):
    await tools.engine.close()
    result = await tools.call("search_memory", query="bees")
    assert result["isError"] is True
    assert result["structuredContent"]["error_type"] == "database"
