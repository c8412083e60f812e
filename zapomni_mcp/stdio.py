"""The stdio transport: one client on a pair of descriptors.

Two daemon threads read and write, because blocking calls work on pipes, sockets, terminals, files and Windows alike,
and a thread that never returns from one does not keep the process alive.
"""

import asyncio
import math
import os
import select
import sys
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from queue import SimpleQueue
from threading import Thread
from types import TracebackType
from typing import Self, TypeVar

import anyio
from mcp.shared.dispatcher import coerce_request_id
from mcp.shared.jsonrpc_dispatcher import cancelled_request_id_from_params
from mcp.shared.message import SessionMessage
from mcp_types import (
    CONNECTION_CLOSED,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
)

from zapomni_mcp.descriptors import Descriptors
from zapomni_mcp.jsonrpc import Line, LineSplitter, encode, logger, parse, refusal

DRAIN_SECONDS = 30.0
STOP_SECONDS = 5.0
FLUSH_SECONDS = 2.0

_CHUNK = 2**16
_MAX_BUFFERED = 2**20

T = TypeVar("T")


@asynccontextmanager
async def open_stdio(
    descriptors: Descriptors, stop: asyncio.Event
) -> AsyncIterator[tuple["MessageReader", "MessageWriter"]]:
    """Open the streams for ``Server.run``.

    When the input ends, the client is gone or ``stop`` is set, nothing more is read. The read stream ends once every
    request has its response, or after DRAIN_SECONDS without progress, or STOP_SECONDS after ``stop`` was set.
    The descriptors are not closed: a thread may still wait on one.
    """
    connection = _Connection(descriptors)
    stopping = asyncio.create_task(_stop(connection, stop))
    try:
        yield MessageReader(connection), MessageWriter(connection)
    finally:
        stopping.cancel()
        await connection.aclose()


async def _stop(connection: "_Connection", stop: asyncio.Event) -> None:
    await stop.wait()
    connection.stop()


class _Stream:
    """The stream that the SDK expects."""

    def __init__(self, connection: "_Connection") -> None:
        self._connection = connection
        self._closed = False

    def _check_open(self) -> None:
        if self._closed:
            raise anyio.ClosedResourceError

    async def aclose(self) -> None:
        self._closed = True

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.aclose()


class MessageWriter(_Stream):
    """The stream the SDK writes to."""

    async def send(self, item: SessionMessage, /) -> None:
        """Send a message; waits while the client has much left to read."""
        self._check_open()
        await self._connection.send(item.message)


class MessageReader(_Stream):
    """The stream the SDK reads from. `ended` is set when there is nothing more to read and to answer."""

    def __init__(self, connection: "_Connection") -> None:
        super().__init__(connection)
        self.ended = asyncio.Event()
        self.progressed = connection.progressed

    async def receive(self) -> SessionMessage:
        """Return the next message. Lines that are not valid messages are answered here."""
        self._check_open()
        while (line := await self._connection.next_line()) is not None:
            self._check_open()
            if (message := await self._connection.accept(line)) is not None:
                return SessionMessage(message)
        self._check_open()
        if (lost := await self._connection.drain()) is not None:
            return SessionMessage(lost)
        self.ended.set()
        raise anyio.EndOfStream

    async def aclose(self) -> None:
        await super().aclose()
        self._connection.end_input()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None


