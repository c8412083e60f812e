"""Settles what clients mean by their arguments, and checks them against the tool's schema.

Problems name the field and the rule, never the value.
"""

import difflib
import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from pydantic import ValidationError

from zapomni_core.host.registry import CheckedTool
from zapomni_db.errors import InvalidInputError

_RULES = {
    "type": "must be {}",
    "minimum": "must be at least {}",
    "maximum": "must be at most {}",
    "exclusiveMinimum": "must be greater than {}",
    "exclusiveMaximum": "must be less than {}",
    "minLength": "must have at least {} characters",
    "minItems": "must have at least {} items",
    "maxItems": "must have at most {} items",
    "minProperties": "must have at least {} properties",
    "maxProperties": "must have at most {} properties",
    "multipleOf": "must be a multiple of {}",
    "pattern": "must match the pattern {}",
    "enum": "must be one of {}",
    "const": "must be {}",
    "uniqueItems": "must not repeat items",
}
_LONGEST_PLACE = 100
_SINGULAR = {
    "minItems": "must have at least 1 item",
    "maxItems": "must have at most 1 item",
    "minProperties": "must have at least 1 property",
    "maxProperties": "must have at most 1 property",
}
_MOST_PROBLEMS = 10
CLIENT_EXTRAS = {"wait_for_previous": "Gemini CLI"}
"""Arguments that a client adds to every call, by itself and not by its model, and which client."""
MISSING = "field required"
EMPTY = "cannot be empty or whitespace-only"
TOO_LONG = "exceeds maximum length ({:,} characters)"


class ArgumentProblem(NamedTuple):
    """A field and the rule that it breaks."""

    field: str
    rule: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.field}" if self.rule == MISSING else f"{self.field} {self.rule}"


def settle_arguments(tool: CheckedTool, arguments: Any) -> Any:
    """The arguments without what a client added, null of what may be left out, and objects that came as JSON in a string."""
    properties = {**tool.unlisted_arguments, **tool.input_schema["properties"]}
    if isinstance(arguments, Mapping):
        arguments = {
            name: value for name, value in arguments.items() if name in properties or name not in CLIENT_EXTRAS
        }
    return _settled(arguments, {**tool.input_schema, "properties": properties})


def _settled(value: Any, schema: Any) -> Any:
    if not isinstance(schema, dict):
        return value
    if isinstance(value, str) and schema.get("type") == "object":
        value = _object_in(value)
    if isinstance(value, Mapping):
        known, required = schema.get("properties", {}), schema.get("required", ())
        return {
            name: _settled(part, known.get(name))
            for name, part in value.items()
            if part is not None or name in required or name not in known
        }
    return [_settled(part, schema.get("items")) for part in value] if isinstance(value, list) else value


def _object_in(text: str) -> Any:
    """The JSON object in a string; the string itself if it holds none."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return found if isinstance(found, dict) else text


def check_arguments(tool: CheckedTool, arguments: Any) -> list[ArgumentProblem]:
    """The problems with the arguments, in words that are safe to show; none if they are right."""
    if not isinstance(arguments, dict):
        return [ArgumentProblem("arguments", "must be an object")]
    problems = (problem for error in tool.arguments_validator.iter_errors(arguments) for problem in _describe(error))
    return list(dict.fromkeys(islice(problems, _MOST_PROBLEMS)))


def joined(problems: Iterable[object]) -> str:
    """Problems in one line."""
    return "; ".join(map(str, islice(problems, _MOST_PROBLEMS)))


def problem_of(error: InvalidInputError, schema: Mapping[str, Any]) -> ArgumentProblem:
    """The field and the rule named by an error that a tool raised, for the log.

    Of a pydantic error only the type is used: its message may quote the value.
    """
    if isinstance(error.__cause__, ValidationError):
        first = error.__cause__.errors(include_url=False, include_context=False, include_input=False)[0]
        return ArgumentProblem(".".join(map(str, first["loc"])) or "arguments", first["type"])
    message = str(error)
    if message.startswith(f"{MISSING}: "):
        return ArgumentProblem(message.removeprefix(f"{MISSING}: "), MISSING)
    field, _, rule = message.partition(" ")
    if field.endswith(":") or field.partition(".")[0] in schema.get("properties", {}):
        return ArgumentProblem(field.removesuffix(":"), rule)
    return ArgumentProblem("arguments", message)


def _describe(error: Any) -> Iterator[ArgumentProblem]:
    place = ".".join(map(str, error.absolute_path))[:_LONGEST_PLACE]
    if error.validator == "required":
        for missing in error.validator_value:
            if missing not in error.instance:
                yield ArgumentProblem(_join(place, missing), MISSING)
    elif error.validator in ("additionalProperties", "unevaluatedProperties"):
        yield from _describe_extras(place, error.instance, error.schema)
    elif error.validator in ("anyOf", "oneOf") and error.context:
        yield from _describe_forms(error, place)
    else:
        yield ArgumentProblem(place or "arguments", _rule(error.validator, error.validator_value))


def _rule(keyword: str, value: Any) -> str:
    if keyword == "minLength" and value == 1:
        return EMPTY
    if keyword == "maxLength":
        return TOO_LONG.format(value)
    rule = _RULES.get(keyword)
    if rule is None:
        return f"breaks the rule '{keyword}' of the tool's schema"
    return (_SINGULAR if value == 1 else {}).get(keyword, rule).format(_listed(value))


def _describe_forms(error: Any, place: str) -> Iterable[ArgumentProblem]:
    """The problems with the alternative that the value nearly matches; the allowed types if it matches none."""
    by_form: dict[int, list[Any]] = {}
    for one in error.context:
        by_form.setdefault(one.schema_path[0], []).append(one)
    forms = list(by_form.values())
    near = [problems for problems in forms if not any(map(_is_of_another_type, problems))]
    if not near:
        types = dict.fromkeys(_listed(one.validator_value) for one in error.context if _is_of_another_type(one))
        return [ArgumentProblem(place or "arguments", f"must be {' or '.join(types)}")]
    tags = [one for problems in near for one in problems if one.validator == "const"]
    if len(tags) == len(near) > 1 and len({tuple(one.absolute_path) for one in tags}) == 1:
        place = ".".join(map(str, tags[0].absolute_path))[:_LONGEST_PLACE]
        return [ArgumentProblem(place or "arguments", _rule("enum", [one.validator_value for one in tags]))]
    return _describe(min(near, key=lambda problems: (any(one in tags for one in problems), len(problems)))[0])


def _is_of_another_type(problem: Any) -> bool:
    return problem.validator == "type" and not problem.relative_path


def _describe_extras(place: str, instance: Mapping[str, Any], schema: Mapping[str, Any]) -> Iterator[ArgumentProblem]:
    known = list(schema.get("properties", {}))
    for extra in [name[:_LONGEST_PLACE] for name in instance if name not in known] or [""]:
        nearest = difflib.get_close_matches(extra, known, n=1)
        hint = f" (did you mean '{nearest[0]}'?)" if nearest else f" (known: {', '.join(known)})" if known else ""
        yield ArgumentProblem(_join(place, extra), f"is not known{hint}")


def _join(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


def _listed(rule_value: Any) -> str:
    return ", ".join(map(str, rule_value)) if isinstance(rule_value, list) else str(rule_value)
