"""Answers are compact, error texts name the next step, and schemas admit both."""

from datetime import datetime, timedelta, timezone
from typing import Any, Literal, get_args

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field

from zapomni_core.responses import (
    DegradedResponse,
    ErrorResponse,
    ErrorType,
    Moment,
    SuccessResponse,
    answer,
    error_text,
    response_schema,
)
from zapomni_core.text.plural import counted


class Bee(BaseModel):
    name: str
    tags: list[str] = Field(default_factory=list)


class Hive(SuccessResponse):
    bees: list[Bee]
    built: Moment | None = None
    size: int = 1
    about: dict[str, Any] = Field(default_factory=dict)


class Swarm(DegradedResponse):
    bees: list[Bee]
    mood: Literal["calm", "angry"]


def error(**fields):
    usual = {"message": "No.", "error_type": "internal", "error_code": "X", "status_code": 500, "recoverable": False}
    return ErrorResponse(**usual | fields)


@pytest.mark.parametrize("kind", get_args(ErrorType))
def test_an_error_of_any_type_suggests_a_next_step(kind):
    assert error(error_type=kind).suggestion.endswith(".")


def test_a_specific_suggestion_replaces_the_default_one():
    assert error(suggestion="Buy a disk.").suggestion == "Buy a disk."
    assert "search_memory" in error(error_type="not_found", error_code="MEMORY_NOT_FOUND").suggestion


def test_the_text_of_an_error_has_its_suggestion_and_retry_delay():
    text = error_text(error(suggestion="Wait.", retry_after_seconds=4.2))
    assert text == "Error: No.\nWait. Retry in 5 seconds."
    assert error_text(error(suggestion="Wait.", retry_after_seconds=1)).endswith("Retry in 1 second.")


def test_the_text_of_an_error_states_the_retry_delay_once():
    said = error(message="Rate limit exceeded. Retry in 30 seconds.", suggestion="Wait.", retry_after_seconds=30)
    assert error_text(said) == "Error: Rate limit exceeded. Retry in 30 seconds.\nWait."


def test_an_answer_has_no_empty_fields_and_times_to_the_second():
    built = datetime(2026, 5, 8, 14, 30, 15, 123456, tzinfo=timezone(timedelta(hours=2)))
    made = answer("A hive.", Hive(message="A hive.", bees=[Bee(name="Ada")], built=built), seconds=0.01234)
    assert made["structuredContent"] == {
        "status": "success",
        "message": "A hive.",
        "bees": [{"name": "Ada"}],
        "built": "2026-05-08T12:30:15Z",
        "processing_time_ms": 12.3,
    }


def test_required_fields_of_an_answer_stay_even_if_empty():
    assert answer("", Hive(message="", bees=[]))["structuredContent"]["bees"] == []


def test_values_of_the_user_are_not_shortened():
    about = {"queen": None, "tags": [], "note": ""}
    assert answer("", Hive(message="", bees=[], about=about))["structuredContent"]["about"] == about


def test_an_error_response_becomes_an_error_result():
    made = answer("ignored", error())
    assert made["isError"] is True
    assert made["content"][0]["text"].startswith("Error: No.\n")


def test_one_schema_admits_each_kind_of_answer_and_no_mixture():
    schema = response_schema(Hive, Swarm, ErrorResponse)
    admits = Draft202012Validator(schema).is_valid
    hive, swarm = Hive(message="", bees=[Bee(name="a")]), Swarm(message="", bees=[], mood="calm", error_code="RAIN")
    assert all(admits(answer("", one)["structuredContent"]) for one in (hive, swarm, error(retry_after_seconds=5)))
    assert not admits({"status": "success", "message": ""})
    assert not admits({"status": "lost", "message": "", "bees": []})
    assert not admits({"status": "success", "message": "", "bees": [{}]})


def test_a_schema_has_no_references_and_no_descriptions():
    schema = response_schema(Hive, Swarm, ErrorResponse)
    assert schema["properties"]["status"] == {"type": "string", "enum": ["success", "degraded", "error"]}
    assert schema["properties"]["size"] == {"type": "integer"}
    assert "$ref" not in str(schema)
    assert "description" not in str(schema)


@pytest.mark.parametrize(("count", "words"), [(0, "0 bees"), (1, "1 bee"), (1234, "1,234 bees")])
def test_a_noun_agrees_with_its_number(count, words):
    assert counted(count, "bee") == words


def test_an_irregular_plural_is_given():
    assert (counted(1, "memory", "memories"), counted(2, "memory", "memories")) == ("1 memory", "2 memories")
