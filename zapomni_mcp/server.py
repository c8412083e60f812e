"""The MCP server: serves whatever the host accepted, over stdio, in both protocol eras."""

import asyncio
import logging
import sys
from collections.abc import Callable, Iterable
from importlib.metadata import version
from typing import Any

import mcp_types as types
from mcp import MCPError
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged

from zapomni_core.app import App
from zapomni_core.dispatch.call import STILL_WORKING, ReportProgress, new_call_id, request_id
from zapomni_core.errors import UnknownToolError
from zapomni_core.host.discovery import discover
from zapomni_core.settings import Settings
from zapomni_core.tool import Tool
from zapomni_mcp.convert import tool_on_the_wire
from zapomni_mcp.descriptors import Wire, claim
from zapomni_mcp.local import serve_locally
from zapomni_mcp.signals import stopping_on_signals
from zapomni_mcp.transports import open_stdio
from zapomni_mcp.transports.exchange import Reader, Writer

log = logging.getLogger("zapomni.server")

LIST_TTL_MS = 60_000
HEED_SECONDS = 5.0
INSTRUCTIONS = "Zapomni is long-term memory that its owner keeps. Its tools come from plugins; call them by name."
COMPLETE = {"resultType": "complete"}  # the modern era wants it said; the SDK drops it in the other


class _ProtocolServer(Server[Any]):
    """The SDK's server; handshake-era clients are told that the list of tools can change."""

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        changes = notification_options or NotificationOptions(tools_changed=True)
        return super().create_initialization_options(changes, experimental_capabilities, extensions)


