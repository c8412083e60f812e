"""Reads the file and the environment into leaves."""

import io
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from zapomni_core.config.files import text_of
from zapomni_core.config.leaves import KeyPath, Leaf, Leaves, collected, dotted, flat, is_table
from zapomni_core.errors import ConfigurationError

PREFIX = "ZAPOMNI_"
LOG_LEVEL = "LOG_LEVEL"
OPENAI_API_KEY = "OPENAI_API_KEY"
_NO_SETTING = re.compile(r"ZAPOMNI_(CONFIG|TEST_.*)")


def env_file_variables(file: Path, problems: list[str]) -> dict[str, str]:
    """The variables in a file of NAME=value lines; `$` has no meaning there."""
    # dotenv_values would log a line that it cannot parse, and go on without it.
    from dotenv.parser import parse_stream

    bindings = list(parse_stream(io.StringIO(text_of(file))))
    problems += [f"{file}: line {one.original.line} is not NAME=value" for one in bindings if one.error]
    return {one.key: one.value for one in bindings if one.key and one.value}


def leaves_of_file(file: Path, problems: list[str]) -> Leaves:
    """What the settings file sets; a reference to a variable is still one."""
    try:
        written = tomllib.loads(text_of(file))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigurationError(f"{file} is no valid TOML: {error}") from error
    found = ((path, Leaf(value, str(file))) for path, value in flat(written, is_leaf=_is_reference))
    return collected(found, problems)


def leaves_of_variables(variables: Mapping[str, str], problems: list[str]) -> Leaves:
    """What the environment sets."""
    leaves = collected(_exported(variables), problems)
    if LOG_LEVEL in variables:
        leaves.setdefault(("log_level",), Leaf(variables[LOG_LEVEL], LOG_LEVEL))
    return leaves


def usual_key(leaves: Leaves, variables: Mapping[str, str]) -> Leaves:
    """The key that the user's other programs have for OpenAI's protocol, where that is chosen and no key is set.

    Nobody else gets it, and a key in the file is meant for the address in the file: it stands.
    """
    path = ("llm", "api_key")
    chosen = leaves.get(("llm", "provider"), Leaf(None, "")).value == "openai"
    if not chosen or path in leaves or OPENAI_API_KEY not in variables:
        return {}
    return {path: Leaf(variables[OPENAI_API_KEY], OPENAI_API_KEY)}


def _exported(variables: Mapping[str, str]) -> Iterator[tuple[KeyPath, Leaf]]:
    for name, text in sorted(variables.items()):
        if name.upper().startswith(PREFIX) and not _NO_SETTING.fullmatch(name.upper()):
            *tables, key = name[len(PREFIX) :].lower().split("__")
            for path, value in flat({key: _decoded((*tables, key), text)}, tuple(tables)):
                yield path, Leaf(value, name)


def _decoded(path: KeyPath, text: str) -> Any:
    """The list or object that a variable holds as JSON, where a table or a plugin's own value may stand."""
    if text.lstrip()[:1] in {"[", "{"} and (path[0] == "plugins" or is_table(path)):
        with suppress(ValueError, RecursionError):
            return json.loads(text)
    return text


def _is_reference(path: KeyPath, table: dict[str, Any]) -> bool:
    """Whether that is `{ env = "NAME" }` where a value belongs."""
    return not is_table(path) and table.keys() == {"env"} and isinstance(table["env"], str)


def resolved(leaves: Leaves, variables: Mapping[str, str], problems: list[str]) -> Leaves:
    """The leaves of the file with the variables' values where `{ env = "NAME" }` refers to them."""
    result: Leaves = {}
    for path, (value, origin) in leaves.items():
        try:
            referred = value["env"] if isinstance(value, dict) and value else origin
            result[path] = Leaf(_resolved(value, variables), referred)
        except KeyError as error:
            problems.append(f"{dotted(path)} (from {origin}): the variable {error.args[0]} is not set")
    return result


def _resolved(value: Any, variables: Mapping[str, str]) -> Any:
    match value:
        case {"env": str(name), **rest} if not rest:
            return variables[name]
        case dict():
            return {key: _resolved(inner, variables) for key, inner in value.items()}
        case list():
            return [_resolved(inner, variables) for inner in value]
    return value
