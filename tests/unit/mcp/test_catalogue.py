"""Tool entries with `_meta`, and instructions built from the served tools."""

import pytest

from zapomni_core.host.registry import ToolRegistry, check_tool
from zapomni_mcp.catalogue import instructions, tool_entry


class Probe:
    description = "A tool of the tests of the catalogue."
    input_schema = {"type": "object", "properties": {}}  # noqa: RUF012 (never changed)

    def __init__(self, name, **attributes):
        self.name = name
        vars(self).update(attributes)

    async def execute(self, arguments):
        return {}


def served(*tools):
    registry = ToolRegistry()
    for plugin, tool in tools:
        registry.register(tool, plugin=plugin)
    return registry


def test_instructions_cover_every_memory_tool_and_one_tool_of_each_plugin():
    text = instructions(
        served(
            ("memory", Probe("find", instructions="Call find first.")),
            ("memory", Probe("keep", instructions="Call keep later.")),
            ("memory", Probe("count")),
            ("sample", Probe("one", instructions="Call one now.")),
            ("sample", Probe("two", instructions="Call two now.")),
            ("other", Probe("three", instructions="Call three now.")),
        )
    )
    assert text.endswith("Call find first. Call keep later. Call one now. Call three now.")


def test_instructions_mention_only_served_tools():
    assert "Call" not in instructions(served(("memory", Probe("count"))))


def test_instructions_use_the_new_name_of_a_renamed_tool():
    renamed = check_tool(Probe("find", instructions="Call find first."), taken=lambda _: False, name="my_find")
    assert renamed.instructions == "Call my_find first."


def test_the_meta_of_a_tool_is_merged_with_its_plugin():
    registry = served(("sample", Probe("one", meta={"anthropic/alwaysLoad": True, "zapomni/plugin": "liar"})))
    assert tool_entry(registry.get("one"))["_meta"] == {"anthropic/alwaysLoad": True, "zapomni/plugin": "sample"}
    assert "_meta" not in tool_entry(served(("", Probe("two"))).get("two"))


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"meta": "always"}, "Tool meta must be a mapping"),
        ({"meta": {1: "one"}}, "Tool meta must be a mapping"),
        ({"meta": {"a": object()}}, "Tool meta must be a mapping"),
        ({"instructions": "Call me. " * 30}, "Tool instructions too long"),
        ({"instructions": "Call me."}, "Tool instructions too short"),
        ({"instructions": 5}, "Tool instructions must be string"),
    ],
)
def test_values_that_cannot_be_sent_to_clients_are_refused(attributes, expected):
    with pytest.raises(ValueError, match=expected):
        check_tool(Probe("one", **attributes), taken=lambda _: False)
