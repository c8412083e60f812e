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
    """An app with a few facts; `ids` holds the memories, from which no names were extracted."""
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


def steps(record):
    return [(one["distance"], one["subject"], one["relation"], one["object"]) for one in record["facts"]]


async def test_each_fact_has_its_dates_and_the_memory_that_states_it(app):
    text, record = await ask(app, entity="Ada Lovelace", types=["works_at"])
    assert record["facts"] == [
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


async def test_empty_fields_are_omitted(app):
    _, record = await ask(app, entity="PostgreSQL")
    assert record.keys() == {"status", "message", "processing_time_ms", "about", "count", "facts"}
    assert record["facts"][0].keys().isdisjoint({"since", "until", "ended_by"})


async def test_an_entity_is_found_in_any_spelling_and_by_id(app):
    _, record = await ask(app, entity=" ADA  lovelace")
    [entity] = record["about"]
    assert entity["name"] == "Ada Lovelace"
    assert (await ask(app, entity=entity["entity_id"]))[1]["facts"] == record["facts"]


async def test_entities_mentioned_together_come_last_in_one_line(app):
    await app.call("build_graph")
    text, record = await ask(app, entity="Initech")
    assert sorted(one["relation"] for one in record["facts"]) == ["uses", "works_at"]
    names = {one["name"]: one["memories"] for one in record["mentioned_with"]}
    assert names == {"Since": 1, "Ada": 1, "Lovelace": 1, "PostgreSQL": 1}
    last = text.splitlines()[-1]
    assert last.startswith("mentioned with: ")
    assert "PostgreSQL (1)" in last


async def test_the_five_entities_most_often_mentioned_together_are_shown(graph_app, remember):
    async with graph_app(extractor="pairs") as app:
        await remember("Kafka, Acme, Bravo, Charlie, Delta, Echo, Foxtrot.", "Kafka and Acme.", "Acme met Kafka again.")
        await app.call("build_graph")
        text, record = await ask(app, entity="Kafka")
    assert record["mentioned_with"][0] == {"name": "Acme", "memories": 3}
    assert len(record["mentioned_with"]) == 5
    assert (record["count"], record["facts"]) == (0, [])
    assert text.splitlines()[0] == "No current facts about Kafka (3 memories)."
    assert text.splitlines()[1].startswith("mentioned with: Acme (3), ")


async def test_entities_mentioned_together_have_evidence_if_the_type_is_requested(app):
    await app.call("build_graph")
    text, record = await ask(app, entity="Grace", types=["mentioned_with"])
    assert {one["basis"] for one in record["facts"]} == {"mention"}
    assert record["count"] == 4
    assert f'are mentioned together [{app.ids[3]}: "{TEXTS[3]}"]' in text
    assert "mentioned_with" not in record


async def test_facts_are_sorted_by_distance(app):
    text, record = await ask(app, entity="Ada Lovelace", depth=2)
    assert steps(record) == [(1, "Ada Lovelace", "works_at", "Initech"), (2, "Initech", "uses", "PostgreSQL")]
    assert [line for line in text.splitlines() if line.endswith("away:")] == ["1 step away:", "2 steps away:"]


@pytest.mark.parametrize(
    ("direction", "related"),
    [("out", ["PostgreSQL"]), ("in", ["Ada Lovelace"]), ("both", ["Ada Lovelace", "PostgreSQL"])],
)
async def test_facts_can_be_filtered_by_direction(app, direction, related):
    _, record = await ask(app, entity="Initech", direction=direction)
    ends = {name for one in record["facts"] for name in (one["subject"], one["object"])}
    assert sorted(ends - {"Initech"}) == related


@pytest.mark.parametrize(
    "moment", ["2020", "2020-06", "2020-06-01", "2020-06-01T10:00:00", "2020-06-01T10:00:00+03:00"]
)
async def test_facts_can_be_queried_at_a_moment(app, moment):
    text, record = await ask(app, entity="Ada Lovelace", at=moment)
    assert steps(record) == [(1, "Ada Lovelace", "works_at", "Acme")]
    assert f"(2019 to 2021, ended by {app.ids[1]})" in text


async def test_a_future_fact_is_marked_and_does_not_hide_the_current_one(app):
    anna = {"subject": "Anna", "relation": "lives_in"}
    await state(
        app, app.ids[3], anna | {"object": "Berlin"}, anna | {"object": "Paris", "since": "2099", "replaces": True}
    )
    text, record = await ask(app, entity="Anna")
    assert "lives_in Berlin (until 2099) [" in text
    assert "lives_in Paris (from 2099 on) [" in text
    assert record["count"] == 2


async def test_ended_facts_are_shown_only_on_request(app):
    assert (await ask(app, entity="Acme"))[1]["count"] == 0
    _, record = await ask(app, entity="Acme", ended=True)
    [fact] = record["facts"]
    assert (fact["since"], fact["until"], fact["ended_by"]) == ("2019-01-01", "2021-01-01", app.ids[1])


async def test_the_limit_truncates_the_facts(app):
    text, record = await ask(app, entity="Initech", limit=1)
    assert (record["count"], record["truncated"]) == (1, True)
    assert text.startswith("The first 1 fact about Initech (")
    assert text.splitlines()[0].endswith("; there are more (limit 1):")
    text, record = await ask(app, entity="Initech", limit=2)
    assert (record["count"], "truncated" in record) == (2, False)
    assert text.startswith("2 facts about Initech")


async def test_if_no_fact_matches_the_other_relations_are_named(app):
    text, record = await ask(app, entity="Ada Lovelace", types=["married_to"])
    assert (record["status"], record["facts"]) == ("success", [])
    assert text.startswith("No facts about Ada Lovelace (person, 2 memories)")
    assert "works_at" in text


async def test_an_entity_without_facts_gets_an_answer_that_says_so(graph_app, remember):
    async with graph_app(extractor="paced") as app:
        await remember("ABC-123")
        await app.call("build_graph")
        text, _ = await ask(app, entity="ABC-123")
    assert text == "No current facts about ABC-123 (1 memory)."


async def test_relation_types_are_normalised(app):
    _, record = await ask(app, entity="Ada Lovelace", types=["Works at"])
    assert steps(record) == [(1, "Ada Lovelace", "works_at", "Initech")]


async def test_an_ended_fact_is_shown_as_ended(app):
    await state(app, app.ids[3], {"subject": "Bob", "relation": "worked_at", "object": "Acme", "until": "2020"})
    text, _ = await ask(app, entity="Bob", ended=True)
    assert "(until 2020, over)" in text


async def test_a_query_can_start_from_a_memory(app):
    text, record = await ask(app, memory_id=app.ids[2])
    assert record["episode_id"] == app.ids[2]
    assert sorted(one["name"] for one in record["about"]) == ["Initech", "PostgreSQL"]
    assert (1, "Ada Lovelace", "works_at", "Initech") in steps(record)
    assert text.startswith("2 facts about ")


async def test_an_entity_is_not_mentioned_with_itself(app):
    await app.call("build_graph", {"memory_ids": [app.ids[3]]})
    _, record = await ask(app, memory_id=app.ids[3])
    assert "mentioned_with" not in record


async def test_the_answer_for_a_memory_without_entities_suggests_add_facts(app):
    text, record = await ask(app, memory_id=app.ids[3])
    assert (record["status"], record["count"], record["about"]) == ("success", 0, [])
    assert app.ids[3] in text
    assert "add_facts" in text


async def test_a_long_list_of_starting_entities_is_shortened(app, remember):
    [crowd] = await remember("Present: Turing, Church, Noether, Hilbert, Kovalevskaya.")
    await app.call("build_graph")
    text, record = await ask(app, memory_id=crowd)
    assert len(record["about"]) == 6
    assert "), …." in text


async def test_the_error_for_an_unknown_entity_suggests_similar_names(app):
    await app.call("build_graph")
    text, record = await ask(app, entity="Lovelaces Ada")
    assert (record["error_type"], record["error_code"], record["status_code"]) == ("not_found", "ENTITY_NOT_FOUND", 404)
    assert "'Lovelaces Ada'" in text.splitlines()[0]
    assert "\nSimilar names: " in text
    assert "search_memory" in text


async def test_the_error_for_an_unknown_entity_counts_memories_that_are_not_extracted_yet(app):
    _, record = await ask(app, entity="Turing")
    assert "4 memories; call build_graph" in record["suggestion"]


async def test_facts_of_deleted_memories_are_not_shown(app):
    await app.app.engine.delete_memory(app.ids[2])
    assert steps((await ask(app, entity="Initech"))[1]) == [(1, "Ada Lovelace", "works_at", "Initech")]
    assert (await ask(app, entity="PostgreSQL"))[1]["error_code"] == "ENTITY_NOT_FOUND"
    _, record = await ask(app, memory_id=app.ids[2])
    assert (record["error_code"], "deleted" in record["message"]) == ("MEMORY_NOT_FOUND", True)
    await app.app.engine.restore_memory(app.ids[2])
    assert (await ask(app, entity="PostgreSQL"))[1]["count"] == 1


async def test_a_fact_becomes_current_again_when_the_memory_that_ended_it_is_deleted(app):
    await app.app.engine.delete_memory(app.ids[1])
    assert steps((await ask(app, entity="Ada Lovelace"))[1]) == [(1, "Ada Lovelace", "works_at", "Acme")]
    await app.app.engine.restore_memory(app.ids[1])
    assert steps((await ask(app, entity="Ada Lovelace"))[1]) == [(1, "Ada Lovelace", "works_at", "Initech")]


async def test_memories_that_state_the_same_fact_are_its_evidence(app, remember):
    [again] = await remember("It is known that Initech uses PostgreSQL.")
    await state(app, again, USES)
    text, record = await ask(app, entity="PostgreSQL")
    assert len(record["facts"][0]["evidence"]) == 2
    assert text.endswith("] and 1 more")


@pytest.mark.parametrize(
    ("arguments", "fields"),
    [
        ({}, {"entity", "memory_id"}),
        ({"entity": " ", "memory_id": None}, {"entity", "memory_id"}),
        ({"entity": "Ada", "memory_id": "x"}, {"entity", "memory_id"}),
        ({"entity": "Ada", "at": "tomorrow"}, {"at", "ISO"}),
        ({"entity": "Ada", "depth": 4}, {"depth", "3"}),
    ],
    ids=["neither", "blank", "both", "not a date", "too deep"],
)
async def test_invalid_arguments_are_named(app, arguments, fields):
    _, record = await ask(app, **arguments)
    assert record["error_type"] == "validation"
    assert fields <= set(record["message"].split())


async def test_a_tool_validates_its_arguments_without_the_host(app):
    tool = app.app.registry.get("get_related")
    with pytest.raises(ValueError, match="depth"):
        await tool.execute({"entity": "Ada", "depth": 4})


async def test_names_with_sql_or_control_characters_are_treated_as_text(app):
    for name in ("'; DROP TABLE entity; --", '" OR 1=1', "\u202eevil", "🦄"):
        assert (await ask(app, entity=name))[1]["error_code"] == "ENTITY_NOT_FOUND"
