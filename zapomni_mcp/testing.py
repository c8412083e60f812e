"""A real MCP client on an app in this process, for tests of plugins as clients see them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from zapomni_core.testing import RunningApp


@asynccontextmanager
async def connected(app: RunningApp, *, mode: str = "auto") -> AsyncIterator[Any]:
    """An `mcp.Client` that is connected to the app; `mode` is "legacy" for a client of the handshake era."""
    from mcp import Client

    from zapomni_mcp.server import MCPServer

    server = MCPServer(app.app.engine, app.app.settings, app=app.app)
    async with Client(server.server, mode=mode) as client:
        yield client
