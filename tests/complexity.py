"""Whether work grows with the length of a text and no faster: by two lengths, not by seconds."""

import gc
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

TIMES = 4
_MOST = 8
"""How much longer the work may take for a text of four times the length. What grows with the square takes sixteen times."""
_ATTEMPTS = 5


def is_linear(work: Callable[[str], object], unit: str, length: int) -> bool:
    """Whether the work takes about as much for each character of a long text as for those of a shorter one."""
    work(unit)  # what the first call loads does not count
    return any(_taken(work, unit, length * TIMES) < _MOST * _taken(work, unit, length) for _ in range(_ATTEMPTS))


async def is_linear_when_awaited(work: Callable[[int], Awaitable[object]], length: int) -> bool:
    """The same of async work that is given a length; threads that it uses count."""
    await work(1)  # what the first call loads does not count
    for _ in range(_ATTEMPTS):
        short, long = await _awaited(work, length), await _awaited(work, length * TIMES)
        if long < _MOST * short:
            return True
    return False


def _taken(work: Callable[[str], object], unit: str, length: int) -> float:
    text = (unit * (length // len(unit) + 1))[:length]
    with _no_collection():
        began = time.thread_time()
        work(text)
        return time.thread_time() - began


async def _awaited(work: Callable[[int], Awaitable[object]], length: int) -> float:
    with _no_collection():
        began = time.process_time()
        await work(length)
        return time.process_time() - began


@contextmanager
def _no_collection() -> Iterator[None]:
    """No garbage collection: it would look at the objects of all tests before, once for a short text and often for a long one."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
