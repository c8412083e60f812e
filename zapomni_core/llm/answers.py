"""Makes of a reply the JSON object that was asked for, or says that it is none."""

import json
import re
from typing import Any

from zapomni_core.host.schemas import is_json, validator
from zapomni_core.llm.dialects import Dialect, Schema

# Servers that do not know about schemas pass on what chat models like to write around JSON.
_FENCED = re.compile(r"\s*```(?:json)?\s*\n(.*?)\n?\s*```\s*", re.DOTALL | re.IGNORECASE)


class MalformedAnswerError(ValueError):
    """The provider answered, but not with what was asked for. Its message never quotes the answer."""


def answer_of(reply: bytes, dialect: Dialect, schema: Schema) -> dict[str, Any]:
    """The object in the body of a reply, which satisfies the schema."""
    try:
        text = dialect.text_of(_parsed(reply, "the reply"))
    except (LookupError, TypeError):
        raise MalformedAnswerError("the reply is not of the provider's protocol") from None
    if not isinstance(text, str):
        raise MalformedAnswerError("the reply holds no text")
    fenced = _FENCED.fullmatch(text)
    return _conforming(_parsed(fenced[1] if fenced else text, "the answer"), schema)


def _parsed(text: str | bytes, what: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise MalformedAnswerError(f"{what} is not JSON") from None


def _conforming(answer: Any, schema: Schema) -> dict[str, Any]:
    if not isinstance(answer, dict) or not is_json(answer):
        raise MalformedAnswerError("the answer is no JSON object")
    try:
        error = next(validator(schema).iter_errors(answer), None)
    except RecursionError:
        raise MalformedAnswerError("the answer is too deep") from None
    if error is not None:
        # jsonschema's own message quotes the answer, and an answer quotes the memory.
        raise MalformedAnswerError(f"the answer breaks the schema's rule '{error.validator}'")
    return answer
