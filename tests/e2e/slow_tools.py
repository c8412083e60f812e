"""A plugin with slow tools that write files to show how far they got."""

import asyncio
from itertools import count
from pathlib import Path

from zapomni_core.plugin import hookimpl, tool


@tool(timeout_seconds=60)
async def slow(folder: str) -> str:
    """Count the turns of the event loop until the file `go` exists, then finish.

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
