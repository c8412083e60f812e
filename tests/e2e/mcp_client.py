"""Connects the SDK's client to a server over stdio."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import CallToolResult, Implementation, ListToolsResult, Tool, ToolListChangedNotification

from tests.e2e.stdio_server import SECONDS, eventually

ERAS = ("legacy", "auto")
NAME = "test client"
"""The name that the client gives in its handshake."""


@dataclass
class ConnectedClient:
    """A connected client for tests that are not async."""

    portal: BlockingPortal
    sdk: Client
    log: Path
    changes: list[object] = field(default_factory=list)

    def list(self) -> ListToolsResult:
        """List the tools, without the client's cache."""
        return self.portal.call(lambda: self.sdk.list_tools(cache_mode="bypass"))

    def tools(self) -> dict[str, Tool]:
        return {tool.name: tool for tool in self.list().tools}

    def call(self, tool: str, arguments: Mapping[str, Any] | None = None, **options: Any) -> CallToolResult:
        return self.start_call(tool, arguments, **options).result(SECONDS)

    def start_call(
        self, tool: str, arguments: Mapping[str, Any] | None = None, **options: Any
    ) -> Future[CallToolResult]:
        """Start a call without waiting for its result."""
        return self.portal.start_task_soon(lambda: self.sdk.call_tool(tool, dict(arguments or {}), **options))

    def wait_for_list_change(self) -> bool:
        """Wait until the server has announced a change of its list of tools."""
        return bool(eventually(lambda: self.changes, "announcement", otherwise=self.log.read_text))


@contextmanager
def connect(
    command: Sequence[object], mode: str, *, env: Mapping[str, str], cwd: Path, log: Path
) -> Iterator[ConnectedClient]:
    """Start a server, connect to it in one of the two protocol eras, and subscribe to changes of its tools."""
    changes: list[object] = []

    async def hear(message: object) -> None:
        if isinstance(message, ToolListChangedNotification):
            changes.append(message)

    program, *args = map(str, command)
    parameters = StdioServerParameters(command=program, args=args, env=dict(env), cwd=cwd)
    with log.open("w") as errlog, start_blocking_portal() as portal:
        client_info = Implementation(name=NAME, version="1")
        sdk = Client(stdio_client(parameters, errlog), mode=mode, message_handler=hear, client_info=client_info)
        with portal.wrap_async_context_manager(sdk):
            client = ConnectedClient(portal, sdk, log, changes)
            if mode == "legacy":
                yield client
            else:
                with portal.wrap_async_context_manager(sdk.listen(tools_list_changed=True)) as subscription:
                    hearing = portal.start_task_soon(_follow, subscription, changes)
                    yield client
                    hearing.cancel()


async def _follow(subscription: Any, changes: list[object]) -> None:
    async for event in subscription:
        changes.append(event)  # noqa: PERF401 (they come one by one, for as long as the server runs)
