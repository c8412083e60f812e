"""A quick yes: whether a value certainly meets a JSON Schema that was checked before.

`jsonschema` takes milliseconds for a page of search results, and a tenth of a second to import. Most values are right and
most schemas plain: then a few nested functions, made of the schema once, are sure of it in microseconds. What they do not
know or do not like goes to `jsonschema`, which decides and words the refusal.
"""

from collections.abc import Callable, Mapping
from typing import Any

from zapomni_core.host.schemas import referred

Accepts = Callable[[Any], bool]

# Exact types: what is almost one of them, such as 1.0 for an integer, is for jsonschema to judge.
_TYPES: dict[str, set[type]] = {
    "array": {list},
    "boolean": {bool},
    "integer": {int},
    "null": {type(None)},
    "number": {int, float},
    "object": {dict},
    "string": {str},
}
_JSON = set[type]().union(*_TYPES.values())
_SAY_NOTHING = {
    *("$comment", "$defs", "$schema", "definitions", "default", "deprecated", "description", "examples", "format"),
    *("readOnly", "title", "writeOnly"),
}


def acceptor(schema: Any) -> Accepts:
    """A function that says yes only to what meets the schema; its no means that it is not sure."""
    accepts = _Compiler(schema).compile(schema)

    def certainly(value: Any) -> bool:
        try:
            return accepts(value)
        except RecursionError:
            return False

    return certainly


def _never(_value: Any) -> bool:
    return False


def _always(_value: Any) -> bool:
    return True


class _Compiler:
    """Makes functions of the parts of one schema."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self._referred: dict[str, Accepts] = {}
        self._rules: dict[str, Callable[[Any, Mapping[str, Any]], Accepts]] = {
            "$ref": lambda value, _: self._reference(value),
            "additionalProperties": lambda _, schema: self._members(schema),
            "allOf": lambda value, _: _all([self.compile(part) for part in value]),
            "anyOf": lambda value, _: _any([self.compile(part) for part in value]),
            "items": lambda value, _: _each(self.compile(value)),
            "properties": lambda _, schema: _always if "additionalProperties" in schema else self._members(schema),
        }

    def compile(self, schema: Any) -> Accepts:
        """A function for a schema."""
        if schema is True:
            return _always
        if not isinstance(schema, dict):
            return _never
        parts = [self._part(keyword, value, schema) for keyword, value in schema.items()]
        return _never if _never in parts else _all([part for part in parts if part is not _always])

    def _part(self, keyword: str, value: Any, schema: Mapping[str, Any]) -> Accepts:
        if keyword in _SAY_NOTHING:
            return _always
        if keyword in self._rules:
            return self._rules[keyword](value, schema)
        return _RULES[keyword](value) if keyword in _RULES else _never

    def _reference(self, reference: str) -> Accepts:
        """Made once, and looked up when it is needed: a schema may refer to itself."""
        if reference not in self._referred:
            self._referred[reference] = _never
            self._referred[reference] = self.compile(referred(reference, self._root))

        def meets(value: Any) -> bool:
            return self._referred[reference](value)

        return meets

    def _members(self, schema: Mapping[str, Any]) -> Accepts:
        known = {name: self.compile(part) for name, part in schema.get("properties", {}).items()}
        others = self.compile(schema.get("additionalProperties", True))

        return _only_for({dict}, lambda value: all(known.get(name, others)(part) for name, part in value.items()))


def _all(parts: list[Accepts]) -> Accepts:
    if len(parts) == 1:
        return parts[0]
    if len(parts) == 2:  # noqa: PLR2004 - most often
        first, second = parts
        return lambda value: first(value) and second(value)
    return lambda value: all(part(value) for part in parts)


def _any(parts: list[Accepts]) -> Accepts:
    return lambda value: any(part(value) for part in parts)


def _each(item: Accepts) -> Accepts:
    return _only_for({list}, lambda value: all(map(item, value)))


def _of_types(names: str | list[str]) -> Accepts:
    types = set[type]().union(*(_TYPES[name] for name in ([names] if isinstance(names, str) else names)))
    return lambda value: type(value) in types


def _one_of(values: list[Any]) -> Accepts:
    """Texts and null only: 1, 1.0 and true are not told apart by Python as they are by JSON."""
    plain = {value for value in values if value is None or type(value) is str}
    return lambda value: (value is None or type(value) is str) and value in plain


def _required(names: list[str]) -> Accepts:
    wanted = frozenset(names)
    return _only_for({dict}, lambda value: value.keys() >= wanted)


def _only_for(types: set[type], holds: Accepts) -> Accepts:
    """A rule that says nothing of other values, if they are plain JSON at all."""
    others = _JSON - types
    return lambda value: holds(value) if type(value) in types else type(value) in others


def _bound(types: set[type], holds: Callable[[Any, Any], bool]) -> Callable[[Any], Accepts]:
    return lambda limit: _only_for(types, lambda value: holds(value, limit))


_NUMBER = _TYPES["number"]
_RULES: dict[str, Callable[[Any], Accepts]] = {
    "const": lambda value: _one_of([value]),
    "enum": _one_of,
    "exclusiveMaximum": _bound(_NUMBER, lambda value, limit: value < limit),
    "exclusiveMinimum": _bound(_NUMBER, lambda value, limit: value > limit),
    "maxItems": _bound({list}, lambda value, limit: len(value) <= limit),
    "maxLength": _bound({str}, lambda value, limit: len(value) <= limit),
    "maxProperties": _bound({dict}, lambda value, limit: len(value) <= limit),
    "maximum": _bound(_NUMBER, lambda value, limit: value <= limit),
    "minItems": _bound({list}, lambda value, limit: len(value) >= limit),
    "minLength": _bound({str}, lambda value, limit: len(value) >= limit),
    "minProperties": _bound({dict}, lambda value, limit: len(value) >= limit),
    "minimum": _bound(_NUMBER, lambda value, limit: value >= limit),
    "required": _required,
    "type": _of_types,
}
