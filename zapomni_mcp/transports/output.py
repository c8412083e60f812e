"""Bytes on their way to the client."""

import asyncio
from abc import ABC, abstractmethod

import anyio

from zapomni_mcp.transports.exchange import Exchange

FLUSH_SECONDS = 2.0
_ENOUGH = 2**20


class Output(ABC):
    """Holds what the client has not taken yet, in order; whoever writes waits while that is much.

    A subclass moves the bytes: it starts when ``_start`` is called and reports with ``_taken`` or ``_lost``.
    """

    def __init__(self, fd: int, exchange: Exchange) -> None:
        self._fd = fd
        self._exchange = exchange
        self._waiting = bytearray()
        self._allowed = _ENOUGH
        self._room = asyncio.Event()
        self._gone = False
        exchange.when_ended(self._room.set)
        exchange.can_answer = self._is_read

    async def write(self, line: bytes) -> None:
        """Takes the whole line at once, so that being cancelled while waiting never tears it."""
        self._append(line)
        if len(self._waiting) > self._allowed and not self._exchange.ended:
            self._room.clear()
            await self._room.wait()

    async def flush(self) -> None:
        """Waits until everything is taken, for as long as the client takes something every FLUSH_SECONDS."""
        self._allowed = left = 0
        while self._waiting and left != len(self._waiting):
            left = len(self._waiting)
            self._room.clear()
            with anyio.move_on_after(FLUSH_SECONDS, shield=True):
                await self._room.wait()

    def _append(self, data: bytes | memoryview) -> None:
        if not self._gone:
            idle = not self._waiting
            self._waiting += data
            if idle:
                self._start()

    @abstractmethod
    def _start(self) -> None:
        """Begin to move what is waiting."""

    def _taken(self, count: int) -> None:
        del self._waiting[:count]
        if len(self._waiting) <= self._allowed:
            self._room.set()

    def _is_read(self) -> bool:
        """Whether the client may still read, as far as one can know."""
        return not self._gone

    def _lost(self) -> None:
        """The client no longer reads: what is written from now on is dropped, and no more is expected of it."""
        self._gone = True
        self._waiting.clear()
        self._room.set()
        self._exchange.end()
