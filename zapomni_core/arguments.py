"""Whether the arguments of a call meet the tool's schema; problems are told by place and rule, never by value."""

import difflib
from collections.abc import Mapping
from typing import Any

from zapomni_core.host.validation import CheckedTool

_RULES = {
    "type": "must be {}",
    "minimum": "must be at least {}",
    "maximum": "must be at most {}",
    "exclusiveMinimum": "must be greater than {}",
    "exclusiveMaximum": "must be less than {}",
    "minLength": "must have at least {} characters",
    "maxLength": "must have at most {} characters",
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


def check_arguments(tool: CheckedTool, arguments: Any) -> str | None:
    """The first problem with the arguments, in words that are safe to show; None if there is none."""
    if not isinstance(arguments, dict):
        return "arguments must be an object"
    if tool.accepts_arguments(arguments):
        return None
    error = next(tool.arguments_validator.iter_errors(arguments), None)
    return _describe(error) if error else None


def _describe(error: Any) -> str:
    place = ".".join(map(str, error.absolute_path))[:_LONGEST_PLACE]
    if error.validator == "required":
        missing = next(name for name in error.validator_value if name not in error.instance)
        return f"{_join(place, missing)} is required"
    if error.validator in ("additionalProperties", "unevaluatedProperties"):
        return _describe_extra(place, error.instance, error.schema)
    if error.validator in ("anyOf", "oneOf") and error.context:
        return _describe_forms(error, place)
    rule = _RULES.get(error.validator)
    if rule is None:
        return f"{place or 'arguments'} breaks the rule '{error.validator}' of the tool's schema"
    return f"{place or 'arguments'} {rule.format(_listed(error.validator_value))}"


def _describe_forms(error: Any, place: str) -> str:
    """What keeps a value from the form that it comes nearest to; where it is of no form's type, the types that there are."""
    by_form: dict[int, list[Any]] = {}
    for one in error.context:
        by_form.setdefault(one.schema_path[0], []).append(one)
    forms = list(by_form.values())
    near = [problems for problems in forms if not any(map(_is_of_another_type, problems))]
    if not near:
        types = dict.fromkeys(_listed(one.validator_value) for one in error.context if _is_of_another_type(one))
        return f"{place or 'arguments'} must be {' or '.join(types)}"
    tags = [one for problems in near for one in problems if one.validator == "const"]
    if len(tags) == len(near) > 1 and len({tuple(one.absolute_path) for one in tags}) == 1:
        told = ".".join(map(str, tags[0].absolute_path))[:_LONGEST_PLACE]
        return f"{told or 'arguments'} must be one of {_listed([one.validator_value for one in tags])}"
    return _describe(min(near, key=lambda problems: (any(one in tags for one in problems), len(problems)))[0])


def _is_of_another_type(problem: Any) -> bool:
    return problem.validator == "type" and not problem.relative_path


def _describe_extra(place: str, instance: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    known = list(schema.get("properties", {}))
    extra = next((name for name in instance if name not in known), "")[:_LONGEST_PLACE]
    nearest = difflib.get_close_matches(extra, known, n=1)
    hint = f"; did you mean '{nearest[0]}'?" if nearest else f" (known: {', '.join(known)})" if known else ""
    return f"{_join(place, extra)} is not known{hint}"


def _join(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


def _listed(rule_value: Any) -> str:
    return ", ".join(map(str, rule_value)) if isinstance(rule_value, list) else str(rule_value)
