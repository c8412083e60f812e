"""`zapomni export` and `zapomni import`."""

import json
import os
import re
import stat
from pathlib import Path

import pytest

from tests.unit.mcp.cli.conftest import finish, shown_on_a_terminal


@pytest.fixture
def filled(remember, zapomni):
    """A store with a memory, one that it replaced, and one that was deleted."""
    old = remember("old word")
    new = remember("new word", "--replaces", old)
    gone = remember("gone word")
    assert zapomni("delete", gone).exit_code == 0
    return old, new, gone


def test_memories_move_to_another_store(zapomni, document, filled, tmp_path, monkeypatch):
    assert "3 memories" in zapomni("export", "memories.jsonl").stdout
    before = [document("history", one) for one in filled]
    monkeypatch.setenv("ZAPOMNI_STORE", f"sqlite://{tmp_path}/another.db")
    assert "3 memories" in zapomni("import", "memories.jsonl").stdout
    assert [document("history", one) for one in filled] == before
    assert [one["memory_id"] for one in document("search", "new word")["hits"]] == [filled[1]]
    again = document("import", "memories.jsonl")
    assert (again["stored"], again["existing"]) == (0, 3)


def test_memories_move_through_a_pipe_to_another_workspace(zapomni, document, filled):
    exported = zapomni("export", "-")
    assert [json.loads(line)["type"] for line in exported.stdout.splitlines()] == [
        "zapomni-export", "memory", "memory", "memory", "end",
    ]  # fmt: skip
    assert "3 memories" in exported.stderr
    result = zapomni("import", "--workspace", "garden", input=exported.stdout)
    assert "'garden', exported from 'default'" in result.stdout
    assert document("get", filled[1], "--workspace", "garden")["text"] == "new word"
    assert "garden" in zapomni("export").stderr, "an export of one workspace names the others"


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
def test_others_cannot_read_an_export(zapomni, filled):
    zapomni("export", "memories.jsonl")
    assert stat.S_IMODE(Path("memories.jsonl").stat().st_mode) == 0o600


def test_an_export_overwrites_a_file_only_with_force(zapomni, document, filled):
    target = Path("precious.txt")
    target.write_text("mine")
    result = zapomni("export", "precious.txt")
    assert (result.exit_code, target.read_text()) == (2, "mine")
    assert "--force" in result.stderr
    done = document("export", "precious.txt", "--force")
    assert (done["memories"], done["sessions"], done["waiting_jobs"]) == (3, 0, 0)
    assert [one.name for one in Path().iterdir()] == ["precious.txt"], "nothing is left beside it"


def test_an_export_does_not_overwrite_the_store(zapomni, document, filled):
    location = document("stats")["location"]
    result = zapomni("export", location, "--force")
    assert result.exit_code == 2
    assert document("get", filled[1])["text"] == "new word"


def test_missing_files_and_choices_are_usage_errors(zapomni, filled, zapomni_on_terminal):
    assert zapomni("export", "--json").exit_code == 2
    assert zapomni("import", "missing.jsonl").exit_code == 2
    result = zapomni_on_terminal("import")
    assert result.exit_code == 2
    assert "field required: file" in result.stderr


def test_a_broken_line_is_reported_with_the_number_of_imported_memories(zapomni, filled):
    zapomni("export", "memories.jsonl")
    file = Path("memories.jsonl")
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join([*lines[:3], "{broken\n", *lines[3:]]))
    result = zapomni("import", "--workspace", "garden", "memories.jsonl")
    assert result.exit_code == 2
    assert "line 4" in result.stderr
    assert "2 memories and 0 sessions imported" in result.stderr
    file.write_text("".join(lines))
    result = zapomni("import", "--workspace", "garden", "memories.jsonl")
    assert result.exit_code == 0
    assert "2 memories of the file were there already" in result.stdout


def test_an_import_continues_after_it_was_killed(zapomni, document, start, embedders, tmp_path):
    """The process is killed once it has stored something, before it gets the rest of the file."""
    for number in range(3):
        zapomni("add", f"word {number}")
    header, *memories, end = zapomni("export", "-").stdout.splitlines(keepends=True)
    many = [
        json.dumps({**json.loads(one), "id": f"m-{number}-{at}", "key": f"{number}-{at}"}) + "\n"
        for number in range(100)
        for at, one in enumerate(memories)
    ]
    process = start("--plugin", embedders, "import", "--workspace", "garden", "-")
    process.stdin.write("".join([header, *many[:200]]))
    process.stdin.flush()
    while not document("stats", "--workspace", "garden")["total_memories"]:
        assert process.poll() is None
    process.kill()
    process.wait(60)
    there = document("stats", "--workspace", "garden")["total_memories"]
    assert 0 < there < 300
    result = document("import", "--workspace", "garden", "-", input="".join([header, *many, end]))
    assert (result["stored"], result["existing"]) == (300 - there, there)
    listed = zapomni("list", "--workspace", "garden", "--json", "--limit", "100").stdout
    assert len(json.loads(listed)["memories"]) == 100


def test_progress_is_shown_on_a_terminal(zapomni, remember, start, embedders):
    remember("word")
    header, memory, end = zapomni("export").stdout.splitlines(keepends=True)
    many = [
        memory.replace('"id":"', f'"id":"{number}-').replace('"key":"', f'"key":"{number}-') for number in range(70)
    ]
    given = "".join([header, *many, end])
    shown = shown_on_a_terminal(start, "--plugin", embedders, "import", "--workspace", "garden", "-", given=given)
    assert re.search(r"imported \d+ of \d+ memories", shown)
    assert "Imported" not in shown, "the result goes to standard output"


def test_an_export_to_a_closed_pipe_ends_without_a_traceback(start, embedders, zapomni, remember):
    for number in range(30):
        remember(f"{number} " + "word " * 4000)
    process = start("--plugin", embedders, "export")
    process.stdout.readline()
    process.stdout.close()
    process.stdout = None
    code, _, errors = finish(process)
    assert code == 141
    assert "Traceback" not in errors
