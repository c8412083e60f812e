"""Listing and calling tools."""

import json

import pytest

from zapomni_core.app import build_app
from zapomni_core.host.discovery import discover
from zapomni_core.host.registry import tokens
from zapomni_mcp.catalogue import tool_entry

from .conftest import broken, finish

CONTENTS = """
class Contents:
    name = "contents"
    description = "Return content of the requested kind."
    input_schema = {"type": "object", "properties": {}}

    async def execute(self, arguments):
        return RESULT

@hookimpl
def zapomni_tools():
    return [Contents()]
"""


def test_every_tool_is_listed_with_its_plugin_and_size(run):
    app = build_app(plugins=discover())
    (size,) = [tokens(tool) for tool in app.registry if tool.name == "hello"]
    lines = run("tools").stdout.splitlines()
    (hello,) = [line.split() for line in lines if line.startswith("hello ")]
    assert hello[:5] == ["hello", "hello", f"~{size}", "Say", "hello:"]
    assert lines[-1].endswith("tokens in every conversation")


@pytest.mark.parametrize("columns", ["30", "80", "200"])
def test_every_tool_has_one_line_at_any_width(run, columns):
    lines = run(
        "--no-plugins", "tools", "--plugin", broken("good_counter"), env={"COLUMNS": columns}
    ).stdout.splitlines()
    assert len(lines) == 4
    assert all(len(line) <= int(columns) for line in lines[:2])


def test_the_json_document_has_the_total(run):
    document = json.loads(run("tools", "--json").stdout)
    assert document["total_tokens"] == sum(tool["tokens"] for tool in document["tools"])
    assert {"name", "plugin", "title", "description", "tokens"} == set(document["tools"][0])


def test_an_empty_list_of_tools_has_a_total_of_0(run):
    assert run("--no-plugins", "tools").stdout == "0 tools, ~0 tokens in every conversation\n"


def test_a_tool_is_shown_as_a_client_gets_it(run):
    shown = json.loads(run("tools", "show", "hello").stdout)
    app = build_app(plugins=discover())
    assert shown == tool_entry(app.registry.get("hello"))
    assert shown["_meta"] == {"zapomni/plugin": "hello"}
    assert shown["inputSchema"]["properties"]["name"]["type"] == "string"


def test_an_unknown_tool_cannot_be_shown(run):
    result = run("tools", "show", "helo")
    assert result.exit_code == 2
    assert "did you mean hello?" in result.stderr


def test_failed_plugins_are_named(run, installed):
    installed("fails_beside_tools", "import nothing_of_that_name")
    assert run("tools").stderr == "1 failed (fails_beside_tools), run: zapomni doctor\n"


def test_a_call_prints_the_readable_text(run):
    result = run("call", "hello", '{"name": "Ada"}')
    assert (result.exit_code, result.stdout, result.stderr) == (0, "Hello, Ada!\n", "")


def test_the_arguments_may_come_from_standard_input(run):
    assert run("call", "hello", "-", input='{"name": "Ada"}').stdout == "Hello, Ada!\n"


def test_a_call_can_print_the_whole_result(run):
    result = run("call", "count", '{"steps": 2}', "--json", "--plugin", broken("good_counter"))
    assert json.loads(result.stdout)["structuredContent"] == {"count": 2}


def test_progress_goes_to_standard_error(run):
    result = run("call", "count", '{"steps": 2}', "--plugin", broken("good_counter"))
    assert (result.stdout, result.stderr) == ("Counted to 2.\n", "1/2 at 1\n2/2 at 2\n")


def test_progress_without_a_total_or_a_message_is_a_number(run, plugin_file):
    source = """
    @tool
    async def plod() -> str:
        "Make progress towards nothing."
        await current_call().progress(3)
        return "done"

    @hookimpl
    def zapomni_tools():
        return [plod]
    """
    assert run("call", "plod", "--plugin", plugin_file("plodding", source)).stderr == "3\n"


def test_an_error_result_exits_with_1(run):
    result = run("call", "hello", '{"nam": "Ada"}')
    assert result.exit_code == 1
    assert "did you mean 'name'?" in result.stdout


def test_an_exception_of_a_tool_is_logged(run):
    result = run("call", "raising_tool", "--plugin", broken("raising_tool"))
    assert result.exit_code == 1
    assert "password" not in result.stdout
    assert "RuntimeError" in result.stderr


def test_an_unknown_tool_is_refused_with_the_nearest(run):
    result = run("call", "helo")
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: Unknown tool: helo")
    assert "did you mean hello?" in result.stderr


@pytest.mark.parametrize("arguments", ["{", "", "nonsense", "[]", "1", "[" * 100_000])
def test_arguments_must_be_a_json_object(run, arguments):
    result = run("call", "hello", arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: The arguments ")


@pytest.mark.parametrize(
    ("result", "shown"),
    [
        ({"content": [], "isError": False, "structuredContent": {"a": 1}}, '{\n  "a": 1\n}\n'),
        ({"content": [], "isError": False}, "\n"),
        (
            {"content": [{"type": "image", "data": "", "mimeType": "image/png"}], "isError": False},
            "[image: image/png]\n",
        ),
        ({"content": [{"type": "text", "text": "a\x1b[31mb\tc\nd"}], "isError": False}, "a[31mb\tc\nd\n"),
    ],
)
def test_content_of_every_kind_is_shown(run, plugin_file, result, shown):
    file = plugin_file("contents", CONTENTS.replace("RESULT", repr(result)))
    assert run("call", "contents", "--plugin", file).stdout == shown


def test_the_lifespans_are_started_and_stopped(run, settings_file, tmp_path):
    settings_file(f'[plugins.audit]\nfile = "{tmp_path}/audit.jsonl"')
    run("call", "hello")
    assert json.loads((tmp_path / "audit.jsonl").read_text())["tool"] == "hello"


def test_output_of_a_tool_is_not_in_the_result_of_a_call(start):
    code, output, errors = finish(start("call", "noisy", "--plugin", broken("prints_at_import")))
    assert (code, output) == (0, "quiet\n")
    assert "echoed by a child in a call" in errors


def test_a_call_ends_while_threads_of_the_tool_are_running(start, plugin_file):
    source = """
    import asyncio, time

    @tool
    async def dawdle() -> str:
        "Start a thread and forget it."
        asyncio.get_running_loop().run_in_executor(None, time.sleep, 600)
        return "gone"

    @hookimpl
    def zapomni_tools():
        return [dawdle]
    """
    code, output, _ = finish(start("call", "dawdle", "--plugin", plugin_file("dawdling", source)))
    assert (code, output) == (0, "gone\n")


def test_a_memory_stored_by_a_call_is_found_by_meaning(zapomni, document, monkeypatch):
    monkeypatch.setattr("zapomni_core.memory.components.FINISH_SECONDS", 60)
    stored = zapomni("call", "store_document", '{"content": "The heron nests near the pond."}')
    assert (stored.exit_code, stored.stderr) == (0, "")
    (hit,) = document("search", "pondlike heronry")["hits"]
    assert (hit["text"], hit["why"]) == ("The heron nests near the pond.", ["meaning"])
