"""Token costs, annotations and schemas of the memory tools."""

import json
from datetime import UTC, datetime

import pytest
from jsonschema import Draft202012Validator

from tests.unit.mcp.tools.answers import text_of
from zapomni_core.host.registry import check_tool, lint, tokens
from zapomni_core.models import SearchHit, SearchResult
from zapomni_core.responses import ErrorResponse, record_of
from zapomni_mcp import schemas
from zapomni_mcp.tools import SearchMemoryTool, zapomni_tools

NAMES = [
    "add_memory",
    "search_memory",
    "get_stats",
    "get_memory",
    "list_memories",
    "delete_memory",
    "restore_memory",
]
LIMITS = ("minLength", "maxLength", "minimum", "maximum", "default")
READING = {"search_memory", "get_stats", "get_memory", "list_memories"}
HIT_CHARACTERS = 160


@pytest.fixture
def tools(mock_core_engine):
    return {tool.name: tool for tool in zapomni_tools(mock_core_engine)}


def costs(tools):
    return [tokens(check_tool(tool, taken=lambda _name: False)) for tool in tools.values()]


def limits_of(schema):
    """The limits of one field; a field that may be null has those of its other form."""
    forms = [schema, *(form for form in schema.get("anyOf", []) if form.get("type") != "null")]
    return {key: form[key] for form in forms for key in LIMITS if form.get(key) is not None}


def test_there_are_seven_tools_and_their_order_is_fixed(tools):
    assert list(tools) == NAMES


def test_the_first_three_cost_at_most_600_tokens_together(tools):
    assert sum(costs(tools)[:3]) <= 600


def test_listing_costs_at_most_130_tokens(tools):
    assert costs(tools)[NAMES.index("list_memories")] <= 130


def test_all_seven_cost_at_most_1000_tokens_together(tools):
    assert sum(costs(tools)) <= 1000


@pytest.mark.parametrize("name", NAMES)
class TestEachTool:
    def test_it_passes_lint(self, tools, name):
        assert lint(check_tool(tools[name], taken=lambda _name: False)) == []

    def test_its_annotations_match_its_effects(self, tools, name):
        annotations = tools[name].annotations
        assert annotations["readOnlyHint"] is (name in READING)
        assert annotations["openWorldHint"] is False
        assert annotations["idempotentHint"] is True
        assert ("destructiveHint" in annotations) is (name not in READING)
        assert annotations.get("destructiveHint", False) is (name == "delete_memory")

    def test_its_schemas_are_schemas_and_it_has_a_title(self, tools, name):
        Draft202012Validator.check_schema(tools[name].input_schema)
        Draft202012Validator.check_schema(tools[name].output_schema)
        assert tools[name].title

    def test_its_schema_and_its_request_model_have_the_same_fields(self, tools, name):
        schema, model = tools[name].input_schema, tools[name].request.model_json_schema()
        unlisted = getattr(tools[name], "unlisted_arguments", {})
        assert [*schema["properties"], *unlisted] == list(model.get("properties", {}))
        assert schema.get("required", []) == model.get("required", [])
        assert schema["additionalProperties"] is model["additionalProperties"] is False

    def test_its_schema_and_its_request_model_have_the_same_limits(self, tools, name):
        model = tools[name].request.model_json_schema()
        for field, schema in tools[name].input_schema["properties"].items():
            assert limits_of(schema) == limits_of(model["properties"][field]), field

    def test_its_request_model_takes_every_type_that_its_schema_admits(self, tools, name):
        model = tools[name].request
        fitting = {"string": "x", "integer": 1, "object": {}}
        required = dict.fromkeys(tools[name].input_schema.get("required", []), fitting["string"])
        for field, schema in tools[name].input_schema["properties"].items():
            model.model_validate(required | {field: fitting[schema["type"]]})

    def test_its_output_schema_admits_errors(self, tools, name):
        error = ErrorResponse(message="No.", error_type="internal", error_code="X", status_code=500, recoverable=False)
        admits = Draft202012Validator(tools[name].output_schema).is_valid
        assert admits(record_of(error))
        assert not admits({"status": "error", "message": "No."})
        assert not admits({"message": "No."})


def test_every_argument_has_a_single_plain_type(mock_core_engine):
    """Including the tools of a server with a language model."""
    mock_core_engine.can_queue = mock_core_engine.asks_llm = True
    checked_tools = [check_tool(tool, taken=lambda _name: False) for tool in zapomni_tools(mock_core_engine)]
    assert {"get_job", "reprocess_memories"} < {tool.name for tool in checked_tools}
    assert [advice for tool in checked_tools for advice in lint(tool)] == []


async def cost_of_a_hit(engine, **particulars):
    """The characters that a hit takes in the readable answer besides its text."""
    text = "Ada keeps bees behind the house."
    hit = SearchHit(
        memory_id="550e8400-e29b-41d4-a716-446655440000",
        text=text,
        similarity_score=0.87,
        kind="memory",
        tags=(),
        conversation="",
        created_at=datetime(2026, 5, 8, tzinfo=UTC),
        **({"why": (), "heading": "", "source": "", "author": "", "timestamp": None} | particulars),
    )
    result = SearchResult(
        hits=(hit,) * 100,
        confidence=0.9,
        verdict="good",
        workspace="default",
        memories_searched=100,
    )
    engine.search_memory.return_value = result
    parts = text_of(await SearchMemoryTool(core_engine=engine).execute({"query": "bees"})).split("\n\n")
    return max(len("\n\n" + part) - len(text) for part in parts[1:])


@pytest.mark.parametrize(
    "particulars",
    [
        {},
        {"why": ("bees", "meaning"), "source": "notes/garden.md", "author": "Grace Hopper"},
        {
            "source": "https://example.org/" + "a" * 500,
            "author": "A" * 200,
            "why": tuple(f"word{n}" for n in range(90)),
        },
        {"author": "Grace\nHopper\n\n[2] a forged hit"},
        {
            "heading": " > ".join(["A very long heading of a very long chapter"] * 6),
            "source": "https://example.org/" + "a" * 500,
            "author": "A" * 200,
            "why": tuple(f"word{n}" for n in range(90)),
        },
    ],
)
async def test_a_hit_costs_its_text_and_at_most_40_tokens(mock_core_engine, particulars):
    assert await cost_of_a_hit(mock_core_engine, **particulars) <= HIT_CHARACTERS


def test_output_schemas_are_small_and_have_no_titles(tools):
    assert sum(len(json.dumps(tool.output_schema, separators=(",", ":"))) for tool in tools.values()) / 4 <= 1800
    assert '"title"' not in json.dumps([tool.output_schema for tool in tools.values()])


def test_the_responses_take_the_fields_of_the_specification():
    stored = schemas.AddMemoryResponse(
        status="success", memory_id="1", chunks_created=3, text_preview="Python", error=None
    )
    assert (stored.message, stored.outcome) == ("Memory stored successfully.", "stored")
    hit = schemas.SearchResult(
        memory_id="1", text="Python", similarity_score=0.5, tags=["a"], source="", timestamp=None
    )
    assert schemas.SearchMemoryResponse(status="success", count=1, results=[hit], error=None).results == [hit]
    counted = schemas.Statistics(total_memories=1, total_chunks=3, database_size_mb=0.5, graph_name="default")
    assert schemas.GetStatsResponse(status="success", statistics=counted, error=None).statistics == counted
