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


def names(told):
    return [one["name"] for one in told["entities"]]


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
    _, told = await ask(app, query=query)
    assert (told["status"], names(told)[0]) == ("success", name)
    assert 0 < told["entities"][0]["score"] <= 1


async def test_the_answer_reads_well(app):
    text, _ = await ask(app, query="Ada Lovelace", limit=1)
    assert text.splitlines()[0] == "Found 1 entity:"
    assert text.splitlines()[1].startswith("1. Ada Lovelace (")


async def test_much_worse_hits_are_left_out(app):
    _, told = await ask(app, query="Ada Lovelace")
    assert names(told) == ["Ada Lovelace"]


async def test_where_no_name_has_the_words_the_answer_says_where_else_to_look(app):
    text, told = await ask(app, query="zzzqqqxxx")
    assert (told["status"], told["count"], told["entities"]) == ("success", 0, [])
    assert text.startswith("No name of the 6 entities has these words.")
    assert "Not extracted yet: 1 memory; call build_graph." in text
    assert "search_memory finds memories by meaning" in text


async def test_a_limit_is_kept(app):
    assert len(names((await ask(app, query="Ada Мария loading", limit=2))[1])) <= 2


async def test_null_means_the_default(app):
    assert names((await ask(app, query="Ada", limit=None))[1]) == ["Ada Lovelace"]


async def test_deleted_memories_do_not_show(app):
    await app.app.engine.delete_memory(app.memory_id)
    assert names((await ask(app, query="Ada Lovelace"))[1]) == []


async def test_a_query_that_says_nothing_is_refused(app):
    _, told = await ask(app, query="  ")
    assert (told["error_type"], told["message"]) == ("validation", "query cannot be empty or whitespace-only")
