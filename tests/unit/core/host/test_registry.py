import pytest

from zapomni_core.host.registry import check_tool, lint
from zapomni_core.plugin import tool


def advice_on(text):
    @tool(annotations={"readOnlyHint": True})
    async def one(name: str) -> str:
        """A tool for testing lint."""
        return name

    one.input_schema["properties"]["name"]["description"] = text
    return lint(check_tool(one, taken=lambda _: False))


def test_a_well_described_tool_gets_no_advice():
    assert advice_on("What to call it.") == []


@pytest.mark.parametrize("hidden", ["\u200b", "\u202e"])
def test_hidden_characters_in_a_schema_are_reported(hidden):
    [advice] = advice_on(f"What to call it.{hidden}")
    assert advice.startswith("tool 'one': input_schema has hidden characters")


def advice_for(properties):
    class Probe:
        name = "one"
        description = "A tool for testing lint."
        annotations = {"readOnlyHint": True}  # noqa: RUF012 (never changed)
        input_schema = {"type": "object", "properties": properties, "additionalProperties": False}  # noqa: RUF012

        async def execute(self, arguments):
            return {}

    return [one.removeprefix("tool 'one': ") for one in lint(check_tool(Probe(), taken=lambda _: False))]


@pytest.mark.parametrize(
    ("schema", "place", "what"),
    [
        ({"type": ["integer", "null"]}, "'it'", "has several types"),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, "'it'", "has anyOf"),
        ({"oneOf": [{"type": "integer"}]}, "'it'", "has oneOf"),
        ({"enum": ["a", "b"]}, "'it'", "has fixed values without a type"),
        ({"type": "string", "default": None}, "'it'", "has the default null"),
        ({"type": "array", "items": {"type": ["integer", "null"]}}, "'it[]'", "has several types"),
        ({"type": "object", "properties": {"in": {"enum": [1]}}}, "'it.in'", "has fixed values without a type"),
    ],
)
def test_constructs_that_some_clients_cannot_handle_are_reported_by_place(schema, place, what):
    [advice] = advice_for({"it": {"description": "Something.", **schema}})
    assert advice.startswith(f"{place} {what}")


def test_plain_types_get_no_advice():
    plain = {"type": "array", "items": {"type": "string", "enum": ["a"]}, "description": "Some.", "default": []}
    assert advice_for({"it": plain}) == []


def test_a_property_named_like_a_keyword_gets_no_advice():
    assert advice_for({"anyOf": {"type": "string", "description": "A name."}}) == []
