"""JSON Schemas of pydantic models, written so that every client understands them: plain types, and nothing to look up."""

from collections.abc import Mapping
from typing import Any

from zapomni_core.errors import ContractError

_NULL = {"type": "null"}
_BY_NAME = ("properties", "patternProperties", "dependentSchemas")
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_SINGLE = ("additionalProperties", "contains", "items", "not", "propertyNames")
_TYPES: dict[type, str] = {str: "string", bool: "boolean", int: "integer", float: "number"}


def plain_schema(schema: Mapping[str, Any], *, without: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Inline references, give every enum its type, and leave out titles, null where a property may be absent, and keywords.

    Raises ContractError if a model contains itself: no finite schema without references describes that.
    """
    return _plain(schema, schema.get("$defs", {}), (), without | {"$defs", "title"})


def _plain(
    schema: Mapping[str, Any], definitions: Mapping[str, Any], above: tuple[str, ...], without: frozenset[str]
) -> dict[str, Any]:
    if "$ref" in schema:
        name = schema["$ref"].removeprefix("#/$defs/")
        if name in above:
            raise ContractError(f"'{name}' contains itself, which clients cannot resolve; use a model of limited depth")
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        return _plain({**definitions[name], **beside}, definitions, (*above, name), without)

    def plain(part: Any) -> Any:
        return _plain(part, definitions, above, without) if isinstance(part, Mapping) else part

    made: dict[str, Any] = {}
    for key, value in _with_type(schema).items():
        if key in without or (key == "additionalProperties" and value is True):
            continue
        if key in _BY_NAME:
            made[key] = {name: plain(part) for name, part in value.items()}
        elif key in _LISTS:
            made[key] = [plain(part) for part in value]
        else:
            made[key] = plain(value) if key in _SINGLE else value
    for name, part in made.get("properties", {}).items():
        if name not in made.get("required", ()):
            made["properties"][name] = _without_null(part)
    return made


def _with_type(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """A constant as an enum of one value; and an enum with its type, if its values have one in common."""
    if "const" in schema:
        schema = {key: value for key, value in schema.items() if key != "const"} | {"enum": [schema["const"]]}
    types = {_TYPES.get(type(value)) for value in schema.get("enum", ())}
    return {"type": types.pop(), **schema} if len(types) == 1 and None not in types else schema


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of a property that is absent instead of null."""
    made = {key: value for key, value in schema.items() if (key, value) != ("default", None)}
    forms = [form for form in made.get("anyOf", ()) if form != _NULL]
    if len(forms) == 1:
        del made["anyOf"]
        return {**forms[0], **made}
    return made | {"anyOf": forms} if forms else made
