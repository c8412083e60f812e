import pytest

from zapomni_core.testing import text_of

TEXTS = (
    "Ada Lovelace works at Acme since 2019.",
    "Since 2021 Ada Lovelace works at Initech.",
    "Initech uses PostgreSQL.",
    "We met Grace Hopper and Ada Lovelace in Berlin.",
)


@pytest.fixture
async def app(graph_app, remember):
    """The graph of a few memories, whose ids are in `ids`."""
    async with graph_app() as app:
        app.ids = await remember(*TEXTS)
        await app.call("build_graph")
        yield app


async def ask(app, **arguments):
    answer = await app.call("get_related", arguments)
    return text_of(answer), answer["structuredContent"]


def steps(told):
    return [(one["distance"], one["subject"], one["type"], one["object"]) for one in told["relations"]]


async def test_each_relation_comes_with_the_memory_that_says_it_and_its_words(app):
    text, told = await ask(app, entity="Ada Lovelace", types=["works_at"])
    [relation] = told["relations"]
    assert relation["basis"] == "pattern"
    assert relation["evidence"] == [{"memory_id": app.ids[1], "quote": TEXTS[1]}]
    assert relation["valid_from"] == "2021-01-01T00:00:00Z"
    assert relation.keys().isdisjoint({"valid_until", "superseded_at"}), "what has no time says nothing of it"
    assert text.splitlines()[1] == f'- Ada Lovelace —works_at→ Initech (since 2021) [{app.ids[1]}: "{TEXTS[1]}"]'


async def test_names_are_found_however_they_are_spelled_and_by_id(app):
    _, told = await ask(app, entity=" ADA  lovelace")
    [entity] = told["about"]
    assert entity["name"] == "Ada Lovelace"
    assert (await ask(app, entity=entity["entity_id"]))[1]["relations"] == told["relations"]


async def test_what_is_only_mentioned_together_is_said_to_be_such_and_comes_last(app):
    text, told = await ask(app, entity="Ada Lovelace")
    assert [one["basis"] for one in told["relations"]] == ["pattern", "mention", "mention"]
    assert "Grace Hopper and Ada Lovelace are mentioned together [" in text
    assert "mentioned_with" not in text


async def test_deeper_steps_follow_the_nearer_ones(app):
    text, told = await ask(app, entity="Ada Lovelace", depth=2, types=["works_at", "uses"])
    assert steps(told) == [(1, "Ada Lovelace", "works_at", "Initech"), (2, "Initech", "uses", "PostgreSQL")]
    assert [line for line in text.splitlines() if line.endswith("away:")] == ["1 step away:", "2 steps away:"]


@pytest.mark.parametrize(
    ("direction", "related"),
    [("out", ["PostgreSQL"]), ("in", ["Ada Lovelace"]), ("both", ["Ada Lovelace", "PostgreSQL"])],
)
async def test_relations_can_be_asked_for_by_direction(app, direction, related):
    _, told = await ask(app, entity="Initech", direction=direction)
    ends = {name for one in told["relations"] for name in (one["subject"], one["object"])}
    assert sorted(ends - {"Initech"}) == related


@pytest.mark.parametrize(
    "moment", ["2020", "2020-06", "2020-06-01", "2020-06-01T10:00:00", "2020-06-01T10:00:00+03:00"]
)
async def test_what_was_true_at_a_moment_can_be_asked_for(app, moment):
    text, told = await ask(app, entity="Ada Lovelace", types=["works_at"], at=moment)
    assert steps(told) == [(1, "Ada Lovelace", "works_at", "Acme")]
    assert "(2019 to 2021, superseded)" in text


async def test_what_is_true_only_later_hides_nothing_and_says_so(graph_app, remember):
    async with graph_app() as app:
        await remember("Anna lives in Berlin.", "From 2099 Anna lives in Paris.")
        await app.call("build_graph")
        text, _ = await ask(app, entity="Anna", types=["lives_in"])
    assert "—lives_in→ Berlin (until 2099) [" in text
    assert "—lives_in→ Paris (from 2099 on) [" in text


async def test_what_is_over_comes_only_if_asked_for(app):
    _, told = await ask(app, entity="Acme")
    assert told["count"] == 0
    _, told = await ask(app, entity="Acme", include_superseded=True)
    [relation] = told["relations"]
    assert relation["valid_until"] == "2021-01-01T00:00:00Z"
    assert relation["superseded_at"] >= relation["learned_at"]


async def test_a_limit_is_kept(app):
    text, told = await ask(app, entity="Ada Lovelace", limit=1)
    assert (told["count"], told["truncated"]) == (1, True)
    assert text.startswith("The first 1 relation of Ada Lovelace (person, 3 memories); there are more (limit 1):")
    text, told = await ask(app, entity="Ada Lovelace", limit=3)
    assert (told["count"], told["truncated"]) == (3, False)
    assert text.startswith("3 relations of Ada Lovelace")


