"""A thread of one's own for blocking work: one thing at a time, in the order asked, and never on the event loop."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from zapomni_core.errors import ProcessingError

T = TypeVar("T")


class Worker:
    """Runs blocking work in one thread, which starts with the first work and ends with `close`."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._closed = False
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)

    async def run(self, work: Callable[[], T]) -> T:
        """The result of the work. Whoever is cancelled stops waiting at once; work that has begun is finished."""
        if self._closed:
            raise ProcessingError(f"{self._name} is closed")
        return await asyncio.get_running_loop().run_in_executor(self._executor, work)

    async def close(self) -> None:
        """End the thread after the work that was asked for."""
        self._closed = True
        await asyncio.to_thread(self._executor.shutdown)
