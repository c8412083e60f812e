import pytest

from zapomni_core.testing import text_of

TEXTS = (
    "Ada Lovelace works at Acme since 2019.",
    "Since 2021 Ada Lovelace works at Initech.",
    "Initech uses PostgreSQL.",
    "We met Grace and Ada Lovelace in Berlin.",
)
WORKS = {"subject": "Ada Lovelace", "relation": "works_at", "subject_type": "person"}
USES = {"subject": "Initech", "relation": "uses", "object": "PostgreSQL"}


@pytest.fixture
async def app(graph_app, remember):
    """The graph of a few memories, whose ids are in `ids`. Nobody has extracted names from them."""
    async with graph_app(extractor="pairs") as app:
        app.ids = await remember(*TEXTS)
        await state(app, app.ids[0], WORKS | {"object": "Acme", "since": "2019"})
        await state(app, app.ids[1], WORKS | {"object": "Initech", "since": "2021", "replaces": True})
        await state(app, app.ids[2], USES)
        yield app


async def state(app, memory_id, *facts):
    answer = await app.call("add_facts", {"memory_id": memory_id, "facts": list(facts)})
    assert not answer["isError"], text_of(answer)


async def ask(app, **arguments):
    answer = await app.call("get_related", arguments)
    return text_of(answer), answer["structuredContent"]


def steps(told):
    return [(one["distance"], one["subject"], one["relation"], one["object"]) for one in told["facts"]]


async def test_each_fact_comes_with_its_dates_and_the_memory_that_says_it(app):
    text, told = await ask(app, entity="Ada Lovelace", types=["works_at"])
    assert told["facts"] == [
        {
            "subject": "Ada Lovelace",
            "relation": "works_at",
            "object": "Initech",
            "since": "2021-01-01",
            "basis": "stated",
            "evidence": [{"memory_id": app.ids[1], "quote": TEXTS[1]}],
            "distance": 1,
        }
    ]
    assert text.splitlines() == [
        "1 fact about Ada Lovelace (person, 2 memories):",
        f'- Ada Lovelace works_at Initech (since 2021) [{app.ids[1]}: "{TEXTS[1]}"]',
    ]


async def test_empty_parts_are_left_out(app):
    _, told = await ask(app, entity="PostgreSQL")
    assert told.keys() == {"status", "message", "processing_time_ms", "about", "count", "facts"}
    assert told["facts"][0].keys().isdisjoint({"since", "until", "ended_by"})


async def test_names_are_found_however_they_are_spelled_and_by_id(app):
    _, told = await ask(app, entity=" ADA  lovelace")
    [entity] = told["about"]
    assert entity["name"] == "Ada Lovelace"
    assert (await ask(app, entity=entity["entity_id"]))[1]["facts"] == told["facts"]


async def test_entities_mentioned_together_come_last_in_one_line(app):
    await app.call("build_graph")
    text, told = await ask(app, entity="Initech")
    assert sorted(one["relation"] for one in told["facts"]) == ["uses", "works_at"]
    names = {one["name"]: one["memories"] for one in told["mentioned_with"]}
    assert names == {"Since": 1, "Ada": 1, "Lovelace": 1, "PostgreSQL": 1}
    last = text.splitlines()[-1]
    assert last.startswith("mentioned with: ")
    assert "PostgreSQL (1)" in last


async def test_of_what_is_mentioned_together_the_five_most_frequent_are_shown(graph_app, remember):
    async with graph_app(extractor="pairs") as app:
        await remember("Kafka, Acme, Bravo, Charlie, Delta, Echo, Foxtrot.", "Kafka and Acme.", "Acme met Kafka again.")
        await app.call("build_graph")
        text, told = await ask(app, entity="Kafka")
    assert told["mentioned_with"][0] == {"name": "Acme", "memories": 3}
    assert len(told["mentioned_with"]) == 5
    assert (told["count"], told["facts"]) == (0, [])
    assert text.splitlines()[0] == "No current facts about Kafka (3 memories)."
    assert text.splitlines()[1].startswith("mentioned with: Acme (3), ")


async def test_entities_mentioned_together_have_evidence_if_the_type_is_requested(app):
    await app.call("build_graph")
    text, told = await ask(app, entity="Grace", types=["mentioned_with"])
    assert {one["basis"] for one in told["facts"]} == {"mention"}
    assert told["count"] == 4
    assert f'are mentioned together [{app.ids[3]}: "{TEXTS[3]}"]' in text
    assert "mentioned_with" not in told


