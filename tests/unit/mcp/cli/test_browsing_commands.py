"""The commands that show and correct single memories: list, edit, history."""

import asyncio
import json
import sys
from pathlib import Path

import pytest

from zapomni_db.records import NewFact
from zapomni_db.sqlite import SQLiteStore

from .conftest import START, on_a_terminal

NOBODY = "00000000-0000-0000-0000-000000000000"
SESSION = "7d9b8a3e-0000-4000-8000-000000000001"


@pytest.fixture
def edit(start, embedders, home, monkeypatch):
    """Edit on a terminal with a shell script as the editor, which gets the file as `$1`."""
    script = home / "editor.sh"
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", f"sh {script}")
    monkeypatch.setenv("TMPDIR", str(home))

    def run_editor(editor, *args):
        script.write_text(editor)
        return on_a_terminal(start, "--plugin", embedders, "edit", *args)

    return run_editor


@pytest.fixture
def store(zapomni):
    """Store a message or a document; its id."""

    def call(tool, **arguments):
        result = json.loads(zapomni("call", tool, json.dumps(arguments), "--json").stdout)
        return result["structuredContent"]["episode_id"]

    return call


def listed(result):
    """The ids that a list shows."""
    assert result.exit_code == 0, result.stderr
    return [line.split()[0] for line in result.stdout.splitlines()]


def test_memories_are_listed_newest_first_one_per_line(zapomni, remember):
    old = remember("The piano\nis in the cellar", "--tag", "home", "--author", "Ada", "--timestamp", "2024-05-08")
    new = remember("The heron nests near the pond")
    result = zapomni("list")
    assert listed(result) == [new, old]
    assert result.stdout.splitlines()[1] == f"{old} · 2024-05-08 · Ada · #home · The piano is in the cellar"
    assert listed(zapomni("list", "--order", "oldest")) == [old, new]


def test_the_next_page_is_the_same_command_with_the_place_that_is_named(zapomni, remember, document):
    ids = [remember(f"Fact {number}") for number in range(3)]
    first = zapomni("list", "--limit", "2")
    assert listed(first) == ids[:0:-1]
    last = zapomni("list", "--limit", "2", *first.stderr.split()[-2:])
    assert (listed(last), last.stderr) == (ids[:1], "")
    page = document("list", "--limit", "2")
    assert [memory["id"] for memory in page["memories"]] == ids[:0:-1]
    assert document("list", "--after", page["after"])["after"] == ""


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
def test_a_list_that_is_asked_wrongly_is_refused(zapomni, args):
    assert zapomni("list", *args).exit_code == 2


def test_a_saved_text_becomes_a_version_with_the_same_metadata(edit, document, remember, home):
    old = remember("The piano is here", "--tag", "home", "--author", "Ada")
    code, output, errors = edit('sed -i s/piano/organ/ "$1"', old)
    assert (code, errors) == (0, "")
    [new] = document("list")["memories"]
    assert new["id"] in output
    assert (new["text"], new["metadata"], new["replaces"]) == (
        "The organ is here",
        {"tags": ["home"], "author": "Ada"},
        [old],
    )
    assert list(home.glob("*.txt")) == []


def test_facts_move_to_an_edited_text_that_still_has_their_names(edit, document, remember):
    old = remember("Ada has a piano and an organ")
    facts = [NewFact(subject="Ada", relation="has", object=name) for name in ("piano", "organ")]

    file = Path(document("stats")["location"])

    async def state_facts():
        store = SQLiteStore(file)
        await store.graph.state_facts("default", old, facts)
        await store.close()

    asyncio.run(state_facts())
    _, output, _ = edit('sed -i s/organ/harp/ "$1"', old)
    assert "1 fact moved to this version; 1 fact is no longer in its text" in " ".join(output.split())


@pytest.mark.parametrize("editor", ["true", 'touch "$1"', ': > "$1"', 'echo " " > "$1"', 'echo >> "$1"'])
def test_a_text_that_is_not_changed_or_empty_changes_nothing_and_says_so(edit, document, remember, home, editor):
    memory_id = remember("The piano is here")
    code, output, _ = edit(editor, memory_id)
    assert code == 0
    assert "Nothing was changed" in output
    assert [memory["id"] for memory in document("list", "--state", "all")["memories"]] == [memory_id]
    assert list(home.glob("*.txt")) == []


@pytest.mark.parametrize("editor", ['echo more >> "$1"; exit 3', 'printf "\\377" > "$1"'])
def test_an_edited_text_that_cannot_be_stored_is_kept_in_a_file(edit, document, remember, home, editor):
    memory_id = remember("The piano is here")
    code, _, errors = edit(editor, memory_id)
    assert code != 0
    [file] = home.glob("*.txt")
    assert str(file) in errors
    assert [memory["id"] for memory in document("list", "--state", "all")["memories"]] == [memory_id]


