"""A plugin in one file: tells which modules of others the server has imported."""

import sys

from zapomni_core.plugin import hookimpl, tool


@tool
async def imported(prefixes: list[str]) -> str:
    """The modules that the server has imported, of those whose names begin so.

    Args:
        prefixes: How the names begin.
    """
    return " ".join(sorted(name for name in sys.modules if name.startswith(tuple(prefixes))))


@hookimpl
def zapomni_tools():
    return [imported]
