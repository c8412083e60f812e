"""Says what is wrong with a setting: which key, where it was set, and the rule; never the value, it may be a secret."""

from collections.abc import Iterator
from difflib import SequenceMatcher

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from zapomni_core.config.leaves import KeyPath, Leaves, dotted
from zapomni_core.config.sources import PREFIX
from zapomni_core.settings import Settings, ToolSettings

_CLOSE = 0.6
_RULES = {
    "bool_parsing": "must be true or false",
    "bool_type": "must be true or false",
    "dict_type": "must be a table, or a JSON object in a variable",
    "finite_number": "must be a finite number",
    "float_parsing": "must be a number",
    "float_type": "must be a number",
    "greater_than": "must be greater than {gt:g}",
    "literal_error": "must be {expected}",
    "model_type": "must be a table, or a JSON object in a variable",
    "string_too_long": "must have at most {max_length} characters",
    "string_too_short": "must not be empty",
    "string_type": "must be a string",
    "tuple_type": "must be a list of names",
    "value_error": "{error}",
}


def lines(error: ErrorDetails, leaves: Leaves) -> Iterator[str]:
    """One line for each place that must be changed to mend an error of the model."""
    path = tuple(str(part) for part in error["loc"] if part != "[key]")
    for origin in _origins_at(path, leaves):
        set_there = f"{dotted(path)} (from {origin})"
        if error["type"] == "extra_forbidden":
            yield f"{origin if _is_variable(origin) else set_there} is no setting of Zapomni{_hint(path, origin)}"
        elif error["type"] == "dict_type" and path[:-1] == ("plugins",):
            yield f"{set_there} must be the table of one plugin's settings{_hint(path, origin)}"
        else:
            yield f"{set_there} {_rule(error)}"


def _rule(error: ErrorDetails) -> str:
    return _RULES.get(error["type"], "is not valid").format(**error.get("ctx", {}))


def _origins_at(path: KeyPath, leaves: Leaves) -> list[str]:
    """Who set what is at the path or beneath it, or else the value that the path leads into."""
    beneath = {leaf.origin for place, leaf in leaves.items() if place[: len(path)] == path}
    above = {leaf.origin for place, leaf in leaves.items() if place == path[: len(place)]}
    return sorted(beneath or above)


def _is_variable(origin: str) -> bool:
    return origin.upper().startswith(PREFIX)


def _hint(path: KeyPath, origin: str) -> str:
    nearest = max(_known(path), key=lambda key: _closeness(path, key))
    if _closeness(path, nearest) < _CLOSE:
        return ""
    if _is_variable(origin):
        return f"; did you mean {PREFIX}{'__'.join(nearest).upper()}?"
    return f"; did you mean '{nearest[-1] if nearest[:-1] == path[:-1] else dotted(nearest)}'?"


def _known(path: KeyPath) -> Iterator[KeyPath]:
    yield from _keys(Settings, ())
    if path[0] == "tools" and len(path) > 1:
        yield from _keys(ToolSettings, path[:2])


def _keys(model: type[BaseModel], path: KeyPath) -> Iterator[KeyPath]:
    for name, field in model.model_fields.items():
        yield (*path, name)
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from _keys(field.annotation, (*path, name))


def _closeness(path: KeyPath, known: KeyPath) -> float:
    # A table that both are in says nothing about how much the keys look alike.
    if path[:-1] == known[:-1]:
        return _ratio(path[-1], known[-1])
    return max(_ratio(dotted(path), dotted(known)), _ratio(dotted(path), known[-1]))


def _ratio(one: str, other: str) -> float:
    return SequenceMatcher(None, one, other).ratio()
