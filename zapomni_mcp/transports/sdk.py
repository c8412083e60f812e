"""The SDK's own transport, for terminals, files and Windows.

It is given files of ours, as its own would wait for the next line even when the server is to stop.
"""

from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from typing import Any, cast

import anyio
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCMessage

from zapomni_mcp.descriptors import Wire
from zapomni_mcp.transports.exchange import Exchange, Reader, Writer
from zapomni_mcp.transports.threads import ThreadInput, ThreadOutput
from zapomni_mcp.transports.wire import Line, Lines


@asynccontextmanager
async def open_sdk(wire: Wire, exchange: Exchange) -> AsyncIterator[tuple[Reader, Writer]]:
    """A reader and a writer on any descriptors.

    When they are left, a daemon thread may still wait on a descriptor, which must not be closed under it.
    """
    given: deque[Line] = deque()
    source, output = ThreadInput(wire.read_fd, exchange), ThreadOutput(wire.write_fd, exchange)
    try:
        async with aclosing(_texts(source, exchange, given)) as texts, _serve(texts, output) as (read, write):
            writer = Writer(exchange, SdkSink(write))
            try:
                yield Reader(exchange, SdkSource(read, given), writer), writer
            finally:
                exchange.end()
                await _finish(read, write)
    finally:
        await output.flush()
        output.close()


async def _finish(
    read: ObjectReceiveStream[SessionMessage | Exception], write: ObjectSendStream[SessionMessage]
) -> None:
    """Lets the SDK's tasks end by themselves, which they do at once when no more is read."""
    with anyio.CancelScope(shield=True):
        await write.aclose()
        async with read:
            async for _ in read:
                pass


def _serve(texts: AsyncGenerator[str, None], output: ThreadOutput) -> AbstractAsyncContextManager[Any]:
    """The SDK's transport; it only iterates over the one file, and only writes to the other."""
    return stdio_server(stdin=cast("anyio.AsyncFile[str]", texts), stdout=cast("anyio.AsyncFile[str]", SdkFile(output)))


async def _texts(source: ThreadInput, exchange: Exchange, given: deque[Line]) -> AsyncGenerator[str, None]:
    """Lines as text. Bytes that are no UTF-8 stay recognisable, and so are refused."""
    lines = Lines()
    while (data := await source.read()) is not None:
        for line in lines.feed(data or b"\n"):
            given.append(line)
            yield line.decode(errors="surrogateescape")
        if not data:
            exchange.end()


class SdkFile:
    """What the SDK writes to: text that goes to the output."""

    def __init__(self, output: ThreadOutput) -> None:
        self._output = output

    async def write(self, text: str) -> None:
        await self._output.write(text.encode())

    async def flush(self) -> None:
        """Nothing to do: every line is on its way already."""


class SdkSource:
    """The lines given to the SDK, as it hands them back: parsed, one for one and in order."""

    def __init__(self, parsed: ObjectReceiveStream[SessionMessage | Exception], given: deque[Line]) -> None:
        self._parsed = parsed
        self._given = given

    async def next(self) -> tuple[Line, JSONRPCMessage | Exception] | None:
        try:
            item = await self._parsed.receive()
        except anyio.EndOfStream:
            return None
        return self._given.popleft(), item if isinstance(item, Exception) else item.message


class SdkSink:
    def __init__(self, messages: ObjectSendStream[SessionMessage]) -> None:
        self._messages = messages

    async def put(self, message: JSONRPCMessage, _line: bytes) -> None:
        await self._messages.send(SessionMessage(message))
