"""The lean transport: pipes and sockets, read and written by the event loop itself."""

import asyncio
import os
import select
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from mcp_types import JSONRPCMessage, JSONRPCNotification

from zapomni_mcp.descriptors import Wire
from zapomni_mcp.transports.exchange import Exchange, Reader, Writer
from zapomni_mcp.transports.output import Output
from zapomni_mcp.transports.wire import Line, Lines, parse

_CHUNK = 2**16
_ENOUGH = 2**18


@asynccontextmanager
async def open_pipes(wire: Wire, exchange: Exchange) -> AsyncIterator[tuple[Reader, Writer]]:
    """A reader and a writer on descriptors that can be polled; their blocking mode is restored at the end."""
    with _non_blocking(wire.read_fd, wire.write_fd):
        source, output = PipeInput(wire.read_fd, exchange), PipeOutput(wire.write_fd, exchange)
        writer = Writer(exchange, output)
        try:
            yield Reader(exchange, source, writer), writer
        finally:
            exchange.end()
            await output.flush()
            output.close()


class PipeInput:
    """Lines as they arrive; reading pauses while many wait to be taken."""

    def __init__(self, fd: int, exchange: Exchange) -> None:
        self._fd = fd
        self._exchange = exchange
        self._lines = Lines()
        self._ready: deque[Line] = deque()
        self._size = 0
        self._reading = False
        self._waiter: asyncio.Future[None] | None = None
        self._loop = asyncio.get_running_loop()
        exchange.when_ended(self._end)
        self._resume()

    async def next(self) -> tuple[Line, JSONRPCMessage | Exception] | None:
        while not self._ready:
            if self._exchange.ended:
                return None
            self._resume()
            self._waiter = self._loop.create_future()
            await self._waiter
        line = self._ready.popleft()
        self._size -= len(line)
        return line, parse(line)

    def _end(self) -> None:
        self._pause()
        self._wake()

    def _resume(self) -> None:
        if not self._reading:
            self._reading = True
            self._loop.add_reader(self._fd, self._on_readable)

    def _pause(self) -> None:
        if self._reading:
            self._reading = False
            self._loop.remove_reader(self._fd)

    def _on_readable(self) -> None:
        try:
            data = os.read(self._fd, _CHUNK)
        except BlockingIOError:
            return
        except OSError:  # the client is gone
            data = b""
        self._add(self._lines.feed(data or b"\n"))
        if not data:
            self._exchange.end()

    def _add(self, lines: list[Line]) -> None:
        self._ready.extend(lines)
        self._size += sum(map(len, lines))
        if self._size > _ENOUGH:
            self._pause()
        if lines:
            self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class PipeOutput(Output):
    """Writes at once what the client has room for, and the rest when it has made some."""

    async def put(self, message: JSONRPCMessage, line: bytes) -> None:
        await self.write(line)
        if isinstance(message, JSONRPCNotification):
            await asyncio.sleep(0)  # a tool that reports progress in a loop lets others run

    def _append(self, data: bytes | memoryview) -> None:
        if not self._waiting and not self._gone:
            data = memoryview(data)[self._write(data) :]
        if data:
            super()._append(data)

    def _start(self) -> None:
        asyncio.get_running_loop().add_writer(self._fd, self._on_writable)

    def _on_writable(self) -> None:
        self._taken(self._write(self._waiting))
        if not self._waiting:
            self.close()

    def close(self) -> None:
        asyncio.get_running_loop().remove_writer(self._fd)

    def _is_read(self) -> bool:
        look = select.poll()
        look.register(self._fd, 0)  # nothing but errors and hanging up
        return not look.poll(0)

    def _write(self, data: bytes | bytearray | memoryview) -> int:
        try:
            return os.write(self._fd, data)
        except BlockingIOError:
            return 0
        except OSError:
            self._lost()
            return 0


@contextmanager
def _non_blocking(*fds: int) -> Iterator[None]:
    """Both may share one open file, so both modes are known before either changes."""
    before = [os.get_blocking(fd) for fd in fds]
    try:
        for fd in fds:
            os.set_blocking(fd, False)
        yield
    finally:
        for fd, blocking in zip(fds, before, strict=True):
            os.set_blocking(fd, blocking)