class _Connection:
    """Input and output of one client, and which requests still wait for a response."""

    def __init__(self, descriptors: Descriptors) -> None:
        self._input = _Input(descriptors.read_fd, on_end=self.end_input)
        self._output = _Output(descriptors.write_fd, on_lost=self.end_input)
        self._unanswered: Counter[RequestId] = Counter()
        self._asked: dict[RequestId, RequestId] = {}
        """Requests of the server that the client has not answered."""
        self._changed = asyncio.Event()
        self._deadline = math.inf

    async def next_line(self) -> Line | None:
        return await self._input.next_line()

    async def accept(self, line: Line) -> JSONRPCMessage | None:
        """Return the message in a line; None after an invalid line was answered."""
        message = parse(line)
        if not isinstance(message, ErrorData):
            self._note_received(message)
            return message
        if (response := refusal(line, message)) is not None:
            await self._write(response)
        return None

    async def send(self, message: JSONRPCMessage) -> None:
        await self._write(message)
        match message:
            case JSONRPCResponse(id=key) | JSONRPCError(id=key):
                self._settle(key)
            case JSONRPCRequest(id=key):
                self._asked[coerce_request_id(key)] = key
                self._changed.set()
            case _:
                await asyncio.sleep(0)  # a tool that reports progress in a loop must let other tasks run

    def progressed(self) -> None:
        """Extend the wait in `drain`, because a call has made progress; once the client is gone, it does not count."""
        if self._input.ended and self._output.is_read():
            self._changed.set()

    def stop(self) -> None:
        """End the input, and wait for responses no longer than STOP_SECONDS, whatever progress there is."""
        self._deadline = asyncio.get_running_loop().time() + STOP_SECONDS
        self._changed.set()
        self.end_input()

    def end_input(self) -> None:
        if not self._input.ended:
            self._input.end()
            self._output.stop_waiting()

    async def drain(self) -> JSONRPCError | None:
        """Wait until every request has its response, or for DRAIN_SECONDS without response or progress; see `stop`.

        Returns early with an error for a request of the server that the client can no longer answer.
        """
        while self._unanswered and not self._asked:
            self._changed.clear()
            seconds = min(DRAIN_SECONDS, self._deadline - asyncio.get_running_loop().time())
            try:
                async with asyncio.timeout(seconds):
                    await self._changed.wait()
            except TimeoutError:
                logger.warning("ended with %d requests unanswered", self._unanswered.total())
                return None
        if not self._asked:
            return None
        error = ErrorData(code=CONNECTION_CLOSED, message="Connection closed")
        return JSONRPCError(jsonrpc="2.0", id=self._asked.popitem()[1], error=error)

    async def aclose(self) -> None:
        self.end_input()
        await self._output.aclose()

    async def _write(self, message: JSONRPCMessage) -> None:
        if (line := encode(message)) is not None:
            await self._output.write(line)

    def _note_received(self, message: JSONRPCMessage) -> None:
        match message:
            case JSONRPCRequest(method="subscriptions/listen"):
                pass  # its response comes when the subscription ends
            case JSONRPCRequest(id=key):
                self._unanswered[coerce_request_id(key)] += 1
            case JSONRPCNotification(method="notifications/cancelled", params=params):
                self._settle(cancelled_request_id_from_params(params))
            case JSONRPCResponse(id=key) | JSONRPCError(id=key) if key is not None:
                self._asked.pop(coerce_request_id(key), None)

    def _settle(self, key: RequestId | None) -> None:
        if key is not None and (key := coerce_request_id(key)) in self._unanswered:
            self._unanswered[key] -= 1
            if not self._unanswered[key]:
                del self._unanswered[key]
            self._changed.set()


