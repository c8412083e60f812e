"""`zapomni search`, `list`, `get`, `history` and `stats`."""

import json
import re

import pytest

UNKNOWN_ID = "00000000-0000-0000-0000-000000000000"


SESSION = "7d9b8a3e-0000-4000-8000-000000000001"


def listed(result):
    """The ids that a list shows."""
    assert result.exit_code == 0, result.stderr
    return [line.split()[0] for line in result.stdout.splitlines()]


def test_a_search_shows_score_reason_date_source_and_id(zapomni, remember):
    found = remember(
        "The piano is in the cellar", "--source", "letters", "--author", "Ada", "--timestamp", "2024-05-08"
    )
    remember("Tea is in the cupboard")
    result = zapomni("search", "piano")
    lines = result.stdout.splitlines()
    assert lines[0].startswith("Found ")
    assert "2 memories in workspace 'default'" in lines[0]
    parts = lines[2].split(" · ")
    assert re.fullmatch(r"1\. [01]\.\d\d", parts[0])
    assert parts[1:] == ["piano", "2024-05-08", "letters", "Ada", found]
    assert lines[3] == "   The piano is in the cellar"


def test_a_found_text_is_wrapped_and_keeps_its_lines(zapomni, remember, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    remember("def piano():\n    return 1  # " + "very " * 12 + "long")
    lines = zapomni("search", "piano").stdout.splitlines()[3:]
    assert lines[0] == "   def piano():"
    assert lines[1].startswith("       return 1  #")
    assert len(lines) > 3
    assert max(map(len, lines)) <= 40


def test_control_characters_of_a_memory_do_not_reach_the_terminal(zapomni, remember):
    memory = remember("red \x1b[31m text", "--source", "s\x1b[2J")
    assert "\x1b" not in zapomni("search", "red").stdout
    result = zapomni("get", memory)
    assert "\x1b" not in result.stderr
    assert result.stdout == "red \x1b[31m text\n"  # no terminal here: the exact text


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (["--tag", "a"], {"one", "two"}),
        (["--tag", "a", "--tag", "b"], {"two"}),
        (["--source", "s", "--source", "t"], {"one", "two"}),
        (["--author", "Ada"], {"one"}),
        (["--conversation", "c"], {"two"}),
        (["--from", "2024-01-01"], {"two", "three"}),
        (["--to", "2023-06-01"], {"one"}),
        (["--filter", '{"n": [2, 3]}'], {"two", "three"}),
        (["--limit", "1"], {"one"}),
    ],
    ids=lambda value: " ".join(value if isinstance(value, list) else sorted(value)),
)
def test_filters_narrow_a_search(document, remember, options, found):
    remember("word one", "--tag", "a", "--source", "s", "--author", "Ada", "--timestamp", "2023-06-01")
    remember("word two", "--tag", "a", "--tag", "b", "--source", "t", "--conversation", "c", "--metadata", '{"n": 2}')
    remember("word three", "--metadata", '{"n": 3}')
    hits = document("search", "word one", *options)["hits"]
    assert {hit["text"].split()[1] for hit in hits} == found


def test_a_search_is_narrowed_by_nested_metadata(document, remember):
    oslo = remember("herons", "--metadata", '{"place": {"city": "Oslo", "year": 2026}}')
    remember("herons again", "--metadata", '{"place": {"city": "Bergen"}}')
    found = document("search", "herons", "--filter", '{"place": {"city": "Oslo"}}')
    assert [hit["memory_id"] for hit in found["hits"]] == [oslo]


def test_an_empty_result_names_the_workspace_and_the_filters(zapomni, remember):
    assert zapomni("search", "x").stdout == "Nothing found among 0 memories in workspace 'default'.\n"
    remember("something")
    shown = zapomni("search", "x", "--tag", "none").stdout
    assert shown == "Nothing found among 0 memories in workspace 'default' that meet the filters.\n"


def test_max_tokens_limits_the_answer(document, remember):
    remember("First sentence. " * 20)
    assert len(document("search", "sentence", "--max-tokens", "10")["hits"][0]["text"]) <= 40


def test_memories_are_listed_newest_first_one_per_line(zapomni, remember):
    old = remember("The piano\nis in the cellar", "--tag", "home", "--author", "Ada", "--timestamp", "2024-05-08")
    new = remember("The heron nests near the pond")
    result = zapomni("list")
    assert listed(result) == [new, old]
    assert result.stdout.splitlines()[1] == f"{old} · 2024-05-08 · Ada · #home · The piano is in the cellar"
    assert listed(zapomni("list", "--order", "oldest")) == [old, new]


def test_a_list_takes_the_filters_of_a_search(zapomni, remember, store):
    lake = remember("The gate code is 4711", "--metadata", '{"house": "lake"}', "--tag", "code")
    remember("Something else")
    message = store("store_message", session_id=SESSION, role="user", content="Where do herons nest?")
    assert listed(zapomni("list", "--tag", "code", "--filter", '{"house": "lake"}')) == [lake]
    assert listed(zapomni("list", "--kind", "message")) == [message]
    nothing = zapomni("list", "--to", "2001-01-01")
    assert (nothing.exit_code, nothing.stdout) == (0, "")
    assert nothing.stderr


