"""Converts values to Cypher and back. FalkorDB takes parameters as text before the statement."""

import math
import re
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from zapomni_db.values import digest

_MARK = "\ue000"
_ESCAPED = {"\0": _MARK + "0", _MARK: _MARK + "1"}
_STRANGE = re.compile(f"[\0{_MARK}]")
_LARGEST = 1 << 63
_MOST_ROWS = 1 << 31


def name_of(*parts: str, size: int = 12) -> str:
    """A short name for some texts, whatever is in them: what is looked up by an index is looked up by such a name."""
    hashed = digest(*(part.encode(errors="surrogatepass") for part in parts), size=size)
    return urlsafe_b64encode(hashed).decode().rstrip("=")


def statement(cypher: str, parameters: Mapping[str, Any]) -> str:
    """A statement with its parameters before it."""
    given = " ".join(f"{name}={literal(value)}" for name, value in parameters.items())
    return f"CYPHER {given} {cypher}" if given else cypher


def literal(value: Any) -> str:
    """A value as Cypher. FalkorDB refuses NUL in texts, so it is escaped, and restored by `restored`."""
    write = _WRITERS.get(type(value))
    if write is None:
        raise TypeError(f"no literal for {type(value).__name__}")
    return write(value)


def _quoted(text: str) -> str:
    if _STRANGE.search(text):
        text = _STRANGE.sub(lambda found: _ESCAPED[found[0]], text)
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _whole(number: int) -> str:
    if not -_LARGEST <= number < _LARGEST:
        raise OverflowError("an integer of more than 64 bits")  # FalkorDB would clip it
    return str(number)


def _real(number: float) -> str:
    if not math.isfinite(number):
        raise ValueError("not a finite number")
    return repr(number)


def _vector(vector: Any) -> str:
    if not np.isfinite(vector).all():
        raise ValueError("not a finite number")
    return "[" + ",".join(map("%.9g".__mod__, vector.tolist())) + "]"  # exact in single precision


def _list(values: Sequence[Any]) -> str:
    return "[" + ",".join(map(literal, values)) + "]"


def _map(values: Mapping[str, Any]) -> str:
    return "{" + ",".join(f"{key}:{literal(value)}" for key, value in values.items()) + "}"


_WRITERS: dict[type, Callable[[Any], str]] = {
    type(None): lambda _: "null",
    bool: lambda value: "true" if value else "false",
    str: _quoted,
    int: _whole,
    float: _real,
    np.ndarray: _vector,
    list: _list,
    tuple: _list,
    dict: _map,
}


def limited(limit: int) -> int:
    """A number of rows that LIMIT takes: of more than 32 bits it makes none."""
    return max(0, min(limit, _MOST_ROWS))


def restored(value: Any) -> Any:
    """A value of an answer as it was written."""
    if isinstance(value, str):
        return value.replace(_MARK + "0", "\0").replace(_MARK + "1", _MARK) if _MARK in value else value
    if isinstance(value, list):
        return [restored(one) for one in value]
    return value
