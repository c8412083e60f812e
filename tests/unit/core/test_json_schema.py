"""Schemas of pydantic models are simplified: single types, no references, no null for optional properties."""

from datetime import datetime
from enum import Enum, IntEnum
from typing import Literal

import pytest
from pydantic import BaseModel, Field

from zapomni_core.errors import ContractError
from zapomni_core.json_schema import plain_schema


class Color(Enum):
    RED = "red"
    BLUE = "blue"


class Size(IntEnum):
    SMALL = 1
    LARGE = 2


class Place(BaseModel):
    """Where it is."""

    city: str
    zip: str | None = None


class Tree(BaseModel):
    children: list["Tree"] = Field(default_factory=list)


def schema_of(annotation, default=None):
    class Model(BaseModel):
        __annotations__ = {"it": annotation}
        it = default

    return plain_schema(Model.model_json_schema())["properties"]["it"]


@pytest.mark.parametrize(
    ("annotation", "default", "schema"),
    [
        (int | None, None, {"type": "integer"}),
        (int, 5, {"type": "integer", "default": 5}),
        (int | None, 5, {"type": "integer", "default": 5}),
        (Color, Color.RED, {"type": "string", "enum": ["red", "blue"], "default": "red"}),
        (Size | None, None, {"type": "integer", "enum": [1, 2]}),
        (Literal["a", "b"] | None, None, {"type": "string", "enum": ["a", "b"]}),
        (Literal["a"], "a", {"type": "string", "enum": ["a"], "default": "a"}),
        (datetime | None, None, {"type": "string", "format": "date-time"}),
        (list[Color] | None, None, {"type": "array", "items": {"type": "string", "enum": ["red", "blue"]}}),
        (dict[str, int] | None, None, {"type": "object", "additionalProperties": {"type": "integer"}}),
        (dict | None, None, {"type": "object"}),
    ],
)
def test_a_type_becomes_a_plain_one(annotation, default, schema):
    assert schema_of(annotation, default) == schema


def test_a_nested_model_stands_where_it_is_used():
    assert schema_of(list[Place], []) == {
        "type": "array",
        "default": [],
        "items": {
            "description": "Where it is.",
            "type": "object",
            "properties": {"city": {"type": "string"}, "zip": {"type": "string"}},
            "required": ["city"],
        },
    }


def test_a_property_may_be_called_like_a_keyword():
    class Odd(BaseModel):
        title: str
        default: int | None = None
        enum: list[str] = Field(default_factory=list)

    assert plain_schema(Odd.model_json_schema()) == {
        "type": "object",
        "properties": {
            "title": {"type": "string"},
            "default": {"type": "integer"},
            "enum": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["title"],
    }


def test_null_of_a_required_property_stays():
    class Answer(BaseModel):
        score: int | None

    assert plain_schema(Answer.model_json_schema())["properties"]["score"] == {
        "anyOf": [{"type": "integer"}, {"type": "null"}]
    }


def test_a_model_that_contains_itself_is_refused_by_name():
    with pytest.raises(ContractError, match="'Tree'"):
        plain_schema(Tree.model_json_schema())
