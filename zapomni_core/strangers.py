"""The seam to async code that others wrote: whatever it raises is its own failure, and ends nothing of ours.

What does not wait runs in a thread instead (`zapomni_core.host.errands`).
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def failing_alone(tell: Callable[[BaseException], None]) -> Iterator[None]:
    """Run a stranger's code: what it raises is told, and goes no further; a cancellation of this task does.

    SystemExit and KeyboardInterrupt would end the event loop. They are the stranger's too: while the loop runs, a
    Ctrl-C asks the server to end, or cancels a command's task.
    """
    try:
        yield
    except BaseException as error:
        if is_cancellation(error):
            raise
        tell(error)


def is_cancellation(error: BaseException) -> bool:
    """Whether this task is really being cancelled; anybody can also raise CancelledError."""
    task = asyncio.current_task()
    return isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling() > 0
