"""The input schemas of the bundled tools survive the converters of agents and libraries.

The rules were recorded from openai-agents 0.24, google-genai 2.34 and 3.3, langchain-google-genai 4.4.2, AutoGen 0.7.5 and
CrewAI 1.15.30. `make clients` tries the converters themselves.
"""

import pytest

from zapomni_core.app import build_app
from zapomni_core.host.discovery import discover
from zapomni_core.settings import Settings


class RefusedError(Exception):
    """Raised by a converter."""


def google_genai(schema):
    """One type for each place, in capital letters; an object keeps its properties."""
    if not isinstance(schema.get("type"), str):
        raise RefusedError("no single type")
    made = {"type": schema["type"].upper()}
    if "properties" in schema:
        made["properties"] = {name: google_genai(part) for name, part in schema["properties"].items()}
    if "items" in schema:
        made["items"] = google_genai(schema["items"])
    return made


def langchain_google_genai(schema):
    """A property of several types, of no type, or an object of any keys becomes a string."""
    kind = schema.get("type")
    if not isinstance(kind, str) or (kind == "object" and "properties" not in schema):
        return {"type": "STRING"}
    made = {"type": kind.upper()}
    if "properties" in schema:
        made["properties"] = {name: langchain_google_genai(part) for name, part in schema["properties"].items()}
    if "items" in schema:
        made["items"] = langchain_google_genai(schema["items"])
    return made


def autogen(schema):
    """Looks a type up by its name, which fails for a list of types; every property that may be absent may be null."""
    kind = schema.get("type")
    if isinstance(kind, list):
        raise RefusedError("unhashable type: 'list'")
    required = schema.get("required", ())
    made = {"type": kind}
    if "properties" in schema:
        parts = {name: autogen(part) for name, part in schema["properties"].items()}
        made["properties"] = {
            name: part if name in required else {"anyOf": [part, {"type": "null"}]} for name, part in parts.items()
        }
    if "items" in schema:
        made["items"] = autogen(schema["items"])
    return made


def strict(schema):
    """OpenAI's strict mode wants a type everywhere, beside fixed values too, and no null as a default."""
    if "type" not in schema or ("default", None) in schema.items():
        raise RefusedError("not strict")
    made = {"type": schema["type"]}
    if "properties" in schema:
        made["properties"] = {name: strict(part) for name, part in schema["properties"].items()}
    if "items" in schema:
        made["items"] = strict(schema["items"])
    return made


def types_in(schema):
    """The types of a schema in small letters, whatever dialect it is in."""
    (form,) = [form for form in schema.get("anyOf", [schema]) if form["type"] != "null"]
    kind = form["type"].lower()
    if "properties" in form:
        return {name: types_in(part) for name, part in form["properties"].items()}
    return [types_in(form["items"])] if kind == "array" else kind


@pytest.fixture(scope="module")
def tools():
    return list(build_app(Settings(), plugins=discover()).registry)


@pytest.mark.parametrize("convert", [google_genai, autogen, strict])
def test_the_types_of_all_arguments_are_kept(tools, convert):
    assert len(tools) > 20
    for tool in tools:
        assert types_in(convert(tool.input_schema)) == types_in(tool.input_schema), tool.name


def test_only_objects_of_any_keys_become_strings(tools):
    def with_strings(types):
        if isinstance(types, dict):
            return {name: with_strings(part) for name, part in types.items()}
        if isinstance(types, list):
            return [with_strings(part) for part in types]
        return "string" if types == "object" else types

    for tool in tools:
        found = types_in(langchain_google_genai(tool.input_schema))
        assert found == with_strings(types_in(tool.input_schema)), tool.name


@pytest.mark.parametrize(
    ("convert", "schema"),
    [
        (google_genai, {"type": ["integer", "null"]}),
        (google_genai, {"enum": ["a"]}),
        (autogen, {"type": ["integer", "null"]}),
        (strict, {"enum": ["a"]}),
        (strict, {"type": "integer", "default": None}),
    ],
)
def test_the_recorded_rules_refuse_unsupported_schemas(convert, schema):
    with pytest.raises(RefusedError):
        convert(schema)


def test_the_recorded_rule_turns_several_types_into_a_string():
    assert langchain_google_genai({"type": ["integer", "null"]}) == {"type": "STRING"}
