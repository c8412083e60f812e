"""Finds a plugin by the name that the user typed."""

import difflib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from zapomni_mcp.cli.refusal import Refusal

if TYPE_CHECKING:
    from zapomni_core.host.discovery import Found


def named(name: str, found: "Sequence[Found]") -> "list[Found]":
    """The plugins that are called so, or whose distribution is; a usage error names the nearest one."""
    matches = [one for one in found if one.is_called([name])]
    if not matches:
        raise Refusal(f"There is no plugin '{name}'{hint(name, (one.name for one in found))}")
    return matches


def hint(name: str, known: Iterable[str]) -> str:
    """A question for the nearest of the known names; nothing where none comes near."""
    nearest = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f"; did you mean '{nearest[0]}'?" if nearest else ""
