"""search_memory from end to end: the tool, a real engine, a real SQLite file."""

import json
from datetime import UTC, datetime

import pytest

from tests.integration.mcp.memory_tools import FailingEmbedder, House, text_of

FACTS = {
    "Ada keeps bees behind the house.": {"tags": ["hobby", "ada"], "source": "chat", "author": "Grace"},
    "Ada keeps her passport in the blue drawer.": {"tags": ["ada"], "source": "mail", "author": "Ada"},
    "Grace keeps a diary in French.": {"tags": ["hobby", "grace"], "source": "chat", "conversation": "c1"},
    "Linus keeps the release notes in the wiki.": {"timestamp": "2023-05-08T12:00:00+00:00", "level": 3, "open": True},
}


@pytest.fixture
async def kept(house):
    """The ids of the facts, by their first word and the thing."""
    return {text: await house.add(text, metadata) for text, metadata in FACTS.items()}


async def test_a_hit_carries_all_that_is_known_of_its_memory(house, kept):
    answer = await house.ask("search_memory", query="bees", filters={"source": "chat"}, limit=1)
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


async def test_the_readable_answer_carries_what_the_structured_one_does(house, kept):
    result = await house.call("search_memory", query="Where is the passport?")
    best = result["structuredContent"]["results"][0]
    said = text_of(result)
    assert best["text"] == "Ada keeps her passport in the blue drawer."
    assert said.startswith("Found ")
    assert "among 4 memories in workspace 'default':" in said
    for piece in (best["memory_id"], best["text"], "mail", f"{best['similarity_score']:.2f}", "passport"):
        assert piece in said


async def test_scores_never_rise_from_one_hit_to_the_next_and_the_order_is_stable(house, kept):
    first = await house.ask("search_memory", query="Ada keeps what?")
    scores = [hit["similarity_score"] for hit in first["results"]]
    assert scores == sorted(scores, reverse=True)
    again = await house.ask("search_memory", query="Ada keeps what?")
    assert again["results"] == first["results"]


async def test_the_limit_is_the_number_of_memories(house, kept):
    assert len(await house.found("keeps", limit=2)) == 2
    assert len(await house.found("keeps", limit=100)) == 4


async def test_a_long_memory_is_one_hit_by_its_best_chunk(house):
    parts = [f"Chapter {number} is about the garden, the weather and the well." for number in range(150)]
    parts.insert(70, "The treasure lies under the third oak.")
    memory_id = await house.add("\n\n".join(parts))
    [hit] = (await house.ask("search_memory", query="treasure oak"))["results"]
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
async def test_filters_leave_only_what_meets_all_of_them(house, kept, filters, things):
    answer = await house.ask("search_memory", query="keeps", filters=filters)
    assert sorted(text for text in kept if any(thing in text for thing in things)) == sorted(
        hit["text"] for hit in answer["results"]
    )
    assert f"among {len(things)} memor" in answer["message"]


async def test_filters_come_before_the_cut(house):
    for number in range(130):
        await house.add(f"The river rises to mark {number}.")
    wanted = await house.add("A boat.", {"source": "harbour"})
    assert await house.found("the river rises", {"source": "harbour"}, limit=1) == [wanted]


async def test_nothing_found_says_what_was_searched_and_what_the_filter_took_away(house, kept):
    result = await house.call("search_memory", query="bees", filters={"source": "nowhere"})
    assert result["isError"] is False
    assert text_of(result) == "Nothing found among 0 memories in workspace 'default' that meet the filters."
    assert result["structuredContent"]["verdict"] == "nothing relevant"


async def test_an_empty_store_finds_nothing_and_is_no_error(house):
    result = await house.call("search_memory", query="anything")
    assert text_of(result) == "Nothing found among 0 memories in workspace 'default'."
    assert result["structuredContent"]["results"] == []


async def test_workspaces_never_leak(house, kept):
    work = House(house.engine.in_workspace("work"))
    assert await work.found("Ada keeps bees") == []
    mine = await work.add("Ada keeps bees at the office.")
    assert await work.found("Ada keeps bees", {"kind": "memory"}) == [mine]
    assert mine not in await house.found("Ada keeps bees at the office")
    theirs = kept["Ada keeps bees behind the house."]
    for tool in ("get_memory", "delete_memory", "restore_memory"):
        result = await work.call(tool, memory_id=theirs)
        assert result["structuredContent"]["error_code"] == "MEMORY_NOT_FOUND", tool
    assert theirs in await house.found("Ada keeps bees")


async def test_an_embedder_that_fails_leaves_the_words_and_says_so(open_house, kept, house):
    broken = open_house(made=FailingEmbedder())
    result = await broken.call("search_memory", query="bees")
    told = result["structuredContent"]
    assert result["isError"] is False
    assert told["status"] == "degraded"
    assert told["message"] == "Only words were searched, not meaning: the model at … is broken."
    assert f"Note: {told['message']}" in text_of(result)
    assert "somebody" not in str(result)
    assert [hit["text"] for hit in told["results"]] == ["Ada keeps bees behind the house."]


async def test_the_answer_has_the_size_that_was_asked_for(house):
    for number in range(20):
        await house.add(f"The garden has a tree of kind {number}. It was planted long ago. " * 5)
    result = await house.call("search_memory", query="tree garden", limit=20, max_tokens=500)
    assert len(text_of(result)) <= len(json.dumps(result["structuredContent"], ensure_ascii=False)) <= 2000
    assert 2 <= result["structuredContent"]["count"] < 20


async def test_the_answer_has_the_size_that_was_asked_for_however_short_the_memories_are(house):
    for number in range(60):
        await house.add(f"Tree {number}.", {"source": "a list of all trees in the garden"})
    result = await house.call("search_memory", query="tree", limit=60, max_tokens=100)
    assert len(text_of(result)) <= 400
    assert result["structuredContent"]["count"] == 1


async def test_quotes_and_line_breaks_count_as_they_are_sent(house):
    for number in range(20):
        await house.add(f'Line {number} of the "garden":\n' + '"\n' * 40)
    result = await house.call("search_memory", query="garden", limit=20, max_tokens=500)
    assert len(json.dumps(result["structuredContent"], ensure_ascii=False)) <= 2000


async def test_a_memory_is_found_by_its_exact_text_its_word_and_its_id(house, kept):
    for text, memory_id in kept.items():
        assert (await house.found(text))[0] == memory_id
        assert (await house.found(text.split()[-1]))[0] == memory_id
        assert (await house.ask("get_memory", memory_id=memory_id))["text"] == text


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
async def test_a_wrong_filter_is_refused_by_field_and_rule(house, filters, problem):
    result = await house.call("search_memory", query="bees", filters=filters)
    assert result["structuredContent"]["error_type"] == "validation"
    assert text_of(result).startswith(f"Error: {problem}")


async def test_a_store_that_fails_is_an_error_and_never_an_empty_result(house, kept):
    await house.engine.close()
    result = await house.call("search_memory", query="bees")
    assert result["isError"] is True
    assert result["structuredContent"]["error_type"] == "database"
