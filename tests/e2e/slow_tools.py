"""A plugin in one file: tools that take their time and leave files behind to tell how far they came."""

import asyncio
from itertools import count
from pathlib import Path

from zapomni_core.plugin import hookimpl, tool


@tool(timeout_seconds=60)
async def slow(folder: str) -> str:
    """Count the turns of the event loop until somebody makes the file `go`, and finish.

    Args:
        folder: Where the files `turns`, `go`, `cancelled` and `finished` are.
    """
    files = Path(folder)
    turns = count(1)
    try:
        while not (files / "go").exists():
            (files / "turns").write_text(str(next(turns)))
            await asyncio.sleep(0.02)
    except asyncio.CancelledError:
        (files / "cancelled").touch()
        raise
    (files / "finished").touch()
    return "finished"


@hookimpl
def zapomni_tools():
    return [slow]
