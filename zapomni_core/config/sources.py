"""Reads the settings file and the environment.

Settings are leaves: the path of a key, its value, and its origin. The leaves of two sources merge key by key, and an
error of the model is traced back to the file or variable that caused it.
"""

import io
import json
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from zapomni_core.errors import ConfigurationError
from zapomni_core.settings import normalise, rename_key

CONFIG_VARIABLE = "ZAPOMNI_CONFIG"
ABSENT = (FileNotFoundError, NotADirectoryError)
PREFIX = "ZAPOMNI_"
LOG_LEVEL = "LOG_LEVEL"
OPENAI_API_KEY = "OPENAI_API_KEY"
_NOT_SETTINGS = re.compile(r"ZAPOMNI_(CONFIG|TEST_.*)")

KeyPath = tuple[str, ...]


class Leaf(NamedTuple):
    """A value, and where it came from: a file, or the name of a variable."""

    value: Any
    origin: str


Leaves = dict[KeyPath, Leaf]


def settings_file(explicit: Path | None = None, environ: Mapping[str, str] | None = None) -> Path:
    """Return the path of the settings file, which need not exist. The working directory is not searched."""
    named = explicit or (os.environ if environ is None else environ).get(CONFIG_VARIABLE)
    try:
        return Path(named).expanduser().absolute() if named else _default_file()
    except RuntimeError as error:
        raise ConfigurationError(
            f"the home directory is unknown; set HOME, or name the settings file with --config or {CONFIG_VARIABLE}"
        ) from error


def _default_file() -> Path:
    import platformdirs

    folder = platformdirs.user_config_path("zapomni")
    if not folder.is_absolute():
        raise RuntimeError("the user's configuration folder is a relative path")
    return folder / "zapomni.toml"


def text_of(file: Path) -> str:
    """Read a file with its line ends; raise one of `ABSENT` if it does not exist."""
    try:
        with file.open(encoding="utf-8-sig", newline="") as stream:
            return stream.read()
    except ABSENT:
        raise
    except OSError as error:
        raise ConfigurationError(f"{file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{file} is not UTF-8 (byte {error.start})") from error


def env_file_variables(file: Path, problems: list[str]) -> dict[str, str]:
    """Return the variables in a file of NAME=value lines, without expanding `$`."""
    # dotenv_values would log a line that it cannot parse, and skip it.
    from dotenv.parser import parse_stream

    bindings = list(parse_stream(io.StringIO(text_of(file))))
    problems += [f"{file}: line {one.original.line} is not NAME=value" for one in bindings if one.error]
    return {one.key: one.value for one in bindings if one.key and one.value}


def leaves_of_file(file: Path, problems: list[str]) -> Leaves:
    """Return the settings of a file; references to variables are not resolved yet."""
    try:
        written = tomllib.loads(text_of(file))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigurationError(f"{file} is not valid TOML: {error}") from error
    found = ((path, Leaf(value, str(file))) for path, value in flat(written, is_leaf=_is_reference))
    return collected(found, problems)


def leaves_of_variables(variables: Mapping[str, str], problems: list[str]) -> Leaves:
    """Return the settings of the environment."""
    leaves = collected(_exported(variables), problems)
    if LOG_LEVEL in variables:
        leaves.setdefault(("log_level",), Leaf(variables[LOG_LEVEL], LOG_LEVEL))
    return leaves


def usual_key(leaves: Leaves, variables: Mapping[str, str]) -> Leaves:
    """Return OPENAI_API_KEY as the key where no key is set: of the language model if its provider is openai, and of the
    embedder openai if its address is OpenAI's own.

    No other provider gets it, and a key in the file is kept, because it belongs to the address in the file.
    """
    if OPENAI_API_KEY not in variables:
        return {}
    takes_it = {
        ("llm", "api_key"): leaves.get(("llm", "provider"), Leaf(None, "")).value == "openai",
        ("embedding", "openai", "api_key"): ("embedding", "openai", "base_url") not in leaves,
    }
    key = Leaf(variables[OPENAI_API_KEY], OPENAI_API_KEY)
    return {path: key for path, takes in takes_it.items() if takes and path not in leaves}


