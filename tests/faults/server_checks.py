"""Starts servers on one store, and checks what they have stored."""

from contextlib import contextmanager

from tests.e2e.stdio_server import HASHING, ZAPOMNI, start_servers

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
    """A unique short text of a server; its last word is unique too."""
    return f"The {THINGS[number % 11]} of {PLACES[number % 13]} has the mark s{server}n{number}x."


def mark(text):
    """The unique word of a text."""
    return text.split()[-1].rstrip(".")


@contextmanager
def servers(folder):
    """Yield a function that starts servers on one store."""
    with start_servers(folder) as start:
        yield lambda: start(ZAPOMNI, "serve", "--plugin", HASHING, ZAPOMNI_EMBEDDER="hashing")


def store_file(folder):
    return folder / "home" / "data" / "zapomni" / "memory.db"


def ask(server, tool, **arguments):
    """The structured content of a call that must succeed."""
    result = server.call(tool, arguments)
    assert not result.get("isError"), result
    return result["structuredContent"]


def assert_found(server, told):
    """Check that memories are found by id, by word and by their exact text; `told` has their ids by text."""
    for text, memory_id in told.items():
        assert ask(server, "get_memory", memory_id=memory_id)["text"] == text
        by_word = ask(server, "search_memory", query=mark(text), limit=3)["results"]
        assert memory_id in [hit["memory_id"] for hit in by_word], text
        by_text = ask(server, "search_memory", query=text, limit=1)["results"]
        assert [hit["memory_id"] for hit in by_text] == [memory_id], text
