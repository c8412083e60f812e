"""Blocking reads and writes, made by daemon threads: one that never returns does not keep the process from ending."""

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from select import select
from threading import Thread
from typing import TypeVar

from zapomni_mcp.transports.exchange import Exchange
from zapomni_mcp.transports.output import Output

_CHUNK = 2**16

T = TypeVar("T")


class Worker:
    """A thread that makes one call after the other."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.get_running_loop()
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        Thread(target=self._run, name=name, daemon=True).start()

    def call(self, function: Callable[[], T]) -> asyncio.Future[T]:
        future: asyncio.Future[T] = self._loop.create_future()
        self._calls.put(lambda: self._report(future, function()))
        return future

    def close(self) -> None:
        self._calls.put(None)

    def _run(self) -> None:
        while (call := self._calls.get()) is not None:
            call()

    def _report(self, future: asyncio.Future[T], result: T) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(_settle, future, result)


class ThreadInput:
    """Reads when it is asked to."""

    def __init__(self, fd: int, exchange: Exchange) -> None:
        self._fd = fd
        self._exchange = exchange
        self._worker = Worker("zapomni-input")
        self._reading: asyncio.Future[bytes] | None = None
        exchange.when_ended(self._end)

    async def read(self) -> bytes | None:
        """The next bytes, none at the end of input; None once the exchange has ended."""
        if self._exchange.ended:
            return None
        self._reading = self._worker.call(partial(_read, self._fd))
        data = await self._reading
        return None if self._exchange.ended else data

    def _end(self) -> None:
        """Leaves the thread to its read, whose result nobody waits for any more."""
        self._worker.close()
        if self._reading is not None:
            _settle(self._reading, b"")


class ThreadOutput(Output):
    """Writes what waits, piece after piece."""

    def __init__(self, fd: int, exchange: Exchange) -> None:
        super().__init__(fd, exchange)
        self._worker = Worker("zapomni-output")

    def close(self) -> None:
        self._worker.close()

    def _start(self) -> None:
        piece = bytes(self._waiting[:_CHUNK])
        self._worker.call(partial(_write, self._fd, piece)).add_done_callback(self._on_written)

    def _on_written(self, written: asyncio.Future[int]) -> None:
        if not (count := written.result()):
            self._lost()
            return
        self._taken(count)
        if self._waiting:
            self._start()


def _settle(future: asyncio.Future[T], result: T) -> None:
    if not future.done():
        future.set_result(result)


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, _CHUNK)
    except BlockingIOError:  # whoever shares the open file has made it so
        select([fd], [], [])
        return _read(fd)
    except OSError:  # the client is gone
        return b""


def _write(fd: int, data: bytes) -> int:
    try:
        return os.write(fd, data)
    except BlockingIOError:
        select([], [fd], [])
        return _write(fd, data)
    except OSError:  # the client is gone
        return 0