async def test_no_relations_is_an_answer(app):
    text, told = await ask(app, entity="PostgreSQL", direction="out")
    assert (told["status"], told["relations"]) == ("success", [])
    assert text == (
        "No relations of PostgreSQL (name, 1 memory) that meet the request. "
        "There are relations of these types, some perhaps superseded: uses."
    )


async def test_an_entity_without_relations_is_told_as_such(graph_app, remember):
    async with graph_app() as app:
        await remember("ABC-123.")
        await app.call("build_graph")
        text, _ = await ask(app, entity="ABC-123")
    assert text.endswith("that meet the request.")


async def test_types_are_taken_in_other_words_too(app):
    _, told = await ask(app, entity="Ada Lovelace", types=["Works at"])
    assert steps(told) == [(1, "Ada Lovelace", "works_at", "Initech")]


async def test_types_that_are_not_there_are_answered_with_those_that_are(app):
    text, told = await ask(app, entity="Ada Lovelace", types=["married_to"])
    assert told["count"] == 0
    assert text.endswith("some perhaps superseded: mentioned_with, works_at.")


@pytest.mark.parametrize("direction", ["out", "in"])
async def test_who_is_mentioned_with_whom_has_no_direction(app, direction):
    _, told = await ask(app, entity="Grace Hopper", direction=direction)
    assert {one["basis"] for one in told["relations"]} == {"mention"}


async def test_what_has_ended_is_said_to_be_over(graph_app, remember):
    async with graph_app() as app:
        await remember("Bob Dylan worked at Acme until 2020.")
        await app.call("build_graph")
        text, _ = await ask(app, entity="Bob Dylan", types=["worked_at"])
    assert "(until 2020, over)" in text


async def test_one_can_start_from_a_memory(app):
    text, told = await ask(app, memory_id=app.ids[2])
    assert told["episode_id"] == app.ids[2]
    assert [one["name"] for one in told["about"]] == ["Initech", "PostgreSQL"]
    assert (1, "Ada Lovelace", "works_at", "Initech") in steps(told)
    assert text.startswith("2 relations of Initech (name, 2 memories), PostgreSQL (name, 1 memory):")


async def test_a_memory_that_was_not_read_says_how_to_read_it(app, remember):
    [new] = await remember("Alan Turing lives in Manchester.")
    text, told = await ask(app, memory_id=new)
    assert (told["status"], told["count"], told["about"]) == ("success", 0, [])
    assert text.startswith(f"No entity was read in memory {new}; if it is new, build_graph")


async def test_many_starts_are_named_in_short(app, remember):
    names = ["Alan Turing", "Kurt Gödel", "Alonzo Church", "Emmy Noether", "David Hilbert", "Sofia Kovalevskaya"]
    [crowd] = await remember(f"Present were {', '.join(names)}.")
    await app.call("build_graph")
    text, told = await ask(app, memory_id=crowd)
    assert len(told["about"]) > 5
    assert text.splitlines()[0].endswith(", …:")


async def test_an_unknown_entity_comes_with_the_nearest_names(app):
    text, told = await ask(app, entity="Ada")
    assert (told["error_type"], told["error_code"], told["status_code"]) == ("not_found", "ENTITY_NOT_FOUND", 404)
    assert text == (
        "Error: There is no entity 'Ada' in the graph. Near by name: Ada Lovelace. "
        "search_memory_nodes finds entities by meaning."
    )


async def test_an_unknown_entity_may_be_in_memories_that_are_not_read(app, remember):
    await remember("Alan Turing lives in Manchester.")
    _, told = await ask(app, entity="Turing")
    assert "Not in the graph yet: 1 memory; call build_graph." in told["suggestion"]


async def test_what_only_a_deleted_memory_says_does_not_show(app):
    await app.app.engine.delete_memory(app.ids[2])
    assert steps((await ask(app, entity="Initech"))[1]) == [(1, "Ada Lovelace", "works_at", "Initech")]
    assert (await ask(app, entity="PostgreSQL"))[1]["error_code"] == "ENTITY_NOT_FOUND"
    _, told = await ask(app, memory_id=app.ids[2])
    assert (told["error_code"], "is deleted" in told["message"]) == ("MEMORY_NOT_FOUND", True)
    await app.app.engine.restore_memory(app.ids[2])
    assert (await ask(app, entity="PostgreSQL"))[1]["count"] == 1


async def test_several_memories_that_say_the_same_are_one_relation(app, remember):
    await remember("Everybody knows that Initech uses PostgreSQL.")
    await app.call("build_graph")
    text, told = await ask(app, entity="PostgreSQL")
    assert len(told["relations"][0]["evidence"]) == 2
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
