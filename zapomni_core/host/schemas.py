"""Checks JSON Schemas, and makes validators of them, with `jsonschema`."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_REFERENCES = ('"$ref"', '"$dynamicRef"')


def check_schema(schema: Mapping[str, Any], what: str) -> None:
    """Raise ValueError unless the schema is valid JSON Schema, draft 2020-12, and refers only to itself."""
    if not is_json(schema):
        raise ValueError(f"{what} must be plain JSON: text, numbers, lists and objects")
    if str(schema.get("$schema", _DIALECT)).rstrip("#") != _DIALECT:
        raise ValueError(f"{what} must be of draft 2020-12, its $schema names another")
    _check_meta(schema, what)
    if any(keyword in json.dumps(schema) for keyword in _REFERENCES):
        _check_references(schema, what)


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


def _check_meta(schema: Any, what: str) -> None:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        place = "/".join(map(str, error.absolute_path)) or "its root"
        raise ValueError(f"{what} is not valid JSON Schema: {place} breaks the rule '{error.validator}'") from None
    except RecursionError:
        raise ValueError(f"{what} is nested too deeply") from None


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
