"""Behaviour that all commands on memories share."""

import pytest

from .conftest import imported_modules

UNKNOWN_ID = "00000000-0000-0000-0000-000000000000"


ALL = [
    ["add", "x"],
    ["search", "x"],
    ["list"],
    ["get", UNKNOWN_ID],
    ["edit", UNKNOWN_ID, "--tag", "x"],
    ["history", UNKNOWN_ID],
    ["delete", UNKNOWN_ID],
    ["restore", UNKNOWN_ID],
    ["purge", "--yes"],
    ["stats"],
    ["backup", "copy.db"],
    ["export", "memories.jsonl"],
    ["reindex"],
]


every_command = pytest.mark.parametrize("command", ALL, ids=lambda command: command[0])


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["add", ""], "text cannot be empty or whitespace-only"),
        (["add", " "], "text cannot be empty or whitespace-only"),
        (["add", "x", "--timestamp", "yesterday"], "metadata.timestamp"),
        (["add", "x", "--metadata", "{"], "--metadata"),
        (["add", "x", "--metadata", "[]"], "--metadata"),
        (["add", "x", "--file", __file__], "--file"),
        (["add", "--file", "none.md"], "does not exist"),
        (["add", "--file", "."], "is a directory"),
        (["add", "x", "--workspace", ""], "--workspace"),
        (["add", "x", "--workspace", "a\nb"], "--workspace: must not contain control characters"),
        (["search"], "QUERY"),
        (["search", " "], "query"),
        (["search", "x", "--limit", "0"], "limit"),
        (["search", "x", "--limit", "many"], "--limit"),
        (["search", "x", "--max-tokens", "0"], "--max-tokens"),
        (["search", "x", "--from", "tomorrow"], "date_from"),
        (["search", "x", "--filter", "1"], "--filter"),
        (["get"], "ID"),
        (["delete"], "ID"),
        (["purge", "--days", "-1", "--yes"], "--days"),
        (["purge"], "--yes"),
        (["backup"], "TARGET"),
        (["search", "x", "--tag", "a", "--filter", '{"tags": ["b"]}'], "tags: "),
        (
            ["add", "x", "--source", "a", "--metadata", '{"source": "b"}'],
            "source: ",
        ),
        (["restore-backup", "nowhere.db"], "does not exist"),
        (["backup", "."], "is a directory"),
        (["backup", "no/such/place.db"], "no/such"),
        (["reindex", "--embedder", "hashin"], "did you mean 'hashing'?"),
        (["search", "bad \udcff argument"], "query must not contain lone surrogates"),
        (["search", "x", "--source", "\udcff"], "filters.source must not contain lone surrogates"),
    ],
    ids=lambda value: ascii(" ".join(value if isinstance(value, list) else sorted(value))),
)
def test_invalid_arguments_exit_with_2_and_no_traceback(zapomni, args, expected):
    result = zapomni(*args)
    assert result.exit_code == 2, result.output
    assert expected in result.stderr
    assert result.stdout == ""


OPTIONS_WITH_VALUES = {
    "search": ["--tag", "--source", "--author", "--conversation", "--kind", "--from", "--to"],
    "add": ["--tag", "--source", "--author", "--conversation", "--timestamp", "--language", "--replaces"],
    "reindex": ["--embedder"],
}


@pytest.mark.parametrize(
    ("command", "option"), [(command, option) for command, options in OPTIONS_WITH_VALUES.items() for option in options]
)
def test_an_option_with_an_empty_value_is_refused(zapomni, command, option):
    result = zapomni(command, *(["x"] if command != "reindex" else []), option, "")
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"Invalid value for '{option}': " in result.stderr


def test_workspaces_are_separate(zapomni, document, remember):
    memory = remember("word", "--workspace", "mine")
    assert document("search", "word")["hits"] == []
    assert zapomni("get", memory).exit_code == 1
    assert zapomni("get", memory, "--workspace", "mine").exit_code == 0


@every_command
def test_a_damaged_store_is_reported_in_one_line(zapomni, command, tmp_path, monkeypatch):
    damaged = tmp_path / "notes.txt"
    damaged.write_text("This is not a database. " * 100)
    monkeypatch.setenv("ZAPOMNI_STORE", f"sqlite://{damaged}")
    result = zapomni(*command)
    assert result.exit_code == 1, result.output
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("Error: ")
    assert str(damaged) in line


@every_command
def test_an_unknown_store_is_refused(zapomni, command, monkeypatch):
    monkeypatch.setenv("ZAPOMNI_STORE", "nowhere://x")
    result = zapomni(*command)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "store 'nowhere'" in result.stderr


def test_no_command_imports_the_sdk_or_rich(start, embedders):
    commands = [["--plugin", embedders, *command, "--json"] for command in ALL]
    modules = imported_modules(start, commands)
    assert "zapomni_core.memory.engine" in modules
    assert not {"mcp", "mcp_types", "rich"} & modules
