"""Makes of a reply the JSON object that was asked for, or says that it is none."""

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from zapomni_core.host.schemas import is_json, validator
from zapomni_core.llm.dialects import Dialect, Schema

# Servers that do not know about schemas pass on what chat models like to write around JSON.
_THOUGHTS = [
    (re.compile(f"<{name}>", re.IGNORECASE), re.compile(f"</{name}>", re.IGNORECASE))
    for name in ("think", "thinking", "reasoning")
]
_FENCED = re.compile(r"```(?:json)?\s*+(\{)", re.IGNORECASE)
_A_GLANCE = 100
_MOST_STARTS = 5
"""Braces from which on an object is looked for in other text."""


class MalformedAnswerError(ValueError):
    """The provider answered, but not with what was asked for. Its message never quotes the answer."""


class NoProviderError(MalformedAnswerError):
    """Not the provider answered, but somebody who shows a page: a proxy that wants a login, or another server."""


def answer_of(reply: bytes, dialect: Dialect, schema: Schema) -> dict[str, Any]:
    """The object in the body of a reply, which satisfies the schema."""
    if reply[:_A_GLANCE].lstrip().startswith(b"<"):
        raise NoProviderError("the reply is a page")
    try:
        text = dialect.text_of(_parsed(reply))
    except (LookupError, TypeError):
        raise MalformedAnswerError("the reply is not of the provider's protocol") from None
    if not isinstance(text, str):
        raise MalformedAnswerError("the reply holds no text")
    return _conforming(_object_in(text), schema)


def _object_in(text: str) -> dict[str, Any]:
    """The JSON in an answer, without what the model thought aloud and said around it."""
    text = _without_thought(text.lstrip("\ufeff")).strip()
    for start in _starts(text):
        try:
            found = json.JSONDecoder().raw_decode(text, start)[0]
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            return found
    raise MalformedAnswerError("the answer is no JSON object")


def _without_thought(text: str) -> str:
    """The text without the first element that holds a model's thoughts, if it is closed."""
    found = []
    for begin, end in _THOUGHTS:
        if (opened := begin.search(text)) and (closed := end.search(text, opened.end())):
            found.append((opened.start(), closed.end()))
    first, last = min(found, default=(0, 0))
    return text[:first] + text[last:]


def _starts(text: str) -> Iterator[int]:
    """Where it may begin: at the start, else between fences, else at one of the first braces."""
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
        raise MalformedAnswerError("the answer is no JSON object")
    try:
        error = next(validator(schema).iter_errors(answer), None)
    except RecursionError:
        raise MalformedAnswerError("the answer is too deep") from None
    if error is not None:
        # jsonschema's own message quotes the answer, and an answer quotes the memory.
        raise MalformedAnswerError(f"the answer breaks the schema's rule '{error.validator}'")
    return answer