def test_an_edited_text_whose_memory_was_deleted_meanwhile_is_kept_in_a_file(edit, embedders, remember, home):
    memory_id = remember("The piano is here")
    delete = f"{sys.executable} -c '{START}' --plugin {embedders} delete {memory_id}"
    code, _, errors = edit(f'{delete} && echo more >> "$1"', memory_id)
    assert code == 1
    [file] = home.glob("*.txt")
    assert str(file) in errors
    assert file.read_text() == "The piano is here\nmore\n"


def test_an_editor_that_is_not_there_is_a_sentence(edit, remember, monkeypatch):
    memory_id = remember("The piano is here")
    monkeypatch.setenv("VISUAL", "nonesuch")
    code, output, errors = edit("true", memory_id)
    assert (code, output) == (1, "")
    assert errors.startswith("Error: nonesuch: ")


def test_without_a_terminal_a_text_is_not_edited(zapomni, remember):
    result = zapomni("edit", remember("The piano is here"))
    assert (result.exit_code, result.stdout) == (2, "")
    assert "terminal" in result.stderr


def test_deleted_replaced_and_missing_memories_are_not_edited(edit, zapomni, remember):
    deleted, old = remember("Bees sleep"), remember("Bees fly")
    new = remember("Bees fly fast", "--replaces", old)
    zapomni("delete", deleted)
    for memory_id, said in [(deleted, "zapomni restore"), (old, new), (NOBODY, "there is no memory")]:
        code, output, errors = edit("true", memory_id)
        assert (code, output) == (1, "")
        assert said in errors


def test_the_text_of_messages_and_documents_stays_but_their_metadata_can_change(edit, document, store):
    message = store("store_message", session_id=SESSION, role="user", content="Where do herons nest?")
    kept = store("store_document", content="Herons nest in trees.")
    for memory_id, kind in [(message, "message"), (kept, "document")]:
        code, _, errors = edit("true", memory_id)
        assert code == 2
        assert f"is a {kind}" in errors
        changed = document("edit", memory_id, "--tag", "birds")
        assert (changed["memory_id"], changed["metadata"]) == (memory_id, {"tags": ["birds"]})


def test_metadata_changes_in_place(zapomni, document, remember):
    memory_id = remember("A text", "--tag", "a", "--tag", "b", "--metadata", '{"gone": 1, "kept": "x"}')
    options = ["--set", "count=3", "--set", "deep=[1, null]", "--set", "name=NaN", "--unset", "gone"]
    result = zapomni("edit", memory_id, *options, "--tag", "c", "--untag", "a")
    assert (result.exit_code, result.stderr) == (0, "")
    memory = document("get", memory_id)
    assert memory["metadata"] == {"tags": ["b", "c"], "kept": "x", "count": 3, "deep": [1, None], "name": "NaN"}
    again = document("edit", memory_id, "--set", "count=3")
    assert (again["changed"], again["metadata"]) == (False, memory["metadata"])


@pytest.mark.parametrize(
    "args",
    [
        ["--set", "author=Ada"],
        ["--unset", "timestamp"],
        ["--set", "no value"],
        ["--set", "empty="],
        ["--set", "=x"],
        ["--set", "a=1", "--unset", "a"],
        ["--set", "tags=one"],
        ["--tag", ""],
    ],
)
def test_metadata_that_cannot_be_changed_so_is_refused(zapomni, document, remember, args):
    memory_id = remember("A text")
    result = zapomni("edit", memory_id, *args)
    assert (result.exit_code, result.stdout) == (2, "")
    assert document("get", memory_id)["metadata"] == {}


def test_an_author_is_refused_with_the_way_to_change_it(zapomni, remember):
    memory_id = remember("A text")
    assert f"--replaces {memory_id}" in zapomni("edit", memory_id, "--set", "author=Ada").stderr


def test_a_history_tells_what_happened_by_which_command(zapomni, document, remember):
    old = remember("Bees fly")
    zapomni("edit", old, "--tag", "bees")
    zapomni("delete", old)
    zapomni("restore", old)
    added = zapomni("call", "add_memory", json.dumps({"text": "Bees fly fast", "replaces": old}), "--json")
    new = json.loads(added.stdout)["structuredContent"]["memory_id"]
    told = document("history", old)
    assert [(event["what"], event["by"]) for event in told["events"]] == [
        ("added", "zapomni add"),
        ("changed", "zapomni edit"),
        ("deleted", "zapomni delete"),
        ("restored", "zapomni restore"),
        ("replaced", "zapomni call"),
    ]
    assert (told["replaces"], told["replaced_by"]) == ([], new)
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


def test_a_history_of_a_memory_that_is_not_there_is_an_error(zapomni):
    result = zapomni("history", NOBODY)
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
