"""`zapomni demo`: Zapomni at work, on a store of its own."""

import asyncio
import signal
import sys
from collections.abc import Coroutine
from functools import partial
from typing import Any

import click


@click.command()
def demo() -> None:
    """See Zapomni at work: it remembers, is asked, is killed, and has lost nothing.

    Uses a temporary store; nothing of yours is read or touched. Exits with 1 when something did not hold.
    """
    from zapomni_mcp.demo import demonstrate

    sys.exit(asyncio.run(_exit_code(demonstrate())))


async def _exit_code(demonstration: Coroutine[Any, Any, bool]) -> int:
    """0 where everything held. A signal that asks the process to end lets the demonstration take away its store first."""
    showing = asyncio.ensure_future(demonstration)
    heard: list[int] = []

    def end(number: int) -> None:
        heard.append(number)
        showing.cancel()

    for number in _ending_signals():
        asyncio.get_running_loop().add_signal_handler(number, partial(end, number))
    try:
        return 0 if await showing else 1
    except asyncio.CancelledError:
        if heard:
            return 128 + heard[0]
        raise


if sys.platform == "win32":

    def _ending_signals() -> tuple[signal.Signals, ...]:
        return ()

else:

    def _ending_signals() -> tuple[signal.Signals, ...]:
        """Ctrl-C is asyncio's own; a signal that whoever started us ignores, as `nohup` does, stays ignored."""
        both = (signal.SIGTERM, signal.SIGHUP)
        return tuple(number for number in both if signal.getsignal(number) is not signal.SIG_IGN)
