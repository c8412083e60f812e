"""What may be told of an operation: numbers, short words and ids, in the few types that OpenTelemetry knows."""

from collections.abc import Iterable, Mapping
from datetime import date
from itertools import islice
from typing import Any

LONGEST_WORD = 256
MOST_WORDS = 64

Value = str | bool | int | float | tuple[str, ...]


def clean(attributes: Mapping[str, Any]) -> dict[str, Value]:
    """The attributes as OpenTelemetry takes them. None is left out, and of an object only the keys are told."""
    return {name: _value(value) for name, value in attributes.items() if value is not None}


def _value(value: Any) -> Value:
    match value:
        case bool() | int() | float():
            return value
        case str():
            return _word(value)
        case date():
            return value.isoformat()
        case Iterable():
            return tuple(_word(str(one)) for one in islice(value, MOST_WORDS))
    return _word(str(value))


def _word(text: str) -> str:
    # One half of a surrogate pair would cost the whole batch of spans.
    return text[:LONGEST_WORD].encode(errors="replace").decode()
