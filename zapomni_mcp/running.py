"""Runs the server to its end, although a tool, or a task that it left in the background, tries to exit or stops the loop."""

import asyncio
import logging
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

log = logging.getLogger("zapomni.running")


def run_to_the_end(main: Coroutine[Any, Any, T]) -> T:
    """As asyncio.run, but it ends with the main task alone.

    SystemExit and KeyboardInterrupt end only the task that raised them, and nobody else stops the loop.
    """
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        task = loop.create_task(main)
        while True:
            try:
                return loop.run_until_complete(task)
            except (SystemExit, KeyboardInterrupt) as error:
                if task.done() or _is_the_users(error):
                    raise
                log.error("a_task_tried_to_exit", exc_info=error)  # noqa: TRY400 (it is no failure of ours)
            except RuntimeError:
                if task.done():
                    raise
                log.error("a_task_stopped_the_loop")  # noqa: TRY400 (the exception tells no more)


def _is_the_users(error: BaseException) -> bool:
    """Whether it is a Ctrl-C: while the server runs, its own handler takes that, and nothing is raised."""
    return isinstance(error, KeyboardInterrupt) and signal.getsignal(signal.SIGINT) is signal.default_int_handler
