"""Forgets the decorator of a hook, which pluggy then ignores in silence."""

from zapomni_core.plugin import tool


@tool
async def undecorated() -> str:
    """Answer a call, if only the hook had its decorator."""
    return ""


def zapomni_tools():
    return [undecorated]
