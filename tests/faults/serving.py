"""Real servers on one store, each driven by a thread of its own."""

from contextlib import contextmanager

from tests.e2e.wire import HASHING, ZAPOMNI, starting

THINGS = ["anchor", "bridge", "candle", "engine", "goblet", "hammer", "island", "jacket", "kettle", "ladder", "mirror"]
PLACES = [
    "Amber",
    "Basil",
    "Cedar",
    "Delta",
    "Ember",
    "Fjord",
    "Hazel",
    "Inlet",
    "Lotus",
    "Maple",
    "Opal",
    "Reef",
    "Slate",
]


def fact(server, number):
    """A short text that no other is like: words that say where it came from, and one that only it has."""
    return f"The {THINGS[number % 11]} of {PLACES[number % 13]} has the mark s{server}n{number}x."


def mark(text):
    """The word that only this text has."""
    return text.split()[-1].rstrip(".")


@contextmanager
def servers(folder):
    """A way to start servers in a folder that all use one store."""
    with starting(folder) as start:
        yield lambda: start(ZAPOMNI, "serve", "--plugin", HASHING, ZAPOMNI_EMBEDDER="hashing")


def store_file(folder):
    return folder / "home" / "data" / "zapomni" / "memory.db"


def ask(server, tool, **arguments):
    """The structured content of a call that must succeed."""
    result = server.call(tool, arguments)
    assert not result.get("isError"), result
    return result["structuredContent"]


def assert_found(server, told):
    """Whether memories are there whole, by id, by word and by their exact text; `told` has their ids by text."""
    for text, memory_id in told.items():
        assert ask(server, "get_memory", memory_id=memory_id)["text"] == text
        by_word = ask(server, "search_memory", query=mark(text), limit=3)["results"]
        assert memory_id in [hit["memory_id"] for hit in by_word], text
        by_text = ask(server, "search_memory", query=text, limit=1)["results"]
        assert [hit["memory_id"] for hit in by_text] == [memory_id], text