def _exported(variables: Mapping[str, str]) -> Iterator[tuple[KeyPath, Leaf]]:
    for name, text in sorted(variables.items()):
        if name.upper().startswith(PREFIX) and not _NOT_SETTINGS.fullmatch(name.upper()):
            *tables, key = name[len(PREFIX) :].lower().split("__")
            for path, value in flat({key: _decoded((*tables, key), text)}, tuple(tables)):
                yield path, Leaf(value, name)


def _decoded(path: KeyPath, text: str) -> Any:
    """Parse a variable that holds a JSON list or object, where a table or a plugin's own value is allowed."""
    if text.lstrip()[:1] in {"[", "{"} and (path[0] == "plugins" or is_table(path)):
        with suppress(ValueError, RecursionError):
            return json.loads(text)
    return text


def _is_reference(path: KeyPath, table: dict[str, Any]) -> bool:
    """Whether this is `{ env = "NAME" }` in the place of a value."""
    return not is_table(path) and table.keys() == {"env"} and isinstance(table["env"], str)


def resolved(leaves: Leaves, variables: Mapping[str, str], problems: list[str]) -> Leaves:
    """Replace `{ env = "NAME" }` in the leaves of the file by the values of the variables."""
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


def dotted(path: KeyPath) -> str:
    """The path as users write it: `llm.model`."""
    return ".".join(path)


def is_table(path: KeyPath) -> bool:
    """Whether the model has a table at this path, not a value: `[llm]`, `[tools.NAME]`."""
    match path:
        case ("llm" | "embedding" | "telemetry" | "plugins" | "tools" | "rename",):
            return True
        case ("plugins" | "tools" | "rename", _) | ("embedding", "ollama" | "openai"):
            return True
    return False


def _never(_path: KeyPath, _table: dict[str, Any]) -> bool:
    return False


def flat(
    table: dict[str, Any], path: KeyPath = (), *, is_leaf: Callable[[KeyPath, dict[str, Any]], bool] = _never
) -> Iterator[tuple[KeyPath, Any]]:
    """Yield every value in a table with its path; empty tables are values, and so are tables that `is_leaf` accepts."""
    for key, value in table.items():
        place = (*path, key)
        if isinstance(value, dict) and value and not is_leaf(place, value):
            yield from flat(value, place, is_leaf=is_leaf)
        else:
            yield place, value


def tree(leaves: Leaves) -> dict[str, Any]:
    """Build nested tables of leaves. A leaf beneath a value is left out."""
    root: dict[str, Any] = {}
    for path, leaf in sorted(leaves.items(), key=lambda item: item[0]):
        table: Any = root
        for key in path[:-1]:
            table = table.setdefault(key, {}) if isinstance(table, dict) else table
        if isinstance(table, dict):
            table[path[-1]] = leaf.value
    return root


def canonical(path: KeyPath) -> KeyPath:
    """Normalise the name of a plugin in a path, as the model does."""
    match path:
        case ("plugins", name, *rest) if "__" not in name:
            return ("plugins", normalise(name), *rest)
        case ("rename", _, *_):
            return ("rename", rename_key(dotted(path[1:])))
    return path


def collected(found: Iterable[tuple[KeyPath, Leaf]], problems: list[str]) -> Leaves:
    """Collect the leaves of one source, which may not set a key twice."""
    leaves: Leaves = {}
    for found_path, leaf in found:
        path = canonical(found_path)
        if leaves.setdefault(path, leaf) is not leaf:
            problems.append(f"{dotted(path)} is set twice, in {leaves[path].origin} and in {leaf.origin}")
    problems += _misplaced(leaves)
    return leaves


def _misplaced(leaves: Leaves) -> Iterator[str]:
    for path, leaf in leaves.items():
        for length in range(1, len(path)):
            above = leaves.get(path[:length])
            if above and above.value != {}:
                yield f"{leaf.origin} cannot be used, because {above.origin} sets {dotted(path[:length])} to a value"


def not_overridden(lower: Leaves, upper: Leaves) -> Leaves:
    """Return the leaves of a lower source that the upper one does not set."""
    set_above = [path for path, leaf in upper.items() if leaf.value != {}]
    return {path: leaf for path, leaf in lower.items() if not any(_overlap(path, other) for other in set_above)}


def _overlap(one: KeyPath, other: KeyPath) -> bool:
    length = min(len(one), len(other))
    return one[:length] == other[:length]
