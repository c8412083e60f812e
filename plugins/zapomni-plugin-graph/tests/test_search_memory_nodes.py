import pytest

from zapomni_core.testing import text_of

TEXT = "Ada Lovelace and Мария Иванова see src/loading.py and ABC-123."
NAMES = ("Ada Lovelace", "Мария Иванова", "src/loading.py", "ABC-123", "Charité")


@pytest.fixture
async def app(graph_app, remember):
    async with graph_app() as app:
        [app.memory_id] = await remember(TEXT)
        facts = [{"subject": name, "relation": "known_to", "object": "everyone"} for name in NAMES]
        await app.call("add_facts", {"memory_id": app.memory_id, "facts": facts})
        yield app


async def ask(app, **arguments):
    answer = await app.call("search_memory_nodes", arguments)
    return text_of(answer), answer["structuredContent"]


def names(record):
    return [one["name"] for one in record["entities"]]


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("ada", "Ada Lovelace"),
        ("love", "Ada Lovelace"),
        ("Мария", "Мария Иванова"),
        ("ABC-123", "ABC-123"),
        ("loading", "src/loading.py"),
    ],
    ids=["word", "beginning", "cyrillic", "ticket", "part of a path"],
)
async def test_entities_are_found_by_the_words_of_their_name(app, query, name):
    _, record = await ask(app, query=query)
    assert (record["status"], names(record)[0]) == ("success", name)
    assert 0 < record["entities"][0]["score"] <= 1


async def test_the_answer_lists_the_entities_by_number(app):
    text, _ = await ask(app, query="Ada Lovelace", limit=1)
    assert text.splitlines()[0] == "Found 1 entity:"
    assert text.splitlines()[1].startswith("1. Ada Lovelace (")


async def test_much_weaker_hits_are_omitted(app):
    _, record = await ask(app, query="Ada Lovelace")
    assert names(record) == ["Ada Lovelace"]


async def test_an_answer_without_hits_suggests_other_tools(app):
    text, record = await ask(app, query="zzzqqqxxx")
    assert (record["status"], record["count"], record["entities"]) == ("success", 0, [])
    assert "6 entities" in text
    assert "1 memory; call build_graph" in text
    assert "search_memory" in text


async def test_the_limit_is_applied(app):
    assert len(names((await ask(app, query="Ada Мария loading", limit=2))[1])) <= 2


async def test_null_means_the_default(app):
    assert names((await ask(app, query="Ada", limit=None))[1]) == ["Ada Lovelace"]


async def test_entities_of_deleted_memories_are_not_found(app):
    await app.app.engine.delete_memory(app.memory_id)
    assert names((await ask(app, query="Ada Lovelace"))[1]) == []


async def test_a_blank_query_is_rejected(app):
    _, record = await ask(app, query="  ")
    assert (record["error_type"], record["message"]) == ("validation", "query cannot be empty or whitespace-only")
