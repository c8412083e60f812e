import json
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Annotated, Literal
from uuid import UUID

import pytest
from pydantic import BaseModel, Field

from zapomni_core.errors import ContractError
from zapomni_core.plugin import InvalidInputError, ToolResult, hookimpl, tool
from zapomni_core.testing import running, text_of


def offering(*tools):
    """A plugin that offers these tools."""

    class ToolPlugin:
        @hookimpl
        def zapomni_tools(self):
            return tools

    return ToolPlugin()


class City(BaseModel):
    name: str
    country: str = "NO"


@tool
async def weather(city: str, days: int = 1, unit: Literal["C", "F"] = "C") -> str:
    """Tell the weather of a city,
    for some days.

    More for people who read the source.

    Args:
        city: Where to look, as people
            there write it.
        days (int): How many days ahead.

    Returns:
        A sentence.
    """
    return f"{city} {days} {unit}"


def test_the_name_and_the_first_paragraph_become_name_and_description():
    assert (weather.name, weather.description) == ("weather", "Tell the weather of a city, for some days.")


def test_types_and_args_become_the_schema():
    assert weather.input_schema == {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "city": {"type": "string", "description": "Where to look, as people there write it."},
            "days": {"type": "integer", "description": "How many days ahead.", "default": 1},
            "unit": {"type": "string", "enum": ["C", "F"], "default": "C"},
        },
        "required": ["city"],
    }


async def test_defaults_of_the_function_stand_and_text_becomes_the_readable_answer():
    assert await weather.execute({"city": "Oslo"}) == ToolResult.text("Oslo 1 C")


async def test_the_function_itself_stays_callable():
    assert await weather("Oslo", days=2) == "Oslo 2 C"


async def test_a_model_among_the_parameters_arrives_as_one():
    @tool
    async def visit(city: City, tags: Annotated[list[str], Field(description="Words.", max_length=2)]) -> dict:
        """Visit a city and come back."""
        return {"country": city.country, "tags": tags}

    result = await visit.execute({"city": {"name": "Oslo"}, "tags": ["a"]})
    assert result["structuredContent"] == {"country": "NO", "tags": ["a"]}
    assert visit.input_schema["properties"]["tags"]["description"] == "Words."


async def test_a_model_that_is_returned_becomes_structured_content():
    @tool
    async def find() -> City:
        """Find a city somewhere."""
        return City(name="Oslo")

    assert (await find.execute({}))["structuredContent"] == {"name": "Oslo", "country": "NO"}


async def test_any_value_that_pydantic_serialises_can_be_returned():
    @tool
    async def when() -> dict:
        """Tell a time, an id and a set."""
        return {"at": datetime(2026, 1, 2, tzinfo=UTC), "id": UUID(int=1), "tags": {"a"}, "all": [Path("x")]}

    structured = {"at": "2026-01-02T00:00:00Z", "id": str(UUID(int=1)), "tags": ["a"], "all": ["x"]}
    result = await when.execute({})
    assert result["structuredContent"] == structured
    assert json.loads(result["content"][0]["text"]) == structured


async def test_a_parameter_may_have_a_name_that_pydantic_uses_itself():
    @tool
    async def odd(schema: str, json: int, copy: int = 1, _x: int = 2, model_config: int = 3) -> str:
        """Take parameters of odd names."""
        return f"{schema} {json} {copy} {_x} {model_config}"

    assert list(odd.input_schema["properties"]) == ["schema", "json", "copy", "_x", "model_config"]
    assert odd.input_schema["required"] == ["schema", "json"]
    assert await odd.execute({"schema": "a", "json": 4, "_x": 5}) == ToolResult.text("a 4 1 5 3")
    with pytest.raises(InvalidInputError, match=r"^json: "):
        await odd.execute({"schema": "a", "json": "no"})
    with pytest.raises(InvalidInputError, match=r"^argument_json: "):
        await odd.execute({"schema": "a", "json": 1, "argument_json": 1})


def test_args_need_no_blank_line_above_them():
    @tool
    async def terse(name: str) -> str:
        """Greet a person by name.
        Args:
            name: Whom to greet.
        """
        return name

    assert terse.description == "Greet a person by name."
    assert terse.input_schema["properties"]["name"]["description"] == "Whom to greet."