async def test_deeper_steps_follow_the_nearer_ones(app):
    text, told = await ask(app, entity="Ada Lovelace", depth=2)
    assert steps(told) == [(1, "Ada Lovelace", "works_at", "Initech"), (2, "Initech", "uses", "PostgreSQL")]
    assert [line for line in text.splitlines() if line.endswith("away:")] == ["1 step away:", "2 steps away:"]


@pytest.mark.parametrize(
    ("direction", "related"),
    [("out", ["PostgreSQL"]), ("in", ["Ada Lovelace"]), ("both", ["Ada Lovelace", "PostgreSQL"])],
)
async def test_facts_can_be_asked_for_by_direction(app, direction, related):
    _, told = await ask(app, entity="Initech", direction=direction)
    ends = {name for one in told["facts"] for name in (one["subject"], one["object"])}
    assert sorted(ends - {"Initech"}) == related


@pytest.mark.parametrize(
    "moment", ["2020", "2020-06", "2020-06-01", "2020-06-01T10:00:00", "2020-06-01T10:00:00+03:00"]
)
async def test_facts_can_be_queried_at_a_moment(app, moment):
    text, told = await ask(app, entity="Ada Lovelace", at=moment)
    assert steps(told) == [(1, "Ada Lovelace", "works_at", "Acme")]
    assert f"(2019 to 2021, ended by {app.ids[1]})" in text


async def test_a_future_fact_hides_no_other_and_is_marked(app):
    anna = {"subject": "Anna", "relation": "lives_in"}
    await state(
        app, app.ids[3], anna | {"object": "Berlin"}, anna | {"object": "Paris", "since": "2099", "replaces": True}
    )
    text, told = await ask(app, entity="Anna")
    assert "lives_in Berlin (until 2099) [" in text
    assert "lives_in Paris (from 2099 on) [" in text
    assert told["count"] == 2


async def test_ended_facts_are_shown_only_on_request(app):
    assert (await ask(app, entity="Acme"))[1]["count"] == 0
    _, told = await ask(app, entity="Acme", ended=True)
    [fact] = told["facts"]
    assert (fact["since"], fact["until"], fact["ended_by"]) == ("2019-01-01", "2021-01-01", app.ids[1])


async def test_a_limit_is_kept(app):
    text, told = await ask(app, entity="Initech", limit=1)
    assert (told["count"], told["truncated"]) == (1, True)
    assert text.startswith("The first 1 fact about Initech (")
    assert text.splitlines()[0].endswith("; there are more (limit 1):")
    text, told = await ask(app, entity="Initech", limit=2)
    assert (told["count"], "truncated" in told) == (2, False)
    assert text.startswith("2 facts about Initech")


async def test_where_no_fact_meets_the_request_the_others_are_named(app):
    text, told = await ask(app, entity="Ada Lovelace", types=["married_to"])
    assert (told["status"], told["facts"]) == ("success", [])
    assert text == (
        "No facts about Ada Lovelace (person, 2 memories) that meet the request. "
        "There are others, current or over: works_at."
    )


async def test_an_entity_without_facts_is_answered_as_such(graph_app, remember):
    async with graph_app(extractor="paced") as app:
        await remember("ABC-123")
        await app.call("build_graph")
        text, _ = await ask(app, entity="ABC-123")
    assert text == "No current facts about ABC-123 (1 memory)."


async def test_types_are_taken_in_other_words_too(app):
    _, told = await ask(app, entity="Ada Lovelace", types=["Works at"])
    assert steps(told) == [(1, "Ada Lovelace", "works_at", "Initech")]


async def test_an_ended_fact_is_shown_as_ended(app):
    await state(app, app.ids[3], {"subject": "Bob", "relation": "worked_at", "object": "Acme", "until": "2020"})
    text, _ = await ask(app, entity="Bob", ended=True)
    assert "(until 2020, over)" in text


async def test_one_can_start_from_a_memory(app):
    text, told = await ask(app, memory_id=app.ids[2])
    assert told["episode_id"] == app.ids[2]
    assert sorted(one["name"] for one in told["about"]) == ["Initech", "PostgreSQL"]
    assert (1, "Ada Lovelace", "works_at", "Initech") in steps(told)
    assert text.startswith("2 facts about ")


