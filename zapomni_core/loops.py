"""Whether there is an event loop that a task can be given to."""

import asyncio


def is_in_a_loop() -> bool:
    """Whether this is called from within a running event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
