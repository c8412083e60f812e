import pytest

from zapomni_core.host.registry import check_tool, lint
from zapomni_core.plugin import tool


def advice_on(text):
    @tool(annotations={"readOnlyHint": True})
    async def one(name: str) -> str:
        """A tool of the tests of lint."""
        return name

    one.input_schema["properties"]["name"]["description"] = text
    return lint(check_tool(one, taken=lambda _: False))


def test_a_tool_that_is_well_described_gets_no_advice():
    assert advice_on("What to call it.") == []


@pytest.mark.parametrize("hidden", ["\u200b", "\u202e"])
def test_hidden_characters_in_a_schema_are_told(hidden):
    [advice] = advice_on(f"What to call it.{hidden}")
    assert advice.startswith("tool 'one': input_schema has hidden characters")
