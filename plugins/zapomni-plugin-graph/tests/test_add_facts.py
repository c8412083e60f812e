import asyncio

import pytest

from zapomni_core.testing import text_of

IGOR = {"subject": "Igor", "relation": "owns", "object": "parser"}
LENA = {"subject": "Lena", "relation": "owns", "object": "parser"}
TEXT = "Igor owns the parser since 2023.\nIt is used by\n  Acme."


@pytest.fixture
async def app(graph_app, remember):
    """An app with one memory, whose id is `memory_id`."""
    async with graph_app() as app:
        [app.memory_id] = await remember(TEXT)
        yield app


async def state(app, *facts, memory_id=None):
    arguments = {"memory_id": memory_id or app.memory_id, "facts": list(facts)}
    answer = await app.call("add_facts", arguments)
    return text_of(answer), answer["structuredContent"]


async def related(app, entity, **arguments):
    answer = await app.call("get_related", {"entity": entity, **arguments})
    return answer["structuredContent"].get("facts", [])


async def test_facts_are_stated_with_a_memory_as_their_evidence(app):
    text, record = await state(
        app, IGOR | {"since": "2023"}, {"subject": "Acme", "relation": "uses", "object": "parser"}
    )
    assert text == "2 new facts."
    assert (record["status"], record["memory_id"], record["new"], record["known"]) == ("success", app.memory_id, 2, 0)
    assert "also_current" not in record
    [fact] = await related(app, "igor")
    assert fact == {
        "subject": "Igor",
        "relation": "owns",
        "object": "parser",
        "since": "2023-01-01",
        "basis": "stated",
        "evidence": [{"memory_id": app.memory_id, "quote": "Igor owns the parser since 2023."}],
        "distance": 1,
    }


async def test_a_fact_that_is_stated_again_is_counted_as_known(app):
    await state(app, IGOR)
    text, record = await state(app, IGOR, LENA)
    assert text.splitlines()[0] == "1 new fact, 1 known already."
    assert (record["new"], record["known"], record["ended"]) == (1, 1, 0)


async def test_other_current_facts_with_the_same_subject_and_relation_are_named(app):
    await state(app, {"subject": "parser", "relation": "owned_by", "object": "Igor", "since": "2023"})
    text, record = await state(app, {"subject": "Parser", "relation": "Owned by", "object": "Lena"})
    assert text.splitlines() == ["1 new fact.", "Also current: parser owned_by Igor (since 2023)."]
    [other] = record["also_current"]
    assert other == {"subject": "parser", "relation": "owned_by", "object": "Igor", "since": "2023-01-01"}


async def test_a_replacing_fact_ends_the_facts_it_replaces(app, remember):
    await state(app, {"subject": "parser", "relation": "owned_by", "object": "Igor"})
    [newer] = await remember("Since May it is Lena.")
    lena = {"subject": "parser", "relation": "owned_by", "object": "Lena", "since": "2024-05", "replaces": True}
    text, record = await state(app, lena, memory_id=newer)
    assert text == "1 new fact, 1 ended."
    assert record["ended"] == 1
    assert [fact["object"] for fact in await related(app, "parser")] == ["Lena"]
    assert [fact["object"] for fact in await related(app, "parser", at="2024-04-30")] == ["Igor"]


async def test_until_ends_a_fact(app):
    await state(app, IGOR)
    text, record = await state(app, IGOR | {"until": "2024"})
    assert record["ended"] == 1
    assert "1 ended" in text
    assert await related(app, "Igor") == []


@pytest.mark.parametrize(
    ("given", "moment"),
    [
        ("2024", "2024-01-01"),
        ("2024-05", "2024-05-01"),
        ("2024-05-31", "2024-05-31"),
        ("20240531", "2024-05-31"),
        ("2024-05-31T10:00:00", "2024-05-31T10:00:00Z"),
        ("2024-05-31T10:00:00+03:00", "2024-05-31T07:00:00Z"),
        (" 2024-05-31 10:00Z ", "2024-05-31T10:00:00Z"),
    ],
)
async def test_dates_may_be_years_months_days_or_moments(app, given, moment):
    await state(app, IGOR | {"since": given})
    [fact] = await related(app, "Igor")
    assert fact["since"] == moment


