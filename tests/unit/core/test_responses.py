"""Every error has a next step, and answers that miss a part say why."""

from typing import get_args

import pytest

from zapomni_core.responses import DegradedResponse, ErrorResponse, ErrorType


def error(**fields):
    usual = {"message": "No.", "error_type": "internal", "error_code": "X", "status_code": 500, "recoverable": False}
    return ErrorResponse(**usual | fields).model_dump(mode="json")


@pytest.mark.parametrize("kind", get_args(ErrorType))
def test_an_error_of_any_kind_has_a_next_step(kind):
    assert error(error_type=kind)["suggestion"].endswith(".")


def test_an_error_that_knows_better_says_so():
    assert error(suggestion="Buy a disk.")["suggestion"] == "Buy a disk."
    assert "search_memory" in error(error_type="not_found", error_code="MEMORY_NOT_FOUND")["suggestion"]


def test_why_a_part_is_missing_is_left_out_where_nothing_is_known_of_it():
    assert "error_code" not in DegradedResponse(message="Half.").model_dump()
    assert DegradedResponse(message="Half.", error_code="TIMEOUT").model_dump()["error_code"] == "TIMEOUT"


def test_the_schema_still_says_what_a_suggestion_is():
    schema = ErrorResponse.model_json_schema(mode="serialization")["properties"]["suggestion"]
    assert {one["type"] for one in schema["anyOf"]} == {"string", "null"}
