"""The quick yes is never given to what jsonschema refuses, and is given to what tools really say."""

import random

import pytest

from zapomni_core.host.accepting import acceptor
from zapomni_core.host.schemas import check_schema, validator
from zapomni_core.responses import ErrorResponse, response_schema
from zapomni_mcp.schemas import SearchMemoryResponse, SearchResult
from zapomni_mcp.tools.search_memory import SearchMemoryTool

NAMES = ["a", "b", "c"]
SCALARS = [None, True, False, -2, 0, 1, 3, 0.0, 1.0, 1.5, *NAMES, ""]
TYPES = ["array", "boolean", "integer", "null", "number", "object", "string"]
COUNTED = ["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"]
BOUNDS = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]
ONE_PART = ["items", "additionalProperties", "not"]
PARTS = ["anyOf", "allOf", "oneOf", "prefixItems"]
REFERENCES = ["#/$defs/x", "#/$defs/y", "#/$defs/x/items", "#"]
KEYWORDS = ["type", "enum", "const", "required", "uniqueItems", "title", "properties", "$ref"]


def _value(dice, depth=3):
    kind = dice.random() if depth else 1.0
    if kind < 0.25:
        return [_value(dice, depth - 1) for _ in range(dice.randrange(4))]
    if kind < 0.6:
        return {name: _value(dice, depth - 1) for name in dice.sample(NAMES, dice.randrange(4))}
    return dice.choice(SCALARS)


def _schema(dice, depth=3):
    if depth == 0 or dice.random() < 0.1:
        return dice.random() < 0.8
    keywords = dice.sample([*KEYWORDS, *COUNTED, *BOUNDS, *ONE_PART, *PARTS], dice.choice([0, 1, 1, 2, 2, 3]))
    return {keyword: _rule(dice, keyword, depth) for keyword in keywords}


def _rule(dice, keyword, depth):
    if keyword in COUNTED:
        return dice.randrange(4)
    if keyword in BOUNDS:
        return dice.randint(-2, 2)
    if keyword in ONE_PART:
        return _schema(dice, depth - 1)
    if keyword in PARTS:
        return [_schema(dice, depth - 1) for _ in range(dice.randint(1, 2))]
    return {
        "type": lambda: dice.choice([dice.choice(TYPES), dice.sample(TYPES, 3)]),
        "enum": lambda: dice.sample(SCALARS, 5),
        "const": lambda: dice.choice(SCALARS),
        "required": lambda: dice.sample(NAMES, dice.randrange(3)),
        "uniqueItems": lambda: dice.random() < 0.5,
        "title": lambda: "a title",
        "properties": lambda: {name: _schema(dice, depth - 1) for name in dice.sample(NAMES, 2)},
        "$ref": lambda: dice.choice(REFERENCES),
    }[keyword]()


def _is_valid(schema, value):
    try:
        return validator(schema).is_valid(value)
    except RecursionError:  # it refers to itself without end, and jsonschema does not see that it need not
        return True


class Text(str):
    """Almost a text."""

    __slots__ = ()


@pytest.mark.parametrize("seed", range(5))
def test_a_yes_means_that_jsonschema_says_yes_too(seed):
    dice = random.Random(seed)
    agreed = 0
    for _ in range(300):
        definitions = {"x": {"items": _schema(dice, 1), "type": "array"}, "y": _schema(dice)}
        whole = _schema(dice)
        schema = {**(whole if isinstance(whole, dict) else {"anyOf": [whole]}), "$defs": definitions}
        accepts = acceptor(schema)
        for value in [value for value in (_value(dice) for _ in range(10)) if accepts(value)]:
            assert _is_valid(schema, value), (schema, value)
            agreed += 1
    assert agreed > 100


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({}, None),
        ({"type": ["string", "null"]}, "a"),
        ({"enum": ["a", None]}, None),
        ({"const": "a"}, "a"),
        ({"minimum": 1, "maxLength": 2}, 1.5),
        ({"minimum": 1, "maxLength": 2}, "ab"),
        ({"properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}, {"a": 1}),
        ({"properties": {"a": True}, "minProperties": 1, "maxProperties": 2}, {"a": 1, "b": 2}),
        ({"items": {"anyOf": [{"type": "null"}, {"allOf": [{"type": "string"}]}]}, "minItems": 2}, [None, "a"]),
        ({"$ref": "#/$defs/tree", "$defs": {"tree": {"items": {"$ref": "#/$defs/tree"}, "type": "array"}}}, [[], [[]]]),
    ],
)
def test_what_plainly_meets_a_schema_is_accepted(schema, value):
    check_schema(schema, "the schema")
    assert acceptor(schema)(value)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "integer"}, 1.0),
        ({"const": 1}, 1),
        ({"type": "string"}, Text("a")),
        ({"minLength": 1}, Text("")),
        ({"oneOf": [{"type": "string"}]}, "a"),
        ({"$ref": "#/$defs/a~0b", "$defs": {"a~b": True}}, "a"),
        ({"$ref": "#"}, "a"),
        ({"$ref": "#/$defs/x/items", "$defs": {"x": True}}, "a"),
        (False, "a"),
    ],
    ids=["whole-float", "number", "subclass", "bound-of-subclass", "oneOf", "escaped", "root", "nowhere", "false"],
)
def test_what_needs_a_second_thought_is_left_to_jsonschema(schema, value):
    assert not acceptor(schema)(value)


def test_a_value_without_end_is_not_accepted():
    endless = []
    endless.append(endless)
    assert not acceptor({"$ref": "#/$defs/x", "$defs": {"x": {"items": {"$ref": "#/$defs/x"}}}})(endless)


def test_a_search_is_checked_without_jsonschema():
    hit = SearchResult(memory_id="1", text="a", similarity_score=0.5, why=["a"])
    answer = SearchMemoryResponse(
        status="success",
        message="",
        count=1,
        confidence=0.5,
        verdict="good",
        results=[hit],
        workspace="default",
        memories_searched=1,
    )
    assert acceptor(response_schema(SearchMemoryResponse, ErrorResponse))(answer.model_dump(mode="json"))
    assert acceptor(SearchMemoryTool.input_schema)({"query": "a", "limit": 3, "filters": None})
    assert not acceptor(SearchMemoryTool.input_schema)({"query": "a", "limit": 0})
