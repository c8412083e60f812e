"""`zapomni demo`: a demonstration on a temporary store."""

import asyncio
import signal
import sys
from collections.abc import Coroutine
from functools import partial
from typing import Any

import click


@click.command()
def demo() -> None:
    """Show how Zapomni stores, finds and survives a crash.

    Uses a temporary store and reads none of your settings or memories. Exits with 1 if a step failed.
    """
    from zapomni_mcp.demo import demonstrate

    sys.exit(asyncio.run(_exit_code(demonstrate())))


async def _exit_code(demonstration: Coroutine[Any, Any, bool]) -> int:
    """0 if every step succeeded. On a signal the demonstration first removes its store."""
    task = asyncio.ensure_future(demonstration)
    received: list[int] = []

    def end(number: int) -> None:
        received.append(number)
        task.cancel()

    for number in _termination_signals():
        asyncio.get_running_loop().add_signal_handler(number, partial(end, number))
    try:
        return 0 if await task else 1
    except asyncio.CancelledError:
        if received:
            return 128 + received[0]
        raise


if sys.platform == "win32":

    def _termination_signals() -> tuple[signal.Signals, ...]:
        return ()

else:

    def _termination_signals() -> tuple[signal.Signals, ...]:
        """Without Ctrl-C, which asyncio handles; a signal that is ignored, as under `nohup`, stays ignored."""
        both = (signal.SIGTERM, signal.SIGHUP)
        return tuple(number for number in both if signal.getsignal(number) is not signal.SIG_IGN)
