"""Checks JSON Schemas, and makes validators of them with `jsonschema`.

Importing `jsonschema` and checking every tool's schema against the meta-schema would slow down every start. So a recursive
check comes first: it accepts, in microseconds, schemas that use common keywords correctly. `jsonschema` judges the others.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_TYPES = {"array", "boolean", "integer", "null", "number", "object", "string"}
_MAX_DEPTH = 64
_DEFINITION = re.compile(r"#/\$defs/([\w.-]+)")


def check_schema(schema: Mapping[str, Any], what: str) -> None:
    """Raise ValueError unless the schema is valid JSON Schema, draft 2020-12, and refers only to itself."""
    if not is_json(schema):
        raise ValueError(f"{what} must be plain JSON: text, numbers, lists and objects")
    if not _certainly_valid(schema, schema, 0):
        _check_thoroughly(schema, what)


def is_json(value: Any) -> bool:
    """Whether the value can be sent as JSON: text keys only, no NaN, no lone surrogates, no cycles."""
    try:
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
        return _has_text_keys(value)
    except (TypeError, ValueError, RecursionError):
        return False


def _has_text_keys(value: Any) -> bool:
    """`json` would write the key 1 as "1", which other libraries refuse."""
    if isinstance(value, dict):
        return all(isinstance(key, str) and _has_text_keys(part) for key, part in value.items())
    return not isinstance(value, list | tuple) or all(map(_has_text_keys, value))


def validator(schema: Mapping[str, Any]) -> Any:
    """A validator that resolves no reference outside the schema."""
    from jsonschema import Draft202012Validator
    from referencing import Registry

    return Draft202012Validator(schema, registry=Registry())


def _certainly_valid(schema: Any, root: Mapping[str, Any], depth: int) -> bool:
    if isinstance(schema, bool):
        return True
    if not isinstance(schema, dict) or depth > _MAX_DEPTH:
        return False
    return all(_keyword_holds(keyword, value, root, depth) for keyword, value in schema.items())


def _keyword_holds(keyword: Any, value: Any, root: Mapping[str, Any], depth: int) -> bool:
    if keyword in _SUBSCHEMA:
        return _certainly_valid(value, root, depth + 1)
    if keyword in _SUBSCHEMA_MAP:
        return isinstance(value, dict) and all(
            isinstance(name, str) and _certainly_valid(part, root, depth + 1) for name, part in value.items()
        )
    if keyword == "patternProperties":
        return isinstance(value, dict) and all(
            _is_regex(name) and _certainly_valid(part, root, depth + 1) for name, part in value.items()
        )
    if keyword in _SUBSCHEMA_LIST:
        return isinstance(value, list) and bool(value) and all(_certainly_valid(v, root, depth + 1) for v in value)
    if keyword == "$ref":
        return value == "#" or _refers_to_definition(value, root)
    if rule := _VALUES.get(keyword):
        return rule(value)
    return isinstance(keyword, str) and keyword not in _UNSURE


def _refers_to_definition(reference: Any, root: Mapping[str, Any]) -> bool:
    found = _DEFINITION.fullmatch(reference) if isinstance(reference, str) else None
    definitions = root.get("$defs")
    return found is not None and isinstance(definitions, dict) and found[1] in definitions


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_type(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and _are_unique_names(value) and all(name in _TYPES for name in value)
    return isinstance(value, str) and value in _TYPES


def _are_unique_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(v, str) for v in value) and len(set(value)) == len(value)


def _is_regex(value: Any) -> bool:
    try:
        re.compile(value)
    except (re.error, TypeError, RecursionError):
        return False
    return True


_SUBSCHEMA = {
    "additionalProperties",
    "contains",
    "contentSchema",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
}
_SUBSCHEMA_MAP = {"$defs", "definitions", "dependentSchemas", "properties"}
_SUBSCHEMA_LIST = {"allOf", "anyOf", "oneOf", "prefixItems"}
_COUNTS = (
    "maxItems",
    "maxLength",
    "maxProperties",
    "minItems",
    "minLength",
    "minProperties",
    "maxContains",
    "minContains",
)
_NUMBERS = ("exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum")
_STRINGS = ("$comment", "contentEncoding", "contentMediaType", "description", "format", "title")
_FLAGS = ("deprecated", "readOnly", "uniqueItems", "writeOnly")
_VALUES: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(_COUNTS, _is_count),
    **dict.fromkeys(_NUMBERS, _is_number),
    **dict.fromkeys(_STRINGS, lambda value: isinstance(value, str)),
    **dict.fromkeys(_FLAGS, lambda value: isinstance(value, bool)),
    "$schema": lambda value: value == _DIALECT,
    "dependentRequired": lambda value: isinstance(value, dict) and all(map(_are_unique_names, value.values())),
    "enum": lambda value: isinstance(value, list),
    "examples": lambda value: isinstance(value, list),
    "multipleOf": lambda value: _is_number(value) and value > 0,
    "pattern": _is_regex,
    "required": _are_unique_names,
    "type": _is_type,
}
# Rare keywords, and keywords that change the meaning of others: left to `jsonschema`.
_UNSURE = {
    "$anchor",
    "$dynamicAnchor",
    "$dynamicRef",
    "$id",
    "$recursiveAnchor",
    "$recursiveRef",
    "$vocabulary",
    "dependencies",
}


def _check_thoroughly(schema: Mapping[str, Any], what: str) -> None:
    if str(schema.get("$schema", _DIALECT)).rstrip("#") != _DIALECT:
        raise ValueError(f"{what} must be of draft 2020-12, its $schema names another")
    _check_meta(schema, what)
    _check_references(schema, what)


def _check_meta(schema: Any, what: str) -> None:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        place = "/".join(map(str, error.absolute_path)) or "its root"
        raise ValueError(f"{what} is not valid JSON Schema: {place} breaks the rule '{error.validator}'") from None


def _check_references(schema: Mapping[str, Any], what: str) -> None:
    """Check that every reference leads to a valid schema in this document. Nothing is fetched.

    A reference may lead to a place that is not meant for a schema, such as a default; its value is checked as a schema.
    """
    from referencing import Registry
    from referencing.jsonschema import DRAFT202012

    resource = DRAFT202012.create_resource(dict(schema))
    base = resource.id() or ""
    pending = [(resource, Registry().with_resource(base, resource).resolver(base))]
    seen: set[int] = set()
    strays: list[tuple[Any, Any]] = []
    while pending or strays:
        if not pending:
            part, at = strays.pop()
            if id(part.contents) in seen:
                continue
            _check_meta(part.contents, f"{what}, where a $ref leads,")
            pending = [(part, at)]
        part, at = pending.pop()
        seen.add(id(part.contents))
        at = at.in_subresource(part)
        strays += [
            (DRAFT202012.create_resource(target.contents), target.resolver) for target in _targets(part, at, what)
        ]
        pending += [(sub, at) for sub in part.subresources()]


def _targets(part: Any, resolver: Any, what: str) -> Iterator[Any]:
    from referencing.exceptions import Unresolvable

    for keyword in ("$ref", "$dynamicRef"):
        if isinstance(part.contents, dict) and keyword in part.contents:
            try:
                yield resolver.lookup(part.contents[keyword])
            except (Unresolvable, ValueError):
                raise ValueError(f"{what} has a {keyword} that cannot be resolved inside it") from None