@pytest.mark.parametrize(
    "date", ["31.05.2024", "May 2024", "last year", "2024-13", "0000", "", "²⁰²⁴", "0001-01-01T00:00+14:00"]
)
async def test_an_invalid_date_is_rejected_with_the_number_of_the_fact(app, date):
    text, record = await state(app, LENA, IGOR | {"until": date})
    assert (record["error_type"], record["error_code"]) == ("validation", "INVALID_ARGUMENTS")
    assert "fact 2: until " in text


async def test_null_fields_are_treated_as_omitted(app):
    _, record = await state(app, IGOR | dict.fromkeys(["since", "until", "quote", "replaces", "subject_type"]))
    assert record["new"] == 1


@pytest.mark.parametrize(
    ("fact", "named"),
    [
        (IGOR | {"subject": ""}, "subject"),
        (IGOR | {"object": " \n "}, "object"),
        (IGOR | {"relation": ""}, "relation"),
        (IGOR | {"relation": "mentioned with"}, "mentioned_with"),
        (IGOR | {"object": "x" * 10_000}, "object"),
        (IGOR | {"relation": "x" * 10_000}, "relation"),
        (IGOR | {"subject_type": "x" * 10_000}, "subject_type"),
        (IGOR | {"object": "IGOR"}, "object"),
        (IGOR | {"quote": "Igor sold the parser."}, "quote"),
        (IGOR | {"since": "2024", "until": "2023"}, "until"),
        (IGOR | {"object": "a\0b"}, "object"),
        (IGOR | {"object": 5}, "object"),
        (IGOR | {"replaces": "perhaps"}, "replaces"),
        (IGOR | {"predicate": "owns"}, "'predicate'"),
        ({"subject": "Igor", "object": "parser"}, "required: relation"),
        ("Igor owns parser", "must be an object"),
        (None, "must be an object"),
    ],
    ids=str,
)
async def test_an_invalid_fact_is_named_by_its_number_and_rejects_the_whole_call(app, fact, named):
    text, record = await state(app, LENA, fact)
    assert record["error_type"] == "validation", record
    assert "fact 2: " in text
    assert named in text
    assert len(text) < 500
    assert (await app.call("graph_status"))["structuredContent"]["facts"] == 0


async def test_a_quote_may_differ_in_white_space(app):
    await state(app, {"subject": "Acme", "relation": "uses", "object": "parser", "quote": "used by Acme."})
    [fact] = await related(app, "Acme")
    assert fact["evidence"][0]["quote"] == "used by\n  Acme."


@pytest.mark.parametrize("count", [0, 51])
async def test_a_call_takes_1_to_50_facts(app, count):
    facts = [{"subject": f"Name {number}", "relation": "in", "object": "list"} for number in range(count)]
    text, record = await state(app, *facts)
    assert record["error_type"] == "validation"
    assert f"at {'most 50 items' if count else 'least 1 item'}" in text
    assert (await state(app, *facts[:50]))[1].get("new") == (50 if count else None)


async def test_all_invalid_facts_of_a_call_are_named(app):
    text, _ = await state(app, LENA, LENA | {"since": "soon"}, "Igor owns parser")
    assert "fact 2: since " in text
    assert "fact 3: " in text


async def test_an_unknown_memory_is_an_error(app):
    text, record = await state(app, IGOR, memory_id="nowhere")
    assert (record["error_type"], record["error_code"]) == ("not_found", "MEMORY_NOT_FOUND")
    assert "nowhere" in text


async def test_a_deleted_memory_cannot_be_evidence(app):
    await app.app.engine.delete_memory(app.memory_id)
    text, record = await state(app, IGOR)
    assert (record["error_code"], "deleted" in text) == ("MEMORY_NOT_FOUND", True)


async def test_the_error_for_a_replaced_memory_names_its_replacement(app):
    new = await app.app.engine.add_memory("Lena owns the parser.", replaces=app.memory_id)
    text, record = await state(app, IGOR)
    assert (record["error_code"], new.memory_id in text) == ("MEMORY_NOT_FOUND", True)


async def test_facts_that_are_stated_concurrently_are_stored_once(app):
    answers = await asyncio.gather(*(state(app, IGOR, LENA) for _ in range(8)))
    assert sum(record["new"] for _, record in answers) == 2
    assert (await app.call("graph_status"))["structuredContent"]["facts"] == 2