class MCPServer:
    """Serves tools to MCP clients. Tools are registered before `run`, one by one or as the host accepted them."""

    def __init__(self, core_engine: Any, config: Settings | None = None, *, app: App | None = None) -> None:
        self.core_engine = core_engine
        self.app = app or App(config, core_engine)
        self.config = config or self.app.settings
        self.app.dispatcher.pass_through = (MCPError,)
        self.app.on_tools_changed = self._tools_changed
        self._running = False
        self._shutting_down = False
        self._bus = InMemorySubscriptionBus()
        self._session: ServerSession | None = None
        self._progressed: Callable[[], None] = lambda: None
        self._announcements: set[asyncio.Task[None]] = set()
        self.server = self._build()

    @property
    def tools(self) -> list[Tool]:
        """The registered tools."""
        return list(self._tools.values())

    @property
    def _tools(self) -> dict[str, Tool]:
        return {checked.name: checked.tool for checked in self.app.registry}

    def register_tool(self, tool: Tool) -> None:
        """Check a tool and offer it.

        TypeError or ValueError says what is wrong with it; RuntimeError that the server has started.
        """
        self._check_state()
        self.app.registry.register(tool)

    def register_all_tools(self, tools: Iterable[Tool] | None = None) -> None:
        """Register several tools; without an argument, whatever the installed plugins offer."""
        self._check_state()
        if tools is not None:
            for tool in tools:
                self.register_tool(tool)
        elif not self.app.report.plugins:
            self.app.load(discover())

    def _check_state(self) -> None:
        if self._shutting_down:
            raise RuntimeError("Server is shutting down, registration not allowed")
        if self._running:
            raise RuntimeError("Cannot register tools after server has started")

    async def handle_request(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer to one JSON-RPC request, without a transport; `jsonrpc` and `id` may be missing."""
        return await serve_locally(self.server, request)

    async def run(self, wire: Wire | None = None, *, lean: bool | None = None) -> None:
        """Serve standard input and output until input ends or a signal comes.

        What is in progress is finished: at the end of input for as long as it shows progress, at a signal for some seconds.
        """
        if self._running:
            raise RuntimeError("Server is already running")
        if self._shutting_down:
            raise RuntimeError("Server has ended, and what its plugins had open is closed: make another one")
        self._running = True
        async with stopping_on_signals() as stop:
            try:
                await self._serve_wire(wire or claim(), stop, lean)
            finally:
                self._shutting_down = True
                await self.app.stop()
                self._running = False

    async def _serve_wire(self, wire: Wire, stop: asyncio.Event, lean: bool | None) -> None:
        async with open_stdio(wire, stop, lean=lean) as (read, write):
            requirement = asyncio.create_task(self._stop_on_failed_requirement(stop))
            try:
                await self.app.start()
                await self._serve(read, write)
            finally:
                requirement.cancel()

    async def _serve(self, read: Reader, write: Writer) -> None:
        """Serve in a task of its own: where calls ignore that they are cancelled, the server ends without them."""
        self._progressed = read.progressed
        self.server.instructions = self._instructions  # tools may have been registered meanwhile
        options = self.server.create_initialization_options()
        serving = asyncio.create_task(self.server.run(read, write, options), name="serving")
        ended = asyncio.create_task(read.ended.wait())
        try:
            await asyncio.wait([serving, ended], return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            serving.cancel()
            raise
        finally:
            ended.cancel()
            await asyncio.wait([serving], timeout=HEED_SECONDS)
        if serving.done():
            return serving.result()
        log.error("calls_ignore_the_end", extra={"tools": self.app.dispatcher.running, "seconds": HEED_SECONDS})
        return None

    def _build(self) -> Server[Any]:
        hint = CacheHint(LIST_TTL_MS, "private")
        server = _ProtocolServer(
            "zapomni",
            version=version("zapomni"),
            title="Zapomni",
            instructions=self._instructions,
            cache_hints={"tools/list": hint, "server/discover": hint},
            get_tool_input_schema=self._input_schema,
            on_subscriptions_listen=ListenHandler(self._bus),
        )
        server.add_request_handler("tools/list", types.PaginatedRequestParams, self._list_tools)
        server.add_request_handler("tools/call", types.CallToolRequestParams, self._call_tool)
        server.add_notification_handler("notifications/initialized", types.NotificationParams, self._remember_session)
        server.middleware.clear()  # the SDK's tracing costs 50 µs a message, and nobody has asked for it
        return server

    @property
    def _instructions(self) -> str:
        """What the server says of itself, then what the tools that it serves say."""
        return " ".join([INSTRUCTIONS, *(tool.instructions for tool in self.app.registry if tool.instructions)])

    def _input_schema(self, name: str) -> dict[str, Any] | None:
        return self.app.registry.get(name).input_schema if name in self.app.registry else None

    async def _list_tools(self, _context: Any, _params: types.PaginatedRequestParams) -> dict[str, Any]:
        return COMPLETE | {"tools": [tool_on_the_wire(tool) for tool in self.app.registry]}

    async def _call_tool(
        self, context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> dict[str, Any]:
        client = context.session.client_params
        request_id.set(call_id := new_call_id())
        try:
            result = await self.app.dispatcher.call(
                params.name,
                params.arguments or {},
                call_id=call_id,
                client=client.client_info.name if client else "",
                on_progress=self._reporter(context.session),
            )
        except UnknownToolError as error:
            raise MCPError(types.INVALID_PARAMS, str(error), self._gap(error)) from None
        return COMPLETE | result

    def _reporter(self, session: ServerSession) -> ReportProgress:
        async def report(done: float, total: float | None, message: str | None) -> None:
            if message != STILL_WORKING:  # a beat is no sign of progress
                self._progressed()
            await session.report_progress(done, total, message)

        return report

    def _gap(self, error: UnknownToolError) -> dict[str, Any]:
        """What is missing, as a report that an agent can act on, or hand on."""
        from zapomni_core import ToolGapReport

        report = ToolGapReport(
            missing_tools=[error.name],
            attempted_task=f"call of {error.name}",
            existing_tools_checked=[tool.name for tool in self.app.registry],
        )
        return report.model_dump(mode="json") | {"nearest_tools": list(error.nearest)}

    async def _remember_session(self, context: ServerRequestContext[Any], _params: types.NotificationParams) -> None:
        """Handshake-era clients are told of changes over the session; modern ones over their subscription."""
        self._session = context.session

    def _tools_changed(self) -> None:
        task = asyncio.get_running_loop().create_task(self._announce_change())
        self._announcements.add(task)
        task.add_done_callback(self._announcements.discard)

    async def _announce_change(self) -> None:
        await self._bus.publish(ToolsListChanged())
        if self._session is not None:
            await self._session.send_tool_list_changed()

    async def _stop_on_failed_requirement(self, stop: asyncio.Event) -> None:
        await self.app.failed_requirement.wait()
        stop.set()


if __name__ == "__main__":
    from zapomni_mcp.cli import main

    main(["serve", *sys.argv[1:]])