async def test_an_entity_is_not_mentioned_with_itself(app):
    await app.call("build_graph", {"memory_ids": [app.ids[3]]})
    _, told = await ask(app, memory_id=app.ids[3])
    assert "mentioned_with" not in told


async def test_a_memory_that_says_nothing_yet_says_what_to_do(app):
    text, told = await ask(app, memory_id=app.ids[3])
    assert (told["status"], told["count"], told["about"]) == ("success", 0, [])
    assert text.startswith(f"No entity is known in memory {app.ids[3]}; add_facts states what it says")


async def test_many_starts_are_named_in_short(app, remember):
    [crowd] = await remember("Present: Turing, Church, Noether, Hilbert, Kovalevskaya.")
    await app.call("build_graph")
    text, told = await ask(app, memory_id=crowd)
    assert len(told["about"]) == 6
    assert "), …." in text


async def test_an_unknown_entity_comes_with_similar_names(app):
    await app.call("build_graph")
    text, told = await ask(app, entity="Lovelaces Ada")
    assert (told["error_type"], told["error_code"], told["status_code"]) == ("not_found", "ENTITY_NOT_FOUND", 404)
    assert text.startswith("Error: There is no entity 'Lovelaces Ada' in the graph.\nSimilar names: ")
    assert text.endswith("search_memory finds memories by meaning.")


async def test_an_unknown_entity_may_be_in_memories_that_are_not_read(app):
    _, told = await ask(app, entity="Turing")
    assert "Not extracted yet: 4 memories; call build_graph." in told["suggestion"]


async def test_facts_of_deleted_memories_are_not_shown(app):
    await app.app.engine.delete_memory(app.ids[2])
    assert steps((await ask(app, entity="Initech"))[1]) == [(1, "Ada Lovelace", "works_at", "Initech")]
    assert (await ask(app, entity="PostgreSQL"))[1]["error_code"] == "ENTITY_NOT_FOUND"
    _, told = await ask(app, memory_id=app.ids[2])
    assert (told["error_code"], "is deleted" in told["message"]) == ("MEMORY_NOT_FOUND", True)
    await app.app.engine.restore_memory(app.ids[2])
    assert (await ask(app, entity="PostgreSQL"))[1]["count"] == 1


async def test_a_fact_is_current_again_when_what_ended_it_is_deleted(app):
    await app.app.engine.delete_memory(app.ids[1])
    assert steps((await ask(app, entity="Ada Lovelace"))[1]) == [(1, "Ada Lovelace", "works_at", "Acme")]
    await app.app.engine.restore_memory(app.ids[1])
    assert steps((await ask(app, entity="Ada Lovelace"))[1]) == [(1, "Ada Lovelace", "works_at", "Initech")]


async def test_several_memories_that_say_the_same_are_one_fact(app, remember):
    [again] = await remember("Everybody knows that Initech uses PostgreSQL.")
    await state(app, again, USES)
    text, told = await ask(app, entity="PostgreSQL")
    assert len(told["facts"][0]["evidence"]) == 2
    assert text.endswith("] and 1 more")


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        ({}, "give either entity or memory_id"),
        ({"entity": " ", "memory_id": None}, "give either entity or memory_id"),
        ({"entity": "Ada", "memory_id": "x"}, "give either entity or memory_id"),
        ({"entity": "Ada", "at": "tomorrow"}, "at must be a date or a time in ISO 8601, such as 2024-05-31"),
        ({"entity": "Ada", "depth": 4}, "depth must be at most 3"),
    ],
    ids=["neither", "blank", "both", "no moment", "too deep"],
)
async def test_wrong_arguments_are_named_with_their_rule(app, arguments, rule):
    _, told = await ask(app, **arguments)
    assert (told["error_type"], told["message"]) == ("validation", rule)


async def test_a_tool_that_is_called_without_the_host_checks_its_arguments_too(app):
    tool = app.app.registry.get("get_related")
    with pytest.raises(ValueError, match="depth: Input should be less than or equal to 3"):
        await tool.execute({"entity": "Ada", "depth": 4})


async def test_hostile_names_are_only_names(app):
    for name in ("'; DROP TABLE entity; --", '" OR 1=1', "\u202eevil", "🦄"):
        assert (await ask(app, entity=name))[1]["error_code"] == "ENTITY_NOT_FOUND"
