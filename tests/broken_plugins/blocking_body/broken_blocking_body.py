"""Blocks the event loop for four seconds, and every other call with it."""

import time

from zapomni_core.plugin import hookimpl, tool


@tool
async def blocking_body() -> str:
    """Work without ever letting anybody else work."""
    time.sleep(4)
    return "done at last"


@hookimpl
def zapomni_tools():
    return [blocking_body]
