"""Settings as leaves: the path of a key, what was set there, and by whom.

Leaves of two sources merge key by key, and an error of the model finds its way back to the file or the variable that
caused it.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from zapomni_core.settings import normalise, rename_key

KeyPath = tuple[str, ...]


class Leaf(NamedTuple):
    """A value, and where it came from: a file, or the name of a variable."""

    value: Any
    origin: str


Leaves = dict[KeyPath, Leaf]


def dotted(path: KeyPath) -> str:
    """The path as people write it: `llm.model`."""
    return ".".join(path)


def is_table(path: KeyPath) -> bool:
    """Whether the model has a table at that path, and not a value: `[llm]`, `[tools.NAME]`."""
    match path:
        case ("llm" | "telemetry" | "plugins" | "tools" | "rename",) | ("plugins" | "tools" | "rename", _):
            return True
    return False


def _never(_path: KeyPath, _table: dict[str, Any]) -> bool:
    return False


def flat(
    table: dict[str, Any], path: KeyPath = (), *, is_leaf: Callable[[KeyPath, dict[str, Any]], bool] = _never
) -> Iterator[tuple[KeyPath, Any]]:
    """Every value in a table with its path; an empty table counts as a value, and so does one that `is_leaf` names."""
    for key, value in table.items():
        place = (*path, key)
        if isinstance(value, dict) and value and not is_leaf(place, value):
            yield from flat(value, place, is_leaf=is_leaf)
        else:
            yield place, value


def tree(leaves: Leaves) -> dict[str, Any]:
    """The leaves as nested tables. A leaf beneath a value has no place and is left out."""
    root: dict[str, Any] = {}
    for path, leaf in sorted(leaves.items(), key=lambda item: item[0]):
        table: Any = root
        for key in path[:-1]:
            table = table.setdefault(key, {}) if isinstance(table, dict) else table
        if isinstance(table, dict):
            table[path[-1]] = leaf.value
    return root


def canonical(path: KeyPath) -> KeyPath:
    """The path with the name of a plugin in its one spelling, as the model has it."""
    match path:
        case ("plugins", name, *rest) if "__" not in name:
            return ("plugins", normalise(name), *rest)
        case ("rename", _, *_):
            return ("rename", rename_key(dotted(path[1:])))
    return path


def collected(found: Iterable[tuple[KeyPath, Leaf]], problems: list[str]) -> Leaves:
    """The leaves of one source, in which nothing may be set twice."""
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
                yield f"{leaf.origin} has no place, because {above.origin} sets {dotted(path[:length])} to a value"


def untouched(lower: Leaves, upper: Leaves) -> Leaves:
    """The leaves of a lower source that an upper one does not set."""
    set_above = [path for path, leaf in upper.items() if leaf.value != {}]
    return {path: leaf for path, leaf in lower.items() if not any(_touch(path, other) for other in set_above)}


def _touch(one: KeyPath, other: KeyPath) -> bool:
    length = min(len(one), len(other))
    return one[:length] == other[:length]