async def test_a_tool_result_is_returned_unchanged():
    @tool(name="refuse_it", title="Refuse", timeout_seconds=5, annotations={"readOnlyHint": True})
    async def refuse() -> dict:
        """Refuse whatever is asked."""
        return ToolResult.error("no", meta={"why": "because"})

    assert await refuse.execute({}) == {
        "content": [{"type": "text", "text": "no"}],
        "isError": True,
        "_meta": {"why": "because"},
    }
    assert (refuse.name, refuse.title, refuse.timeout_seconds) == ("refuse_it", "Refuse", 5)


async def test_a_value_that_only_the_type_refuses_is_reported_by_place_and_rule():
    @tool
    async def visit(pair: tuple[int, int]) -> str:
        """Visit a pair of numbers."""
        return ""

    with pytest.raises(InvalidInputError, match=r"^pair\.1: "):
        await visit.execute({"pair": [1, "secret"]})


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("def f(a: int): ...", "async def f"),
        ("async def f(a): ...", "parameter 'a'"),
        ("async def f(a: 'Moment'): ...", "'Moment'"),
        ("async def f(*a: int): ...", "cannot be given by name"),
        ("async def f(**a: int): ...", "cannot be given by name"),
        ("async def f(a: int, b: type(open)): ...", "parameter 'b'"),
        ("async def f(a: int, b: __import__('typing').Callable[[], int]): ...", "parameter 'b'"),
    ],
)
def test_a_mistake_of_the_author_raises_where_the_tool_is_defined(source, message):
    scope = {}
    exec(source, scope)
    with pytest.raises(ContractError, match=message.replace("(", r"\(").replace("*", r"\*")):
        tool(scope["f"])


async def test_a_value_that_only_the_type_refuses_is_a_wrong_argument():
    @tool
    async def remind(at: datetime) -> str:
        """Remind of something later."""
        return ""

    async with running(offering(remind), name="sample") as app:
        error = (await app.call("remind", {"at": "soon"}))["structuredContent"]
    assert (error["error_type"], error["error_code"]) == ("validation", "INVALID_ARGUMENTS")
    assert error["message"].startswith("at: Input should be a valid datetime")


@pytest.mark.parametrize("value", [b"\xff", {"picture": b"\xff"}, object()], ids=["bytes", "bytes within", "object"])
async def test_a_result_that_is_not_json_is_an_error(value, caplog):
    @tool
    async def picture() -> object:
        """Give a picture of something."""
        return value

    async with running(offering(picture), name="sample") as app:
        answer = await app.call("picture")
    assert text_of(answer).startswith("Error: The result of tool 'picture' is invalid.")
    assert [record.message for record in caplog.records] == ["invalid_result"]


async def test_a_list_is_returned_as_text_because_structured_content_is_an_object():
    @tool
    async def count() -> list[int]:
        """Count to three, for a person."""
        return [1, 2, 3]

    assert await count.execute({}) == {"content": [{"type": "text", "text": "[1, 2, 3]"}], "isError": False}


class Branch(BaseModel):
    branches: list["Branch"] = Field(default_factory=list)


class Unit(Enum):
    CELSIUS = "C"
    FAHRENHEIT = "F"


async def test_enums_dates_and_models_are_described_by_plain_types_and_arrive_as_what_they_are():
    @tool
    async def plan(unit: Unit, day: datetime | None = None, city: City | None = None, days: int | None = None) -> dict:
        """Plan a journey for some days."""
        return {"unit": unit is Unit.CELSIUS, "day": day, "city": city and city.name, "days": days}

    assert plan.input_schema["properties"] == {
        "unit": {"type": "string", "enum": ["C", "F"]},
        "day": {"type": "string", "format": "date-time"},
        "city": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "country": {"type": "string", "default": "NO"}},
            "required": ["name"],
        },
        "days": {"type": "integer"},
    }
    async with running(offering(plan), name="sample") as app:
        given = {"unit": "C", "day": "2026-05-08T12:00:00Z", "city": '{"name": "Oslo"}', "days": None}
        assert (await app.call("plan", given))["structuredContent"] == {
            "unit": True,
            "day": "2026-05-08T12:00:00Z",
            "city": "Oslo",
            "days": None,
        }


async def test_all_values_that_only_their_types_refuse_are_reported_together():
    @tool
    async def remind(at: datetime, until: datetime) -> str:
        """Remind of something later."""
        return ""

    with pytest.raises(InvalidInputError, match=r"^at: .+; until: "):
        await remind.execute({"at": "soon", "until": "later"})


def test_a_model_that_contains_itself_is_refused_where_the_tool_is_made():
    with pytest.raises(ContractError, match=r"'grow'.*'Branch'"):

        @tool
        async def grow(branch: Branch) -> str:
            """Grow a branch with branches."""
            return ""
