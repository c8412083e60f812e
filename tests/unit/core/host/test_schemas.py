import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from zapomni_core.host.schemas import check_schema, is_json, validator

DIALECT = "https://json-schema.org/draft/2020-12/schema"

KEYWORDS = """
type properties required items enum minimum maxLength pattern anyOf not $ref $defs description default additionalProperties
multipleOf uniqueItems format x-hint $id const prefixItems dependentRequired patternProperties if title examples contains $anchor
"""
names = st.sampled_from(KEYWORDS.split())
leaves = (
    st.none() | st.booleans() | st.integers(-2, 5) | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["string", "object", "a", "#", "#/$defs/a", "#/nowhere", "[", "https://example.org/x.json", ""])
    | st.sampled_from(["#/x-hint", "#/properties", "#/properties/a", "#/default", "#/anyOf/0", "#/not/items"])
    | st.lists(st.sampled_from(["string", "null", "a", "a"]), max_size=3)
)  # fmt: skip
documents = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(names, inner, max_size=4)
        | st.dictionaries(st.sampled_from(["a", "b", "$ref"]), inner, max_size=2)
    ),
    max_leaves=12,
)


@settings(max_examples=100)
@given(st.dictionaries(names, documents, max_size=5))
def test_every_accepted_schema_is_valid_and_usable(schema):
    try:
        check_schema(schema, "Schema")
    except ValueError:
        return
    Draft202012Validator.check_schema(schema)
    for value in ({}, {"a": 1}, [1], "text", None):
        with contextlib.suppress(RecursionError):  # a schema may refer to itself endlessly
            validator(schema).is_valid(value)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "objekt"},
        {"properties": {"a": {"type": "strin"}}},
        {"required": "text"},
        {"properties": {"a": {"pattern": "["}}},
        {"properties": []},
        {"properties": {"a": {"anyOf": []}}},
        {"properties": {"a": {"minLength": -1}}},
    ],
)
def test_an_invalid_schema_is_rejected_with_the_broken_rule(schema):
    with pytest.raises(ValueError, match=r"^Schema .* rule '\w+'$"):
        check_schema(schema, "Schema")
    with pytest.raises(SchemaError):
        Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize(
    "reference",
    ["https://example.org/x.json", "other.json", "#/$defs/absent", "#absent", "file:///etc/passwd", "//x/y"],
)
def test_an_external_or_unresolvable_reference_is_rejected(reference):
    schema = {"type": "object", "properties": {"a": {"$ref": reference}}, "$defs": {"here": {}}}
    with pytest.raises(ValueError, match=r"^Schema .*\$ref.* cannot be resolved"):
        check_schema(schema, "Schema")


def test_a_remote_reference_below_a_rare_keyword_is_rejected():
    schema = {
        "type": "object",
        "properties": {},
        "patternProperties": {"x": {"items": {"$ref": "https://example.org/x"}}},
    }
    with pytest.raises(ValueError, match="cannot be resolved"):
        check_schema(schema, "Schema")


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ({"properties": {"a": {"$ref": "#/x-here"}}, "x-here": {"type": "nonsense"}}, "breaks the rule"),
        (
            {"properties": {"a": {"$ref": "#/x-here"}}, "x-here": {"$ref": "https://example.org/x"}},
            "cannot be resolved",
        ),
        ({"properties": {"a": {"$ref": "#/x-here"}}, "x-here": {"items": {"$ref": "#/x-there"}}}, "cannot be resolved"),
        ({"properties": {"a": {"$ref": "#/properties/a/default", "default": {"type": 5}}}}, "breaks the rule"),
        ({"properties": {"type": {}, "a": {"$ref": "#/properties"}}}, "breaks the rule"),
        ({"properties": {"a": {"$ref": "#/required"}}, "required": ["a"]}, "breaks the rule"),
        ({"$defs": {"~": {"$ref": "#/x~0"}}, "x~": {"enum": 5}}, "breaks the rule"),
        ({"properties": {"a": {"$ref": "#/anyOf/1"}}, "anyOf": [{}]}, "cannot be resolved"),
    ],
)
def test_the_target_of_a_reference_is_checked_as_a_schema(schema, problem):
    with pytest.raises(ValueError, match=problem):
        check_schema(schema, "Schema")


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"$ref": "#/x-here"}}, "x-here": {"$ref": "#/x-there"}, "x-there": {"$ref": "#/x-here"}},
        {"properties": {"a": {"$ref": "#/anyOf/0"}}, "anyOf": [{"type": "object"}]},
        {"properties": {"a": {"$ref": "#/properties/a/default", "default": {"type": "string"}}}},
        {"properties": {"a": {"$ref": "#"}}},
        {"$schema": DIALECT, "$defs": {"a/b": {}}, "properties": {"x": {"$ref": "#/$defs/a~1b"}}},
        {"$defs": {"a": {"$anchor": "here"}}, "properties": {"x": {"$ref": "#here"}}},
        {"$id": "https://example.org/root", "$defs": {"a": {"$id": "a"}}, "properties": {"x": {"$ref": "a"}}},
        {"properties": {"$ref": {"type": "string"}}},
        {"properties": {"x": {"const": {"$ref": "https://example.org"}, "default": {"type": "nonsense"}}}},
        {"dependentRequired": {"a": ["b"]}, "patternProperties": {"^x": {"type": "string"}}},
    ],
)
def test_a_valid_schema_with_internal_references_is_accepted(schema):
    check_schema(schema, "Schema")
    assert validator(schema).is_valid({})


@pytest.mark.parametrize("dialect", ["http://json-schema.org/draft-07/schema#", 5, None, ["x"]])
def test_a_schema_of_another_draft_is_rejected(dialect):
    with pytest.raises(ValueError, match="draft 2020-12"):
        check_schema({"$schema": dialect, "type": "object"}, "Schema")


def test_a_deep_schema_is_accepted():
    schema = {"type": "string"}
    for _ in range(80):
        schema = {"items": schema}
    check_schema(schema, "Schema")
    assert validator(schema).is_valid([[]])


def test_a_schema_that_is_too_deep_to_check_is_rejected():
    schema = {"type": "string"}
    for _ in range(200):
        schema = {"items": schema}
    with pytest.raises(ValueError, match="nested too deeply"):
        check_schema(schema, "Schema")


@pytest.mark.parametrize(
    "value", [object(), float("nan"), float("inf"), "\ud800", {"a": {1, 2}}, b"bytes", [{1: 2}], ({None: 1},)]
)
def test_values_that_cannot_be_sent_as_json_are_rejected(value):
    assert not is_json({"default": value})
    with pytest.raises(ValueError, match="must be plain JSON"):
        check_schema({"type": "object", "properties": {"a": {"default": value}}}, "Schema")


@pytest.mark.parametrize("schema", [{1: 2}, {"properties": {1: {}}}, {"properties": {"a": {"default": [{True: 0}]}}}])
def test_a_key_that_is_not_a_string_is_rejected_at_any_depth(schema):
    with pytest.raises(ValueError, match="must be plain JSON"):
        check_schema({"type": "object"} | schema, "Schema")


def test_a_schema_that_contains_itself_is_not_json():
    schema = {"type": "object"}
    schema["properties"] = {"a": schema}
    assert not is_json(schema)


@pytest.mark.parametrize("value", [(1, 2), {"a": ("b",)}, [1, 2.5, True, None, "é🙂"], {"": {}}, 10**30])
def test_values_that_can_be_sent_as_json_are_accepted(value):
    assert is_json(value)


def test_deep_nesting_is_json():
    value = []
    for _ in range(300):
        value = [value]
    assert is_json(value)
