"""`zapomni edit`."""

import asyncio
import sys
import tempfile
from pathlib import Path

import pytest

from zapomni_db.records import NewFact
from zapomni_db.sqlite import SQLiteStore

from .conftest import START

UNKNOWN_ID = "00000000-0000-0000-0000-000000000000"


SESSION = "7d9b8a3e-0000-4000-8000-000000000001"


@pytest.fixture
def edit(zapomni_on_terminal, home, monkeypatch):
    """Edit on a terminal with a shell script as the editor, which gets the file as `$1`."""
    script = home / "editor.sh"
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", f"sh {script}")
    monkeypatch.setattr(tempfile, "tempdir", str(home))

    def run_editor(editor, *args):
        script.write_text(editor)
        result = zapomni_on_terminal("edit", *args)
        return result.exit_code, result.stdout, result.stderr

    return run_editor


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


@pytest.mark.parametrize("editor", ["true", 'echo " " > "$1"', 'echo >> "$1"'])
def test_an_unchanged_or_empty_text_changes_nothing_and_reports_it(edit, document, remember, home, editor):
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


def test_a_missing_editor_is_named_in_the_error(edit, remember, monkeypatch):
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
    for memory_id, expected in [(deleted, "zapomni restore"), (old, new), (UNKNOWN_ID, UNKNOWN_ID)]:
        code, output, errors = edit("true", memory_id)
        assert (code, output) == (1, "")
        assert expected in errors


def test_the_text_of_messages_and_documents_cannot_be_edited_but_their_metadata_can(edit, document, store):
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
def test_invalid_metadata_changes_are_refused(zapomni, document, remember, args):
    memory_id = remember("A text")
    result = zapomni("edit", memory_id, *args)
    assert (result.exit_code, result.stdout) == (2, "")
    assert document("get", memory_id)["metadata"] == {}


def test_changing_the_author_is_refused_with_the_option_that_replaces_the_memory(zapomni, remember):
    memory_id = remember("A text")
    assert f"--replaces {memory_id}" in zapomni("edit", memory_id, "--set", "author=Ada").stderr
