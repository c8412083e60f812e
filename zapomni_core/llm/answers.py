"""Extracts the JSON object that was asked for from a reply, and checks it."""

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from zapomni_core.host.schemas import is_json, validator
from zapomni_core.http import MalformedAnswerError
from zapomni_core.llm.chat import ChatProtocol, Schema

# Servers without schema support pass on what chat models write around JSON.
_THOUGHTS = [
    (re.compile(f"<{name}>", re.IGNORECASE), re.compile(f"</{name}>", re.IGNORECASE))
    for name in ("think", "thinking", "reasoning")
]
_FENCED = re.compile(r"```(?:json)?\s*+(\{)", re.IGNORECASE)
_MOST_STARTS = 5
"""Braces in other text at which an object is looked for."""


def answer_of(reply: bytes, protocol: ChatProtocol, schema: Schema) -> dict[str, Any]:
    """Return the object in the body of a reply, checked against the schema."""
    try:
        text = protocol.text_of(_parsed(reply))
    except (LookupError, TypeError):
        raise MalformedAnswerError("the reply does not follow the provider's protocol") from None
    if not isinstance(text, str):
        raise MalformedAnswerError("the reply holds no text")
    return _conforming(_object_in(text), schema)


def _object_in(text: str) -> dict[str, Any]:
    """Return the JSON object in an answer, without the thoughts and the words around it."""
    text = _without_thought(text.lstrip("\ufeff")).strip()
    for start in _starts(text):
        try:
            found = json.JSONDecoder().raw_decode(text, start)[0]
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            return found
    raise MalformedAnswerError("the answer is not a JSON object")


def _without_thought(text: str) -> str:
    """Remove the first closed element that holds a model's thoughts."""
    found = []
    for begin, end in _THOUGHTS:
        if (opened := begin.search(text)) and (closed := end.search(text, opened.end())):
            found.append((opened.start(), closed.end()))
    first, last = min(found, default=(0, 0))
    return text[:first] + text[last:]


def _starts(text: str) -> Iterator[int]:
    """Yield where the object may begin: at the start, else in a fence, else at one of the first braces."""
    yield 0
    yield from islice((fenced.start(1) for fenced in _FENCED.finditer(text)), _MOST_STARTS)
    yield from islice((brace.start() for brace in re.finditer("{", text)), _MOST_STARTS)


def _parsed(reply: bytes) -> Any:
    try:
        return json.loads(reply)
    except (ValueError, RecursionError):
        raise MalformedAnswerError("the reply is not JSON") from None


def _conforming(answer: dict[str, Any], schema: Schema) -> dict[str, Any]:
    if not is_json(answer):
        raise MalformedAnswerError("the answer is not a JSON object")
    try:
        error = next(validator(schema).iter_errors(answer), None)
    except RecursionError:
        raise MalformedAnswerError("the answer is nested too deeply") from None
    if error is not None:
        # jsonschema's own message quotes the answer, and an answer quotes the memory.
        raise MalformedAnswerError(f"the answer breaks the schema's rule '{error.validator}'")
    return answer
