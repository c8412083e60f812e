"""The scenarios of `MCPServer.register_tool()`, by their names in its specification."""

import logging
from unittest.mock import Mock

import pytest

from zapomni_core.memory.engine import MemoryEngine
from zapomni_mcp import MCPServer


class LocalTool:
    """A small tool that meets every rule."""

    def __init__(self, name="add_memory", **parts):
        self.name = name
        self.description = "Add a memory to the knowledge graph"
        self.input_schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
        vars(self).update(parts)

    async def execute(self, arguments):
        return {"content": [{"type": "text", "text": "done"}], "isError": False}


class Without:
    """A tool with one attribute missing; `execute` stands unless it is the one."""

    def __init__(self, missing):
        parts = {
            "name": "bad_tool",
            "description": "Valid description",
            "input_schema": {"type": "object", "properties": {}},
        }
        vars(self).update({name: part for name, part in parts.items() if name != missing})
        if missing != "execute":
            self.execute = LocalTool().execute


@pytest.fixture
def server():
    return MCPServer(core_engine=Mock(spec=MemoryEngine))


def expect_refusal(server, tool, error, match):
    before = dict(server._tools)
    with pytest.raises(error, match=match):
        server.register_tool(tool)
    assert server._tools == before


def test_register_tool_success_single(server):
    assert server.register_tool(LocalTool()) is None
    assert len(server._tools) == 1


def test_register_tool_success_multiple(server):
    for name in ("add_memory", "search_memory", "get_stats"):
        server.register_tool(LocalTool(name))
    assert list(server._tools) == ["add_memory", "search_memory", "get_stats"]


def test_register_tool_success_complex_schema(server):
    nested = {
        "type": "object",
        "properties": {
            "filters": {
                "type": "object",
                "properties": {"tags": {"type": "array", "items": {"type": "string"}}},
                "additionalProperties": False,
            }
        },
    }
    server.register_tool(LocalTool(input_schema=nested))
    assert server._tools["add_memory"].input_schema == nested


def test_register_tool_name_with_underscores(server):
    server.register_tool(LocalTool("search_memory_advanced"))
    assert "search_memory_advanced" in server._tools


def test_register_tool_name_boundary_length(server):
    server.register_tool(LocalTool("a" * 50))
    assert "a" * 50 in server._tools


def test_register_tool_empty_name(server):
    expect_refusal(server, LocalTool(""), ValueError, r"^Tool name length must be 1-50 chars, got 0$")


def test_register_tool_duplicate_name(server):
    server.register_tool(LocalTool())
    expect_refusal(server, LocalTool(), ValueError, r"^Tool 'add_memory' already registered$")
    assert len(server._tools) == 1


@pytest.mark.parametrize("name", ["Add-Memory", "add_memory!", "addMemory", "add memory", "123_add", "add\n", "ädd"])
def test_register_tool_invalid_name_pattern(server, name):
    expect_refusal(server, LocalTool(name), ValueError, "invalid.*lowercase")


def test_register_tool_name_too_long(server):
    expect_refusal(server, LocalTool("a" * 51), ValueError, r"^Tool name length must be 1-50 chars, got 51$")


def test_register_tool_description_too_short(server):
    expect_refusal(
        server, LocalTool(description="Too short"), ValueError, r"^Tool description too short \(min 10 chars\)$"
    )


def test_register_tool_description_too_long(server):
    expect_refusal(
        server, LocalTool(description="x" * 501), ValueError, r"^Tool description too long \(max 500 chars\)$"
    )


@pytest.mark.parametrize("missing", ["name", "description"])
def test_register_tool_missing_name(server, missing):
    expect_refusal(server, Without(missing), TypeError, r"^Tool must have 'name' and 'description' attributes$")


def test_register_tool_missing_input_schema(server):
    expect_refusal(
        server, Without("input_schema"), TypeError, r"^Tool must have 'input_schema' and 'execute' attributes$"
    )


def test_register_tool_name_wrong_type(server):
    expect_refusal(server, LocalTool(123), ValueError, r"^Tool name must be string, got <class 'int'>$")


def test_register_tool_schema_not_object(server):
    schema = {"type": "array", "items": {}}
    expect_refusal(server, LocalTool(input_schema=schema), ValueError, r"^Tool input_schema must have type='object'$")


def test_register_tool_schema_missing_properties(server):
    expect_refusal(
        server,
        LocalTool(input_schema={"type": "object"}),
        ValueError,
        r"^Tool input_schema must have 'properties' field$",
    )


def test_register_tool_schema_not_dict(server):
    expect_refusal(server, LocalTool(input_schema="invalid"), ValueError, r"^Tool input_schema must be dict$")


def test_register_tool_execute_not_async(server):
    expect_refusal(server, LocalTool(execute=lambda arguments: {}), ValueError, r"^Tool execute method must be async$")


async def _without_arguments():
    return {}


async def _with_two(arguments, more):
    return {}


@pytest.mark.parametrize("execute", [_without_arguments, _with_two])
def test_a_tool_whose_execute_cannot_be_called_with_arguments_is_refused(server, execute):
    wanted = r"^Tool execute method must take one argument: the arguments of a call$"
    expect_refusal(server, LocalTool(execute=execute), ValueError, wanted)


def test_register_tool_missing_execute(server):
    expect_refusal(server, Without("execute"), ValueError, r"^Tool must have callable 'execute' method$")
    expect_refusal(server, LocalTool(execute="not callable"), ValueError, r"^Tool must have callable 'execute' method$")


def test_register_tool_after_server_started(server):
    server._running = True
    expect_refusal(server, LocalTool(), RuntimeError, r"^Cannot register tools after server has started$")


def test_register_tool_while_server_is_shutting_down(server):
    server._shutting_down = True
    expect_refusal(server, LocalTool(), RuntimeError, r"^Server is shutting down, registration not allowed$")


def test_register_tool_appears_in_tools_dict(server):
    tool = LocalTool()
    server.register_tool(tool)
    assert server._tools[tool.name] is tool
    assert server.tools == [tool]


def test_register_tool_increments_count(server):
    for count, name in enumerate(("one_tool", "two_tool"), start=1):
        server.register_tool(LocalTool(name))
        assert len(server._tools) == count


def test_register_tool_logs_registration(server, caplog):
    with caplog.at_level(logging.INFO, logger="zapomni.registry"):
        server.register_tool(LocalTool())
    record = caplog.records[-1]
    assert (record.message, record.tool_name, record.total_tools) == ("tool_registered", "add_memory", 1)


@pytest.mark.parametrize(
    "hidden",
    ["\u200b", "\u202e", "\u2066", "\ufeff", "\ud800", "\u061c", "\u180e", "\x1b[2J", "\0", "\u3164", "\U000e0101"],
)
def test_register_tool_description_with_hidden_characters(server, hidden):
    expect_refusal(server, LocalTool(description=f"Add a memory{hidden}, please"), ValueError, "hidden characters")


@pytest.mark.parametrize("instructions", [5, "short", "x" * 501, "Call it often.\u200b"])
def test_register_tool_with_instructions_that_a_model_cannot_read(server, instructions):
    expect_refusal(server, LocalTool(instructions=instructions), ValueError, "Tool instructions")


@pytest.mark.parametrize("seen", ["\n", "\t", "Ünïcode", "日本語", "❤️", "क्षि"])
def test_register_tool_description_with_visible_characters(server, seen):
    server.register_tool(LocalTool(description=f"Add a memory{seen}, please"))


def test_register_tool_description_of_another_type(server):
    expect_refusal(server, LocalTool(description=12345678901), ValueError, "must be string")