class _Thread:
    """A daemon thread that makes blocking calls, one after the other."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.get_running_loop()
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        Thread(target=self._run, name=name, daemon=True).start()

    def call(self, function: Callable[[], T]) -> asyncio.Future[T]:
        future: asyncio.Future[T] = self._loop.create_future()
        self._calls.put(lambda: self._report(future, function()))
        return future

    def close(self) -> None:
        """End the thread after the calls that were made."""
        self._calls.put(None)

    def _run(self) -> None:
        while (call := self._calls.get()) is not None:
            call()

    def _report(self, future: asyncio.Future[T], result: T) -> None:
        with suppress(RuntimeError):  # the event loop is closed
            self._loop.call_soon_threadsafe(_set_result, future, result)


class _Input:
    """Lines from a descriptor. It is read only when a line is wanted, so a busy server holds its client up."""

    def __init__(self, fd: int, on_end: Callable[[], None]) -> None:
        self.ended = False
        self._fd = fd
        self._on_end = on_end
        self._thread = _Thread("zapomni-input")
        self._splitter = LineSplitter()
        self._lines: deque[Line] = deque()
        self._reading: asyncio.Future[tuple[list[Line], bool]] | None = None

    async def next_line(self) -> Line | None:
        """Return the next line, None when there is no other."""
        while not self._lines and not self.ended:
            self._reading = self._thread.call(self._read_lines)
            lines, is_last = await self._reading
            self._lines.extend(lines)
            if is_last:
                self._on_end()
        return self._lines.popleft() if self._lines else None

    def end(self) -> None:
        """Read no further. A read in progress is left to the thread, and its result dropped."""
        self.ended = True
        self._thread.close()
        if self._reading is not None:
            _set_result(self._reading, ([], False))

    def _read_lines(self) -> tuple[list[Line], bool]:
        """Read until a line is complete, in the thread; also whether the input has ended."""
        lines: list[Line] = []
        data = b"\n"
        while not lines and data and not self.ended:
            data = _read(self._fd)
            lines = self._splitter.feed(data or b"\n")
        return lines, not data


class _Output:
    """Buffers what the client has not taken yet, and writes it in order."""

    def __init__(self, fd: int, on_lost: Callable[[], None]) -> None:
        self._fd = fd
        self._on_lost = on_lost
        self._thread = _Thread("zapomni-output")
        self._buffer = bytearray()
        self._limit: float = _MAX_BUFFERED
        self._room = asyncio.Event()
        self._lost = False

    async def write(self, line: bytes) -> None:
        """Add a line; waits while too much is buffered. The line is added at once, so cancelling never tears it."""
        if self._lost:
            return
        self._buffer += line
        if len(self._buffer) == len(line):
            self._write_next()
        if len(self._buffer) > self._limit:
            self._room.clear()
            await self._room.wait()

    def stop_waiting(self) -> None:
        """Let `write` return at once from now on."""
        self._limit = math.inf
        self._room.set()

    def is_read(self) -> bool:
        """Whether the client may still read, as far as the system tells."""
        if self._lost or sys.platform == "win32":
            return not self._lost
        poll = select.poll()
        poll.register(self._fd, 0)  # reports errors and hang-ups only
        return not poll.poll(0)

    async def aclose(self) -> None:
        """Wait until everything is written, as long as the client takes something every FLUSH_SECONDS."""
        try:
            while self._buffer:
                self._room.clear()
                with anyio.move_on_after(FLUSH_SECONDS, shield=True) as limit:
                    await self._room.wait()
                if limit.cancelled_caught:
                    break
        finally:
            self._thread.close()

    def _write_next(self) -> None:
        piece = bytes(self._buffer[:_CHUNK])
        self._thread.call(partial(_write, self._fd, piece)).add_done_callback(self._on_written)

    def _on_written(self, written: asyncio.Future[int]) -> None:
        if not (count := written.result()):
            self._lost = True
            self._buffer.clear()
            self._room.set()
            self._on_lost()
            return
        del self._buffer[:count]
        if len(self._buffer) <= self._limit:
            self._room.set()
        if self._buffer:
            self._write_next()


def _set_result(future: asyncio.Future[T], result: T) -> None:
    if not future.done():
        future.set_result(result)


def _read(fd: int) -> bytes:
    """Read what there is; nothing at the end of input, or when the client is gone."""
    while True:
        try:
            return os.read(fd, _CHUNK)
        except BlockingIOError:  # a program that shares the open file made it non-blocking
            select.select([fd], [], [])
        except OSError:
            return b""


def _write(fd: int, data: bytes) -> int:
    """Write some of the data and return how much; nothing when the client is gone."""
    while True:
        try:
            return os.write(fd, data)
        except BlockingIOError:
            select.select([], [fd], [])
        except OSError:
            return 0
