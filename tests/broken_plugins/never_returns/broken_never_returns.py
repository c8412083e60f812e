"""Waits for ever, and gives no sign of progress."""

import asyncio

from zapomni_core.plugin import hookimpl, tool


@tool
async def never_returns() -> str:
    """Wait for something that never comes."""
    await asyncio.Event().wait()
    return ""


@hookimpl
def zapomni_tools():
    return [never_returns]
