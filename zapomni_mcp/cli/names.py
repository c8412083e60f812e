"""Finds a plugin by the name, or by the file, that the user typed."""

import difflib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
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


def is_file(target: str) -> bool:
    """Whether a file is meant, and not the name of a plugin."""
    return target.endswith(".py") or os.sep in target


def filed(target: str) -> "Found":
    """The plugin in that file; a usage error where there is none."""
    from zapomni_core.host.discovery import from_file

    file = Path(target)
    if file.is_dir():
        raise Refusal(f"{file} is a directory; name its .py file, or install it and name the plugin")
    if not file.is_file():
        raise Refusal(f"There is no file {file}")
    return from_file(file)


def hint(name: str, known: Iterable[str]) -> str:
    """A question for the nearest of the known names; nothing where none comes near."""
    nearest = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f"; did you mean '{nearest[0]}'?" if nearest else ""
