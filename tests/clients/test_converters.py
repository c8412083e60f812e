"""Libraries that convert the tools for a model keep the types of all arguments. Run by `make clients`."""

import json
from pathlib import Path

import pytest

from tests.clients.conftest import ZAPOMNI, python_with
from zapomni_core.app import build_app
from zapomni_core.host.discovery import discover
from zapomni_core.settings import Settings

pytestmark = [pytest.mark.clients, pytest.mark.timeout(900)]

PROBES = Path(__file__).parent / "probes"
# Each with the version of `mcp` that it was written for, where it does not say so itself.
CONVERTERS = {
    "openai_agents": ("openai-agents",),
    "google_genai": ("google-genai", "mcp<2"),
    "langchain_google": ("langchain-google-genai", "langchain-mcp-adapters"),
    "autogen_tools": ("autogen-ext[mcp]", "mcp<2"),
    "crew": ("crewai", "crewai-tools[mcp]"),
}
STRINGS_FOR_OBJECTS = {"langchain_google"}
"""They make a string of every object whose keys are not described; dispatch takes a JSON object in a string."""


def types_in(schema, *, strings_for_objects=False):
    """The types of a schema in plain words, whatever dialect it is in."""
    forms = [form for form in schema.get("anyOf", [schema]) if form.get("type") != "null"]
    assert len(forms) == 1, schema
    kind = forms[0]["type"].lower()
    if properties := forms[0].get("properties"):
        return {name: types_in(part, strings_for_objects=strings_for_objects) for name, part in properties.items()}
    if kind == "array":
        return [types_in(forms[0]["items"], strings_for_objects=strings_for_objects)]
    return "string" if kind == "object" and strings_for_objects else kind


def without_references(schema, definitions):
    """The schema with pydantic's references resolved."""
    if isinstance(schema, list):
        return [without_references(one, definitions) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        schema = definitions[schema["$ref"].rpartition("/")[2]]
    return {key: without_references(value, definitions) for key, value in schema.items() if key != "$defs"}


@pytest.mark.parametrize("name", CONVERTERS)
def test_a_converter_keeps_the_types_of_all_arguments_of_all_tools(name, run):
    code, output = run(python_with(name, *CONVERTERS[name]), PROBES / f"{name}.py", ZAPOMNI)
    assert code == 0, output[-2000:]
    told = json.loads(next(line for line in output.splitlines() if line.startswith('{"tools"')))
    tools = {tool.name: tool for tool in build_app(Settings(), plugins=discover()).registry}
    assert told["tools"].keys() == tools.keys()
    for tool in tools.values():
        if not tool.input_schema["properties"]:
            continue
        converted = told["tools"][tool.name]
        found = types_in(without_references(converted, converted.get("$defs", {})))
        assert found == types_in(tool.input_schema, strings_for_objects=name in STRINGS_FOR_OBJECTS), tool.name
    assert "Nothing found among 0 memories in workspace 'default'" in told["answer"]
