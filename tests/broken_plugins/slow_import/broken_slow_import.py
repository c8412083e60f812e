"""Takes longer to import than anybody waits."""

import time

from zapomni_core.plugin import hookimpl, tool

time.sleep(3600)


@tool
async def too_late() -> str:
    """Answer a call, if only it had been imported in time."""
    return "here I am"


@hookimpl
def zapomni_tools():
    return [too_late]
