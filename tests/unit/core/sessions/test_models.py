"""The models have the agreed JSON Schemas and keep their values."""

import json
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import pytest

import zapomni_core
from zapomni_core import AgentResponse, Document, ValidationError
from zapomni_core.sessions.models import document_of

AGREED = json.loads(Path(__file__).with_name("agreed_schemas.json").read_text(encoding="utf-8"))
NOW = datetime(2026, 5, 8, 12, tzinfo=UTC)


def normalised(schema, definitions):
    """The schema without references and redundant parts: null next to another type, open objects, defaults."""
    if "$ref" in schema:
        model = normalised(definitions[schema["$ref"].rpartition("/")[2]], definitions)
        return {key: value for key, value in model.items() if key != "description"}
    if "anyOf" in schema:
        (one,) = [each for each in schema["anyOf"] if each != {"type": "null"}]
        return normalised({**one, **{key: value for key, value in schema.items() if key != "anyOf"}}, definitions)
    said = {key: value for key, value in schema.items() if key not in {"title", "default", "$defs", "$schema"}}
    if said.get("additionalProperties") is True:
        del said["additionalProperties"]
    if "properties" in said:
        said["properties"] = {name: normalised(one, definitions) for name, one in said["properties"].items()}
    if "items" in said:
        said["items"] = normalised(said["items"], definitions)
    if "required" in said:
        said["required"] = sorted(said["required"])
    return said


@pytest.mark.parametrize("name", sorted(AGREED))
def test_a_model_has_the_schema_that_was_agreed_on(name):
    schema = getattr(zapomni_core, name).model_json_schema()
    assert schema.pop("title") == name
    assert schema.pop("description")
    assert normalised(schema, schema.get("$defs", {})) == normalised(AGREED[name], {})


def test_only_what_is_nullable_may_be_null():
    nullable = {"embedding", "reasoning", "proposed_mcp_server", "timeout_seconds"}
    models = [getattr(zapomni_core, name) for name in AGREED]
    found = {
        field for model in models for field, one in model.model_json_schema()["properties"].items() if "anyOf" in one
    }
    assert found == nullable


def test_documents_of_another_dimension_have_a_model_of_their_own():
    fields = {"id": uuid4(), "content": "text", "created_at": NOW, "updated_at": NOW}
    document = document_of(2)(**fields, embedding=[1.0, 2.0])
    assert isinstance(document, Document)
    assert document_of(2) is document_of(2)
    assert document_of(1536) is Document
    assert document_of(2)(**fields).embedding is None
    with pytest.raises(ValidationError):
        Document(**fields, embedding=[1.0, 2.0])
    with pytest.raises(ValidationError):
        document_of(2)(**fields, embedding=[1.0])


def test_a_response_keeps_its_tool_calls_as_they_were():
    calls = [{"name": "search", "args": {"q": 1}, "result": [1, None], "more": "of it"}, {"name": "none"}]
    response = AgentResponse(answer="yes", confidence=0.5, timestamp=NOW, tool_calls=calls)
    assert response.tool_calls == calls
    assert AgentResponse.model_validate_json(response.model_dump_json()) == response


@pytest.mark.parametrize("confidence", [-0.1, 1.1])
def test_confidence_is_between_zero_and_one(confidence):
    with pytest.raises(ValidationError):
        AgentResponse(answer="yes", confidence=confidence, timestamp=NOW)
