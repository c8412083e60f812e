"""The door: streams for the SDK's server on the wire that was claimed."""

import asyncio
import os
import stat
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from zapomni_mcp.descriptors import Wire
from zapomni_mcp.transports.exchange import Exchange, Reader, Writer
from zapomni_mcp.transports.pipes import open_pipes
from zapomni_mcp.transports.sdk import open_sdk


@asynccontextmanager
async def open_stdio(
    wire: Wire, stop: asyncio.Event, *, lean: bool | None = None
) -> AsyncIterator[tuple[Reader, Writer]]:
    """The streams to hand to ``Server.run``.

    When the input ends, the client is gone or ``stop`` is set, no more is read; the read stream ends once every
    request that was read is answered, or after a few seconds once ``stop`` is set. Pipes and sockets get the lean transport, anything else the SDK's;
    ``lean`` decides otherwise, and true is for pipes and sockets only. No descriptor is closed.
    """
    if lean is None:
        lean = sys.platform != "win32" and _can_poll(wire.read_fd) and _can_poll(wire.write_fd)
    exchange = Exchange()
    stopping = asyncio.create_task(stop.wait())
    stopping.add_done_callback(lambda _: exchange.stop())
    try:
        async with (open_pipes if lean else open_sdk)(wire, exchange) as streams:
            yield streams
    finally:
        stopping.cancel()


def _can_poll(fd: int) -> bool:
    mode = os.fstat(fd).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
