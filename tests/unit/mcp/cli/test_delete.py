"""`zapomni delete`, `restore` and `purge`."""

import json
import re

import pytest

UNKNOWN_ID = "00000000-0000-0000-0000-000000000000"


@pytest.mark.parametrize("command", ["get", "delete", "restore"])
def test_an_unknown_memory_is_named_in_one_line_and_exits_with_1(zapomni, command):
    result = zapomni(command, UNKNOWN_ID)
    assert result.exit_code == 1
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("Error: ")
    assert UNKNOWN_ID in line


def test_deleting_hides_and_restoring_brings_back(zapomni, document, remember):
    one, two = remember("word one"), remember("word two")
    result = zapomni("delete", one, two)
    assert result.stdout == f"deleted {one}: word one\ndeleted {two}: word two\n"
    assert document("search", "word")["hits"] == []
    assert "deleted: " in zapomni("get", one).stderr
    assert zapomni("restore", one).stdout == f"restored {one}: word one\n"
    assert document("restore", two) == {"restored": [two], "replaced": {}, "same": {}, "missing": []}
    assert len(document("search", "word")["hits"]) == 2


def test_restoring_a_replaced_memory_prints_the_commands_that_bring_it_back(zapomni, document, remember):
    old = remember("word one")
    new = remember("word two", "--replaces", old)
    zapomni("delete", old)
    first, second = zapomni("restore", old).stdout.splitlines()
    assert first == f"still replaced {old}: word one"
    assert new in second
    zapomni("delete", old)
    assert document("restore", old) == {"restored": [], "replaced": {old: new}, "same": {}, "missing": []}
    for command, memory in re.findall(r"zapomni (delete|restore) (\S+)", second):
        zapomni(command, memory)
    (hit,) = document("search", "word")["hits"]
    assert hit["memory_id"] == old


def test_restoring_a_text_that_was_added_again_names_the_stored_memory(zapomni, document, remember):
    old = remember("word one")
    new = remember("word two", "--replaces", old)
    same = remember("word one")
    zapomni("delete", new)
    assert zapomni("restore", old).stdout.startswith(f"already stored as {same}: word one\n")
    assert document("restore", old) == {"restored": [], "replaced": {}, "same": {old: same}, "missing": []}


def test_known_memories_are_deleted_even_if_others_are_unknown(zapomni, document, remember):
    memory = remember("word")
    result = zapomni("delete", UNKNOWN_ID, memory, memory, "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout) == {"deleted": [memory], "missing": [UNKNOWN_ID]}


def test_purging_by_id_removes_only_deleted_memories(zapomni, remember):
    gone, stays = remember("gone"), remember("stays")
    zapomni("delete", gone)
    result = zapomni("purge", gone, stays, "--yes")
    assert (result.exit_code, result.stdout) == (1, "Permanently removed 1 memory.\n")
    assert "1 memory not removed" in result.stderr
    assert zapomni("get", gone).exit_code == 1
    assert zapomni("get", stays).exit_code == 0


def test_purging_removes_all_deleted_memories_and_days_keeps_recent_ones(zapomni, document, remember):
    remember("stays")
    zapomni("delete", remember("gone"), remember("gone too"))
    assert document("purge", "--yes", "--days", "1") == {"removed": 0}
    assert document("purge", "--yes") == {"removed": 2}
    assert document("stats")["total_memories"] == 1


@pytest.mark.parametrize(("answer", "code", "left"), [("n", 1, 1), ("y", 0, 0)])
def test_purging_on_a_terminal_lists_the_memories_and_asks(
    zapomni, zapomni_on_terminal, document, remember, answer, code, left
):
    stays, gone = remember("stays"), remember("gone")
    zapomni("delete", gone)
    result = zapomni_on_terminal("purge", typed=f"{answer}\n")
    assert (result.exit_code, "removed" in result.stdout) == (code, left == 0), result.stderr
    assert f"{gone}: gone" in result.stderr
    assert stays not in result.stderr
    assert document("stats")["deleted_memories"] == left


def test_purging_by_id_asks_only_about_the_given_deleted_memories(zapomni, zapomni_on_terminal, document, remember):
    stays, gone, other = remember("stays"), remember("gone"), remember("other")
    zapomni("delete", gone, other)
    result = zapomni_on_terminal("purge", stays, gone, typed="y\n")
    assert (result.exit_code, "removed 1 memory" in result.stdout) == (1, True), result.stderr
    assert other not in result.stderr
    assert document("stats")["deleted_memories"] == 1


def test_purging_on_a_terminal_does_not_ask_when_nothing_is_deleted(zapomni_on_terminal, remember):
    remember("stays")
    result = zapomni_on_terminal("purge")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "Permanently removed 0 memories.\n", "")
