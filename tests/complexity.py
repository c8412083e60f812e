"""Checks that work is linear in the length of a text, by comparing two lengths instead of limiting seconds."""

import gc
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

TIMES = 4
_MOST = 8
"""The most that the work may grow for four times the length; quadratic work grows sixteenfold."""
_ATTEMPTS = 5


def is_linear(work: Callable[[str], object], unit: str, length: int) -> bool:
    """Whether the CPU time of the work is about linear in the length of a text."""
    work(unit)  # loads whatever the first call loads
    return any(_taken(work, unit, length * TIMES) < _MOST * _taken(work, unit, length) for _ in range(_ATTEMPTS))


async def is_linear_when_awaited(work: Callable[[int], Awaitable[object]], length: int) -> bool:
    """The same for async work that is given a length, including its threads."""
    await work(1)  # loads whatever the first call loads
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
    """Without garbage collection, which would traverse the objects of all earlier tests."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
