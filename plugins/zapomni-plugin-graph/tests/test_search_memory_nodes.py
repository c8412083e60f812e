import pytest

from zapomni_core.testing import text_of

TEXTS = ("Ada Lovelace works at Acme.", "Мария Иванова работает в Яндекс.", "See src/loading.py and ABC-123.")


@pytest.fixture
async def app(graph_app, remember):
    async with graph_app() as app:
        app.ids = await remember(*TEXTS)
        await app.call("build_graph")
        yield app


async def ask(app, **arguments):
    answer = await app.call("search_memory_nodes", arguments)
    return text_of(answer), answer["structuredContent"]


def names(told):
    return [one["name"] for one in told["entities"]]


@pytest.mark.parametrize(
    ("query", "name"),
    [("ada", "Ada Lovelace"), ("love", "Ada Lovelace"), ("мария", "Мария Иванова"), ("ABC-123", "ABC-123")],
    ids=["word", "beginning", "cyrillic", "ticket"],
)
async def test_entities_are_found_by_the_words_of_their_name(app, query, name):
    _, told = await ask(app, query=query)
    assert (told["status"], names(told)[0]) == ("success", name)
    assert 0 < told["entities"][0]["score"] <= 1


async def test_the_answer_reads_well(app):
    text, _ = await ask(app, query="Ada Lovelace", limit=1)
    assert text.splitlines()[0] == "Found 1 entity:"
    assert text.splitlines()[1].startswith("1. Ada Lovelace (person, 1 memory) · ")


async def test_entities_are_found_by_vector_where_no_word_fits(app):
    # The embedder of the tests knows runs of three letters: what shares them is near.
    _, told = await ask(app, query="unlovelaced")
    assert names(told)[0] == "Ada Lovelace"


async def test_without_the_embedder_words_still_find_and_the_answer_says_so(app, parts):
    parts.embedder.broken = True
    text, told = await ask(app, query="Ada")
    assert (told["status"], names(told)) == ("degraded", ["Ada Lovelace"])
    assert text.endswith("Note: The embedder failed, so only words were searched, not meaning.")


async def test_what_is_much_worse_than_the_best_is_left_out(app):
    _, told = await ask(app, query="Ada Lovelace")
    assert names(told) == ["Ada Lovelace"]


async def test_what_nothing_is_like_is_told_as_such(app):
    text, told = await ask(app, query="zzzqqqxxx")
    assert text.startswith(("Probably nothing: no name has these words", "Nothing found"))
    assert (told["status"], told["likely"]) == ("success", False)
    assert told["count"] <= 3
    assert (await ask(app, query="Ada"))[1]["likely"]


async def test_a_limit_is_kept(app):
    assert len(names((await ask(app, query="Ada Мария loading", limit=2))[1])) <= 2


async def test_deleted_memories_do_not_show(app):
    await app.app.engine.delete_memory(app.ids[0])
    assert "Ada Lovelace" not in names((await ask(app, query="Ada Lovelace"))[1])


async def test_nothing_found_says_what_was_searched(graph_app, remember):
    async with graph_app() as app:
        text, told = await ask(app, query="Ada")
        assert (told["status"], told["entities"]) == ("success", [])
        assert text == "Nothing found: the graph has 0 entities and 0 relations."
        await remember(TEXTS[0])
        text, _ = await ask(app, query="Ada")
        assert text.endswith("Not in the graph yet: 1 memory; call build_graph.")


async def test_a_query_that_says_nothing_is_refused(app):
    _, told = await ask(app, query="  ")
    assert (told["error_type"], told["message"]) == ("validation", "query cannot be empty or whitespace-only")
