"""A plugin whose tool lists the modules that the server has imported."""

import sys

from zapomni_core.plugin import hookimpl, tool


@tool
async def imported(prefixes: list[str]) -> str:
    """List the imported modules whose names start with one of the prefixes.

    Args:
        prefixes: The prefixes.
    """
    return " ".join(sorted(name for name in sys.modules if name.startswith(tuple(prefixes))))


@hookimpl
def zapomni_tools():
    return [imported]
