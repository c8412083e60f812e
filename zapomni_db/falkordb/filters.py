"""Filters as conditions of Cypher, for memories and chunks alike."""

from typing import Any

from zapomni_db import filter_entries, values
from zapomni_db.filters import Filter

_MOST_INDEXED = 16
"""Of so many values of one part, each is looked up by the index."""
_FIRST_SECOND = 62_135_596_801  # of the year 1: seconds that are indexed are positive


def second_of(micros: int) -> int:
    """The second of a moment: a positive number, which the index keeps exactly. Microseconds it does not keep."""
    return micros // 1_000_000 + _FIRST_SECOND


def facets_of(entries: set[bytes]) -> list[str]:
    """The entries of a memory as they are indexed."""
    return sorted(entry.hex() for entry in entries)


def conditions(workspace: str, wanted: Filter, node: str) -> tuple[str, dict[str, Any]]:
    """A condition that begins with AND, or nothing, and its parameters."""
    parts: list[str] = []
    parameters: dict[str, Any] = {}
    for number, group in enumerate(filter_entries.groups_of(workspace, wanted)):
        names = {f"f{number}_{place}": entry.hex() for place, entry in enumerate(group)}
        if len(group) > _MOST_INDEXED:
            parts.append(f"any(one IN $f{number} WHERE one IN {node}.facets)")
            parameters[f"f{number}"] = list(names.values())
        else:
            parts.append(f"({' OR '.join(f'${name} IN {node}.facets' for name in names)})")
            parameters |= names
    for name, compared, moment in (("date_from", ">=", wanted.date_from), ("date_to", "<=", wanted.date_to)):
        if moment:
            micros = values.to_micros(moment)
            parts += [f"{node}.second {compared} ${name}_second", f"{node}.moment {compared} ${name}"]
            parameters |= {name: micros, f"{name}_second": second_of(micros)}
    for name, compared, moment in (
        ("created_from", ">=", wanted.created_from),
        ("created_to", "<=", wanted.created_to),
    ):
        if moment:
            parts.append(f"{node}.created_at {compared} ${name}")
            parameters[name] = values.to_micros(moment)
    return "".join(f" AND {part}" for part in parts), parameters
