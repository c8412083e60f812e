"""What client and server still owe each other, and the streams that keep count of it."""

import asyncio
import math
from collections import Counter
from collections.abc import Callable
from types import TracebackType
from typing import Protocol, Self

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

from zapomni_mcp.transports.wire import Line, encode, logger, refusal, understand

DRAIN_SECONDS = 30.0
STOP_SECONDS = 5.0


class Exchange:
    """One conversation: which requests wait for an answer, and whether the client can still send more."""

    def __init__(self) -> None:
        self.ended = False
        self.can_answer: Callable[[], bool] = lambda: True
        self._when_ended: list[Callable[[], None]] = []
        self._unanswered: Counter[RequestId] = Counter()
        self._asked: dict[RequestId, RequestId] = {}
        self._changed = asyncio.Event()
        self._deadline = math.inf

    def when_ended(self, callback: Callable[[], None]) -> None:
        self._when_ended.append(callback)

    def end(self) -> None:
        """No further line is read: the input has ended, the client is gone, or the server is to stop."""
        if not self.ended:
            self.ended = True
            for callback in self._when_ended:
                callback()

    def stop(self) -> None:
        """End, and wait for what is unanswered no longer than STOP_SECONDS, whatever progress it shows."""
        self._deadline = asyncio.get_running_loop().time() + STOP_SECONDS
        self._changed.set()
        self.end()

    def heard(self, message: JSONRPCMessage) -> None:
        match message:
            case JSONRPCRequest(method="subscriptions/listen"):
                pass  # open-ended: its answer comes when the stream ends
            case JSONRPCRequest(id=key):
                self._unanswered[coerce_request_id(key)] += 1
            case JSONRPCNotification(method="notifications/cancelled", params=params):
                self._settle(cancelled_request_id_from_params(params))
            case JSONRPCResponse(id=key) | JSONRPCError(id=key) if key is not None:
                self._asked.pop(coerce_request_id(key), None)

    def said(self, message: JSONRPCMessage) -> None:
        match message:
            case JSONRPCResponse(id=key) | JSONRPCError(id=key):
                self._settle(key)
            case JSONRPCRequest(id=key):
                self._asked[coerce_request_id(key)] = key
                self._changed.set()

    def progressed(self) -> None:
        """A sign of life from one of the requests, whether the client is told of it or not.

        It is worth waiting for while somebody may read the answer.
        """
        if self.ended and self.can_answer():
            self._changed.set()

    async def drain(self) -> JSONRPCError | None:
        """Waits until every request is answered, or there was neither answer nor progress for DRAIN_SECONDS; see `stop`.

        Returns early with a failure for a request of the server's that nobody is left to answer.
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
        return self._lost(self._asked.popitem()[1]) if self._asked else None

    def _settle(self, key: RequestId | None) -> None:
        if key is not None and (key := coerce_request_id(key)) in self._unanswered:
            self._unanswered[key] -= 1
            if not self._unanswered[key]:
                del self._unanswered[key]
            self._changed.set()

    @staticmethod
    def _lost(key: RequestId) -> JSONRPCError:
        error = ErrorData(code=CONNECTION_CLOSED, message="Connection closed")
        return JSONRPCError(jsonrpc="2.0", id=key, error=error)


class Source(Protocol):
    """Where lines come from."""

    async def next(self) -> tuple[Line, JSONRPCMessage | Exception] | None:
        """The next line and what it was parsed to; None when there is no other."""


class Sink(Protocol):
    """Where messages go; a message is given with its line."""

    async def put(self, message: JSONRPCMessage, line: bytes) -> None: ...


class _Stream:
    _closed = False

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


class Writer(_Stream):
    """The stream the SDK writes to."""

    def __init__(self, exchange: Exchange, sink: Sink) -> None:
        self._exchange = exchange
        self._sink = sink

    async def send(self, item: SessionMessage, /) -> None:
        self._check_open()
        await self.write(item.message)
        self._exchange.said(item.message)

    async def write(self, message: JSONRPCMessage) -> None:
        """Sends what answers no request that was heard."""
        if (encoded := encode(message)) is not None:
            await self._sink.put(*encoded)


class Reader(_Stream):
    """The stream the SDK reads from; it ends when the input has ended and all that was asked is answered."""

    def __init__(self, exchange: Exchange, source: Source, writer: Writer) -> None:
        self.ended = asyncio.Event()
        self.progressed = exchange.progressed
        self._exchange = exchange
        self._source = source
        self._writer = writer

    async def receive(self) -> SessionMessage | Exception:
        while (read := await self._read()) is not None:
            line, parsed = read
            understood = understand(line, parsed)
            if not isinstance(understood, ErrorData):
                self._exchange.heard(understood)
                return SessionMessage(understood)
            if (answer := refusal(line, understood)) is not None:
                await self._writer.write(answer)
        if (lost := await self._exchange.drain()) is not None:
            return SessionMessage(lost)
        self.ended.set()
        raise anyio.EndOfStream

    async def _read(self) -> tuple[Line, JSONRPCMessage | Exception] | None:
        self._check_open()
        read = await self._source.next()
        self._check_open()
        return read

    async def aclose(self) -> None:
        await super().aclose()
        self._exchange.end()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None
