"""Memories over real stdio: a real server, a real client in both eras, the default store and the default embedder.

The long text has 100,000 characters here, and all of the 10,000,000 that are allowed in the long form (`make soak`). The
protocol's eras differ in how a client is named and how a call is cancelled; the rest is tested in one of them.
"""

import asyncio
import json
import subprocess
from concurrent.futures import CancelledError
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest

from tests.e2e.mcp_client import ERAS, NAME, connect
from tests.e2e.stdio_server import SECONDS, ZAPOMNI, environment, eventually
from zapomni_db.sqlite import SQLiteStore

pytestmark = pytest.mark.xdist_group("memory")

MOST = 10_000_000
PLANTED = {
    "head": "The lighthouse keeper of Skerryvore was called Murdoch.",
    "middle": "The cellar of the monastery holds 4711 bottles of plum brandy.",
    "tail": "Professor Quillfeather retired to a houseboat in Utrecht.",
}
QUESTIONS = {
    "head": "Who kept the lighthouse of Skerryvore?",
    "middle": "How many bottles of plum brandy are in the monastery's cellar?",
    "tail": "Where did Professor Quillfeather retire to?",
}


def long_text(characters):
    """A report of at most so many characters, with a fact at its head, in its middle and at its tail."""
    paragraphs, length = [PLANTED["head"]], 0
    for number in count():
        paragraph = f"Day {number}. The gauge at post {number % 977} read {number * 7 % 1009} millimetres, and the crew went on."
        length += len(paragraph) + 2
        if length > characters - 300:
            break
        paragraphs.append(paragraph)
    paragraphs.insert(len(paragraphs) // 2, PLANTED["middle"])
    return "\n\n".join([*paragraphs, PLANTED["tail"]])


@contextmanager
def connected(folder, era):
    env = environment(folder / "home")
    with connect([ZAPOMNI, "serve"], era, env=env, cwd=folder, log=folder / "server.log") as client:
        yield client


def store_file(folder):
    return folder / "home" / "data" / "zapomni" / "memory.db"


def ask(client, tool, seconds=SECONDS, **arguments):
    """The structured content of a call that must succeed."""
    result = client.start_call(tool, arguments).result(seconds)
    assert not result.is_error, result.content
    return result.structured_content


def counts(client):
    statistics = ask(client, "get_stats")["statistics"]
    return {
        key: statistics.get(key, 0)
        for key in ("total_memories", "total_chunks", "deleted_memories", "superseded_memories")
    }


def problems(path: Path):
    async def check():
        store = SQLiteStore(path)
        try:
            return await store.check()
        finally:
            await store.close()

    return asyncio.run(check())


def test_a_memory_is_added_found_read_deleted_restored_and_corrected(tmp_path):
    with connected(tmp_path, "auto") as client:
        first = ask(
            client, "add_memory", text="Ada keeps her passport in the blue drawer.", metadata={"source": "chat"}
        )
        ask(client, "add_memory", text="The cat sleeps on the window sill.", metadata=None)
        found = ask(client, "search_memory", query="Wo ist Adas Reisepass?", limit=5)
        assert found["results"][0]["memory_id"] == first["memory_id"]
        opened = ask(client, "get_memory", memory_id=first["memory_id"])
        assert (opened["text"], opened["metadata"]) == (
            "Ada keeps her passport in the blue drawer.",
            {"source": "chat"},
        )
        deleted = client.call("delete_memory", {"memory_id": first["memory_id"]})
        assert "brings it back" in deleted.content[0].text
        assert ask(client, "search_memory", query="passport", filters={"source": "chat"})["results"] == []
        ask(client, "restore_memory", memory_id=first["memory_id"])
        assert ask(client, "search_memory", query="passport", filters={"source": "chat"})["count"] == 1
        new = ask(client, "add_memory", text="Ada keeps her passport in the safe.", replaces=first["memory_id"])
        assert ask(client, "search_memory", query="passport")["results"][0]["memory_id"] == new["memory_id"]
        assert counts(client) == {
            "total_memories": 2,
            "total_chunks": 2,
            "deleted_memories": 0,
            "superseded_memories": 1,
        }
    assert problems(store_file(tmp_path)) == []
    assert store_file(tmp_path).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("era", ERAS)
def test_memories_are_listed_in_pages_and_their_history_names_the_client(tmp_path, era):
    with connected(tmp_path, era) as client:
        ids = [
            ask(client, "add_memory", text=f"Fact {number}.", metadata={"tags": ["fact"]})["memory_id"]
            for number in range(3)
        ]
        ask(client, "add_memory", text="Something else.")
        first = ask(client, "list_memories", limit=2, filters={"tags": "fact"})
        last = ask(client, "list_memories", limit=2, filters={"tags": "fact"}, after=first["next_after"])
        assert [one["memory_id"] for one in first["memories"] + last["memories"]] == ids[::-1]
        assert "next_after" not in last
        assert ids[0] in client.call("list_memories").content[0].text
        added_by = ask(client, "get_memory", memory_id=ids[0])["added_by"]
        assert added_by == NAME
    history = subprocess.run(
        [ZAPOMNI, "history", ids[0], "--json"],
        env=environment(tmp_path / "home"),
        capture_output=True,
        check=True,
        timeout=SECONDS,
    )
    assert [(event["what"], event["by"]) for event in json.loads(history.stdout)["events"]] == [("added", added_by)]


def test_a_wrong_argument_is_answered_with_field_and_rule(tmp_path):
    deep = {}
    for _ in range(99):
        deep = {"in": deep}
    with connected(tmp_path, "auto") as client:
        for arguments, said in [
            ({"text": "x", "metadata": {"tags": "one"}}, "Error: metadata.tags "),
            ({"text": "x", "metadata": {"in": deep}}, "Error: metadata "),
            ({"text": " "}, "Error: text cannot be empty or whitespace-only"),
            ({"text": ""}, "Error: text cannot be empty or whitespace-only"),
            ({"text": "x" * (MOST + 1)}, "Error: text exceeds maximum length (10,000,000 characters)"),
            ({"txet": "x"}, "Error: field required: text; txet is not known (did you mean 'text'?)"),
        ]:
            result = client.call("add_memory", arguments)
            assert result.is_error
            assert result.content[0].text.startswith(said)
            assert result.structured_content["error_type"] == "validation"
        kept = ask(client, "add_memory", text="Deep.", metadata=deep)
        assert ask(client, "get_memory", memory_id=kept["memory_id"])["metadata"] == deep


PICKY = """
from typing import Annotated

from pydantic import AfterValidator

from zapomni_core.plugin import InvalidInputError, hookimpl, tool

def refuse(word):
    raise ValueError(f"{word} is not welcome")

@tool
async def take(word: Annotated[str, AfterValidator(refuse)]) -> str:
    \"\"\"Take no word, because its validator refuses every one.\"\"\"
    return word

@tool
async def keep(word: str) -> str:
    \"\"\"Keep no word, because the tool refuses every one.\"\"\"
    raise InvalidInputError("word must be another one")

@hookimpl
def zapomni_tools():
    return [take, keep]
"""


@pytest.fixture(scope="module")
def picky(start_shared, tmp_path_factory):
    """A server with tools that refuse every argument."""
    file = tmp_path_factory.mktemp("plugin") / "picky.py"
    file.write_text(PICKY)
    server = start_shared(ZAPOMNI, "serve", "--plugin", file)
    server.initialize()
    return server


@pytest.mark.parametrize(
    ("tool", "arguments", "field", "rule"),
    [
        ("add_memory", {"metadata": {"note": "sesame"}}, "text", "required"),
        ("add_memory", {"text": "", "metadata": {"note": "sesame"}}, "text", "empty"),
        ("add_memory", {"text": " \n", "metadata": {"note": "sesame"}}, "text", "empty"),
        ("add_memory", {"text": "sesame" * MOST}, "text", "maximum length"),
        ("add_memory", {"text": "x", "metadata": {"tags": "sesame"}}, "metadata.tags", "list"),
        ("add_memory", {"text": "x", "metadata": "sesame"}, "metadata", "object"),
        ("search_memory", {"query": "sesame", "limit": 1000}, "limit", "100"),
        ("take", {"word": "sesame"}, "word", "value_error"),
        ("keep", {"word": "sesame"}, "word", "another"),
    ],
)
def test_a_wrong_argument_is_logged_by_tool_field_and_rule_and_never_by_value(picky, tool, arguments, field, rule):
    before = len(picky.log("validation_error"))
    assert picky.call(tool, arguments)["isError"]
    [record] = eventually(lambda: picky.log("validation_error")[before:], "record", otherwise=picky.log_text)
    assert (record["level"], record["tool"], record["field"]) == ("warning", tool, field)
    assert rule in record["rule"]
    assert "sesame" not in picky.log_text()


def add_long_text(folder, era, characters, seconds):
    text, progress = long_text(characters), []
    assert characters - 1000 < len(text) <= characters

    async def hear(done, _total, _message):
        progress.append(done)

    with connected(folder, era) as client:
        adding = client.start_call("add_memory", {"text": text}, progress_callback=hear)
        result = adding.result(seconds)
        assert not result.is_error, result.content
        memory_id = result.structured_content["memory_id"]
        assert len(progress) > 5
        assert progress == sorted(set(progress))
        for place, question in QUESTIONS.items():
            best = ask(client, "search_memory", query=question)["results"][0]
            assert (best["memory_id"], PLANTED[place] in best["text"]) == (memory_id, True), place
        for offset in (0, len(text) // 2, len(text) - 500):
            page = ask(client, "get_memory", memory_id=memory_id, offset=offset, max_chars=500)
            assert page["text"] == text[offset : offset + 500]
            assert page["total_chars"] == len(text)
        assert counts(client)["total_chunks"] == result.structured_content["chunks_created"]
    assert problems(store_file(folder)) == []


def cancel_half_way(folder, era, characters, seconds):
    text, progress = long_text(characters), []

    async def hear(done, total, _message):
        progress.append(done / total if total else 0)

    with connected(folder, era) as client:
        ask(client, "add_memory", text="The bridge opens at noon.")
        before = counts(client)
        adding = client.start_call("add_memory", {"text": text}, progress_callback=hear)
        eventually(
            lambda: progress and progress[-1] > 0.4, "progress to the middle", seconds, otherwise=client.log.read_text
        )
        adding.cancel()
        with pytest.raises(CancelledError):
            adding.result(SECONDS)
        assert counts(client) == before
        assert progress[-1] < 1
        assert ask(client, "search_memory", query=QUESTIONS["head"])["count"] <= 1
    # The server has ended, so nothing of the call can come any more.
    with connected(folder, era) as client:
        assert counts(client) == before
    assert problems(store_file(folder)) == []


def test_a_long_text_is_added_with_progress_and_found_at_its_head_middle_and_tail(tmp_path):
    add_long_text(tmp_path, "auto", 100_000, seconds=100)


@pytest.mark.parametrize("era", ERAS)
def test_nothing_is_left_of_a_long_text_that_was_cancelled_half_way(tmp_path, era):
    cancel_half_way(tmp_path, era, 50_000, seconds=100)


@pytest.mark.soak
@pytest.mark.timeout(1500)
def test_the_longest_text_is_added_with_default_limits_and_found(tmp_path):
    add_long_text(tmp_path, "auto", MOST, seconds=1200)


@pytest.mark.soak
@pytest.mark.timeout(1500)
def test_nothing_is_left_of_the_longest_text_that_was_cancelled_half_way(tmp_path):
    cancel_half_way(tmp_path, "auto", MOST, seconds=1200)
