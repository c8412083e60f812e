"""A real MCP client over real stdio, connected for as long as a module's tests need it."""

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

from tests.e2e.wire import SECONDS, eventually

ERAS = ("legacy", "auto")
NAME = "visitor"
"""What the client calls itself."""


@dataclass
class Visitor:
    """The client, to be used by tests that are not async themselves."""

    portal: BlockingPortal
    client: Client
    log: Path
    changes: list[object] = field(default_factory=list)

    def list(self) -> ListToolsResult:
        """The list of tools as the server gives it now."""
        return self.portal.call(lambda: self.client.list_tools(cache_mode="bypass"))

    def tools(self) -> dict[str, Tool]:
        return {tool.name: tool for tool in self.list().tools}

    def call(self, tool: str, arguments: Mapping[str, Any] | None = None, **options: Any) -> CallToolResult:
        return self.start_call(tool, arguments, **options).result(SECONDS)

    def start_call(
        self, tool: str, arguments: Mapping[str, Any] | None = None, **options: Any
    ) -> Future[CallToolResult]:
        """A call that goes on while other things happen."""
        return self.portal.start_task_soon(lambda: self.client.call_tool(tool, dict(arguments or {}), **options))

    def told_of_a_change(self) -> bool:
        """Wait until the server has announced that its list of tools is another one."""
        return bool(eventually(lambda: self.changes, "announcement", otherwise=self.log.read_text))


@contextmanager
def visiting(
    command: Sequence[object], mode: str, *, env: Mapping[str, str], cwd: Path, log: Path
) -> Iterator[Visitor]:
    """Start a server, connect to it in one of the two eras, and listen to its announcements."""
    changes: list[object] = []

    async def hear(message: object) -> None:
        if isinstance(message, ToolListChangedNotification):
            changes.append(message)

    program, *args = map(str, command)
    parameters = StdioServerParameters(command=program, args=args, env=dict(env), cwd=cwd)
    with log.open("w") as errlog, start_blocking_portal() as portal:
        client_info = Implementation(name=NAME, version="1")
        client = Client(stdio_client(parameters, errlog), mode=mode, message_handler=hear, client_info=client_info)
        with portal.wrap_async_context_manager(client):
            visitor = Visitor(portal, client, log, changes)
            if mode == "legacy":
                yield visitor
            else:
                with portal.wrap_async_context_manager(client.listen(tools_list_changed=True)) as subscription:
                    hearing = portal.start_task_soon(_follow, subscription, changes)
                    yield visitor
                    hearing.cancel()


async def _follow(subscription: Any, changes: list[object]) -> None:
    async for event in subscription:
        changes.append(event)  # noqa: PERF401 (they come one by one, for as long as the server runs)