def test_a_list_shows_memories_of_a_state(zapomni, remember):
    deleted, old = remember("Bees sleep"), remember("Bees fly")
    new = remember("Bees fly fast", "--replaces", old)
    zapomni("delete", deleted)
    assert listed(zapomni("list")) == [new]
    assert listed(zapomni("list", "--state", "deleted")) == [deleted]
    assert listed(zapomni("list", "--state", "replaced")) == [old]
    everything = zapomni("list", "--state", "all", "--order", "inserted")
    assert listed(everything) == [deleted, old, new]
    shown = everything.stdout.splitlines()
    assert [" · deleted · " in shown[0], " · replaced · " in shown[1]] == [True, True]


@pytest.mark.parametrize("args", [["--limit", "0"], ["--after", "x"], ["--state", "x"], ["--from", "x"], ["--tag", ""]])
def test_invalid_options_of_list_are_refused(zapomni, args):
    assert zapomni("list", *args).exit_code == 2


def test_get_prints_the_text_to_standard_output_and_the_rest_to_standard_error(zapomni, remember):
    memory = remember("One\n\n  two\tthree", "--tag", "t")
    result = zapomni("get", memory)
    assert result.stdout == "One\n\n  two\tthree\n"
    assert result.stderr.splitlines()[0] == f"id: {memory}"
    assert 'tags: ["t"]' in result.stderr


def test_messages_and_documents_are_labelled_and_can_be_filtered(zapomni, remember):
    remember("A heron of a memory")
    session = "5f6c3a52-0000-4000-8000-000000000001"
    message = {"session_id": session, "role": "user", "content": "A heron of a message"}
    zapomni("call", "store_message", json.dumps(message))
    zapomni("call", "store_document", '{"content": "A heron of a document"}')
    shown = zapomni("search", "heron", "--kind", "message").stdout
    assert f" · message by user in session {session} · " in shown
    assert "among 1 memory in workspace 'default' that meet the filters" in shown
    both = zapomni("search", "heron", "--kind", "document", "--kind", "memory").stdout
    assert both.count(" · document · ") == 1
    assert "of a memory" in both
    message_id = shown.splitlines()[2].rpartition(" · ")[2]
    assert f"kind: message by user in session {session}" in zapomni("get", message_id).stderr


def test_the_last_words_on_standard_error_are_the_option_for_the_next_page(zapomni, remember, document):
    ids = [remember(f"Fact {number}") for number in range(3)]
    first = zapomni("list", "--limit", "2")
    assert listed(first) == ids[:0:-1]
    last = zapomni("list", "--limit", "2", *first.stderr.split()[-2:])
    assert (listed(last), last.stderr) == (ids[:1], "")
    page = document("list", "--limit", "2")
    assert [memory["id"] for memory in page["memories"]] == ids[:0:-1]
    assert document("list", "--after", page["after"])["after"] == ""


def test_a_history_names_the_command_behind_each_event(zapomni, document, remember):
    old = remember("Bees fly")
    zapomni("edit", old, "--tag", "bees")
    zapomni("delete", old)
    zapomni("restore", old)
    added = zapomni("call", "add_memory", json.dumps({"text": "Bees fly fast", "replaces": old}), "--json")
    new = json.loads(added.stdout)["structuredContent"]["memory_id"]
    report = document("history", old)
    assert [(event["what"], event["by"]) for event in report["events"]] == [
        ("added", "zapomni add"),
        ("changed", "zapomni edit"),
        ("deleted", "zapomni delete"),
        ("restored", "zapomni restore"),
        ("replaced", "zapomni call"),
    ]
    assert (report["replaces"], report["replaced_by"]) == ([], new)
    assert document("history", new)["replaces"] == [old]
    lines = zapomni("history", old).stdout.splitlines()
    assert "changed by zapomni edit" in lines[1]
    assert lines[-1].startswith(f"replaced by {new} · ")


def test_a_history_names_a_version_that_was_purged(zapomni, remember):
    old = remember("Bees fly")
    new = remember("Bees fly fast", "--replaces", old)
    zapomni("delete", new)
    zapomni("purge", new, "--yes")
    assert zapomni("history", old).stdout.splitlines()[-1] == f"replaced by {new} · purged"


def test_a_history_of_an_unknown_memory_is_an_error(zapomni):
    result = zapomni("history", UNKNOWN_ID)
    assert (result.exit_code, result.stdout) == (1, "")


def test_the_command_of_a_plugin_is_named_in_the_history(zapomni, document, plugin_file):
    source = """
    @hookimpl
    def zapomni_commands(engine):
        import asyncio
        import click

        @click.command()
        def note():
            "Keep a note."
            asyncio.run(engine.add_memory("A note"))

        return [note]
    """
    zapomni("--plugin", plugin_file("notes", source), "note")
    [memory] = document("list")["memories"]
    assert [event["by"] for event in document("history", memory["id"])["events"]] == ["zapomni note"]


def test_statistics_show_counts_and_components(zapomni, document, remember, home):
    remember("one")
    remember("elsewhere", "--workspace", "other")
    zapomni("delete", remember("two"))
    lines = dict(line.split(maxsplit=1) for line in zapomni("stats").stdout.splitlines())
    assert (lines["memories"], lines["deleted"], lines["chunks"]) == ("1", "1", "1")
    assert lines["workspace"] == "default (others: other)"
    assert lines["store"].startswith(f"sqlite at {home}/data/zapomni/memory.db, ")
    assert lines["embedder"] == "hashing (hashing-256, 256 dimensions)"
    assert document("stats")["embedder"] == {"name": "hashing", "model": "hashing-256", "dimension": 256}
