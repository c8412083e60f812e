"""Implements a hook that does not exist: its name lacks the last letter."""

from zapomni_core.plugin import hookimpl, tool


@tool
async def misspelt() -> str:
    """Answer a call, if only the hook had its right name."""
    return ""


@hookimpl
def zapomni_tool():
    return [misspelt]
