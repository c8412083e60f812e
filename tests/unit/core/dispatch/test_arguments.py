"""Lenient arguments: null means absent, a JSON string may be an object, and extra arguments are dropped."""

import pytest

from zapomni_core.dispatch.dispatcher import Dispatcher
from zapomni_core.host.registry import ToolRegistry
from zapomni_core.tool import ToolResult

ITEM = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "since": {"type": "string"}},
    "required": ["name"],
    "additionalProperties": False,
}
SCHEMA = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "minLength": 1},
        "limit": {"type": "integer", "minimum": 1},
        "metadata": {"type": "object"},
        "items": {"type": "array", "items": ITEM, "minItems": 1},
        "names": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["text"],
    "additionalProperties": False,
}


class Probe:
    """A tool that records its arguments."""

    name = "probe"
    description = "Keeps what it was called with."
    unlisted_arguments = {"wait": {"type": "boolean"}}  # noqa: RUF012 (never changed)

    def __init__(self, schema=SCHEMA):
        self.input_schema = schema
        self.got = None

    async def execute(self, arguments):
        self.got = arguments
        return ToolResult.text("done")


async def sent(arguments, schema=SCHEMA):
    """The arguments that reach the tool."""
    tool, registry = Probe(schema), ToolRegistry()
    registry.register(tool)
    result = await Dispatcher(registry).call("probe", arguments)
    assert result["isError"] is False, result
    return tool.got


async def refused(arguments):
    registry = ToolRegistry()
    registry.register(Probe())
    result = await Dispatcher(registry).call("probe", arguments)
    assert result["isError"] is True
    return result["structuredContent"]["message"]


@pytest.mark.parametrize("name", ["limit", "metadata", "items", "names", "wait"])
async def test_null_of_an_optional_argument_means_that_it_is_absent(name):
    assert await sent({"text": "a", name: None}) == {"text": "a"}


async def test_null_within_a_described_object_means_absent_too():
    assert await sent({"text": "a", "items": [{"name": "Ada", "since": None}]}) == {
        "text": "a",
        "items": [{"name": "Ada"}],
    }


async def test_null_in_an_object_of_any_keys_is_kept():
    assert (await sent({"text": "a", "metadata": {"color": None}}))["metadata"] == {"color": None}


async def test_null_of_a_required_argument_is_refused():
    assert await refused({"text": None}) == "text must be string"


async def test_an_object_may_come_as_json_in_a_string():
    assert (await sent({"text": "a", "metadata": '{"tags": ["x"], "n": null}'}))["metadata"] == {
        "tags": ["x"],
        "n": None,
    }
    assert (await sent({"text": "a", "items": ['{"name": "Ada", "since": null}']}))["items"] == [{"name": "Ada"}]


@pytest.mark.parametrize("text", ["", "no object", "[1]", "5", "null", "{", '{"a": ' * 100_000])
async def test_any_other_string_is_not_an_object(text):
    assert await refused({"text": "a", "metadata": text}) == "metadata must be object"


async def test_a_string_that_is_meant_as_one_stays_one():
    assert (await sent({"text": '{"a": 1}'}))["text"] == '{"a": 1}'


async def test_extra_arguments_of_clients_are_dropped():
    assert await sent({"text": "a", "wait_for_previous": True}) == {"text": "a"}


async def test_extra_arguments_of_clients_reach_a_tool_that_declares_them():
    own = {"type": "object", "properties": {"wait_for_previous": {"type": "boolean"}}}
    assert await sent({"wait_for_previous": True}, own) == {"wait_for_previous": True}


async def test_all_problems_are_reported_at_once():
    problems = await refused({"limit": 0, "metadata": 5, "items": [], "lmit": 1, "wait": "yes"})
    assert sorted(problems.split("; ")) == [
        "field required: text",
        "items must have at least 1 item",
        "limit must be at least 1",
        "lmit is not known (did you mean 'limit'?)",
        "metadata must be object",
        "wait must be boolean",
    ]


async def test_only_the_first_ten_problems_are_reported():
    assert len((await refused({"text": "a", "names": [5] * 1000})).split("; ")) == 10
