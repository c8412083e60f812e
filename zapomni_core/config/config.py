"""Loads the settings: defaults, then the file, then the environment.

Messages about invalid settings name the key, its origin and the rule; never the value, which may be a secret.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from zapomni_core.config.shared_variables import shared_leaves
from zapomni_core.config.sources import (
    ABSENT,
    CONFIG_VARIABLE,
    PREFIX,
    KeyPath,
    Leaves,
    dotted,
    env_file_variables,
    flat,
    leaves_of_file,
    leaves_of_variables,
    not_overridden,
    resolved,
    settings_file,
    tree,
    usual_key,
)
from zapomni_core.errors import ConfigurationError
from zapomni_core.settings import Settings, ToolSettings

DEFAULT = "default"
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


@dataclass(frozen=True, slots=True)
class Config:
    """The settings in effect.

    `origins` maps each dotted key to "default", or to the file or variable that set it. `unused` are variables that other
    programs use too and that have no effect here, each with the reason.
    """

    settings: Settings
    origins: Mapping[str, str]
    file: Path | None
    unused: Mapping[str, str]


def load(
    explicit: Path | None = None, *, env_file: Path | None = None, environ: Mapping[str, str] | None = None
) -> Config:
    """Load the settings. `env_file` adds variables that the environment does not have.

    Raise one ConfigurationError with a line for each problem.
    """
    problems: list[str] = []
    variables = _variables(os.environ if environ is None else environ, env_file, problems)
    file, written = _read(explicit, variables, problems)
    exported = leaves_of_variables(variables, problems)
    leaves = resolved(not_overridden(written, exported), variables, problems) | exported
    leaves |= usual_key(leaves, variables)
    shared, unused = shared_leaves(leaves, variables, problems)
    leaves |= shared
    settings = _validated(leaves, problems)
    if problems or settings is None:
        raise ConfigurationError("\n".join(problems))
    return Config(settings, _origins(settings, leaves), file, unused)


@contextmanager
def _collecting(problems: list[str]) -> Iterator[None]:
    try:
        yield
    except ConfigurationError as error:
        problems.append(str(error))
    except ABSENT as error:
        problems.append(f"{error.filename} does not exist")


def _variables(environ: Mapping[str, str], env_file: Path | None, problems: list[str]) -> dict[str, str]:
    variables = {name: value for name, value in environ.items() if value}
    if env_file is not None:
        present = {name.upper() for name in variables}
        with _collecting(problems):
            added = env_file_variables(env_file, problems)
            variables |= {name: value for name, value in added.items() if name.upper() not in present}
    return variables


def _read(explicit: Path | None, variables: Mapping[str, str], problems: list[str]) -> tuple[Path | None, Leaves]:
    with _collecting(problems):
        file = settings_file(explicit, variables)
        named = explicit or CONFIG_VARIABLE in variables
        with nullcontext() if named else suppress(*ABSENT):
            return file, leaves_of_file(file, problems)
    return None, {}


def _validated(leaves: Leaves, problems: list[str]) -> Settings | None:
    try:
        return Settings.model_validate(tree(leaves))
    except ValidationError as invalid:
        problems += [line for error in invalid.errors() for line in _problem_lines(error, leaves)]
        return None


def _origins(settings: Settings, leaves: Leaves) -> dict[str, str]:
    return {
        dotted(path): leaves[path].origin if path in leaves else DEFAULT
        for path, value in flat(settings.model_dump())
        if value != {}
    }


def _problem_lines(error: ErrorDetails, leaves: Leaves) -> Iterator[str]:
    """Yield a line for each place that must be changed to fix an error of the model."""
    path = tuple(str(part) for part in error["loc"] if part != "[key]")
    for origin in _origins_at(path, leaves):
        set_there = f"{dotted(path)} (from {origin})"
        if error["type"] == "extra_forbidden":
            yield f"unknown setting {origin if _is_variable(origin) else set_there}{_hint(path, origin)}"
        elif error["type"] == "dict_type" and path[:-1] == ("plugins",):
            yield f"{set_there} must be the table of one plugin's settings{_hint(path, origin)}"
        else:
            yield f"{set_there} {_rule(error)}"


def _rule(error: ErrorDetails) -> str:
    return _RULES.get(error["type"], "is not valid").format(**error.get("ctx", {}))


def _origins_at(path: KeyPath, leaves: Leaves) -> list[str]:
    """The origins of the values at the path or beneath it, else of the value above it."""
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
    # A common table says nothing about how similar the keys are.
    if path[:-1] == known[:-1]:
        return _ratio(path[-1], known[-1])
    return max(_ratio(dotted(path), dotted(known)), _ratio(dotted(path), known[-1]))


def _ratio(one: str, other: str) -> float:
    return SequenceMatcher(None, one, other).ratio()
