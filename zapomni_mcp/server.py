"""The MCP server: serves the tools that the host accepted, over stdio, in both protocol eras."""

import sys

if __name__ == "__main__":  # python -m zapomni_mcp.server
    if not sys.flags.safe_path:
        # Clients start servers inside projects that may be hostile: nothing is imported from the working directory.
        del sys.path[0]
    from zapomni_mcp.cli import main

    main(["serve", *sys.argv[1:]])

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

import anyio
import mcp_types as types
from mcp import MCPError
from mcp.server.caching import CacheHint
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.runner import serve_one
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.transport_context import TransportContext
from mcp_types.version import LATEST_HANDSHAKE_VERSION
from pydantic import ValidationError

from zapomni_core.app import App
from zapomni_core.dispatch.call import STILL_WORKING, ReportProgress, new_call_id, request_id
from zapomni_core.errors import UnknownToolError
from zapomni_core.host.discovery import discover
from zapomni_core.settings import Settings
from zapomni_core.tool import Tool
from zapomni_mcp.catalogue import instructions, tool_entry
from zapomni_mcp.descriptors import Descriptors, claim_stdio
from zapomni_mcp.process import stop_on_signals
from zapomni_mcp.stdio import MessageReader, MessageWriter, open_stdio

log = logging.getLogger("zapomni.server")

LIST_TTL_MS = 60_000
CANCEL_SECONDS = 5.0
"""The time limit for cancelled calls to end."""

COMPLETE = {"resultType": "complete"}  # required from protocol 2026-07-28 on; the SDK drops it for older clients


class _ProtocolServer(Server[Any]):
    """The SDK's server, which tells handshake-era clients that the list of tools can change."""

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        changes = notification_options or NotificationOptions(tools_changed=True)
        return super().create_initialization_options(changes, experimental_capabilities, extensions)


class MCPServer:
    """Serves tools to MCP clients. Register tools before `run`, one by one or all that the installed plugins offer."""

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

        Raises TypeError or ValueError for an invalid tool, RuntimeError once the server has started.
        """
        self._check_state()
        self.app.registry.register(tool)

    def register_all_tools(self, tools: Iterable[Tool] | None = None) -> None:
        """Register several tools; without an argument, those of the installed plugins."""
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
        """Return the response to one JSON-RPC request, without a transport; `jsonrpc` and `id` may be missing."""
        response: dict[str, Any] = {"jsonrpc": "2.0", "id": request.get("id")}
        method, params = request.get("method"), request.get("params")
        if not isinstance(method, str) or not isinstance(params, Mapping | None):
            return response | {"error": {"code": types.INVALID_REQUEST, "message": "Invalid request"}}
        connection = Connection.from_envelope(LATEST_HANDSHAKE_VERSION, None, None)
        context = _InProcessContext(response["id"])
        try:
            result = await serve_one(self.server, context, method, params, connection=connection, lifespan_state={})
        except MCPError as error:
            return response | {"error": error.error.model_dump(mode="json", by_alias=True, exclude_none=True)}
        except ValidationError:
            return response | {"error": {"code": types.INVALID_PARAMS, "message": "Invalid request parameters"}}
        return response | {"result": result}

    async def run(self, descriptors: Descriptors | None = None) -> None:
        """Serve a client on standard input and output until the input ends or a signal comes.

        Calls in progress are finished: at the end of input as long as they report progress, after a signal within
        some seconds.
        """
        if self._running:
            raise RuntimeError("Server is already running")
        if self._shutting_down:
            raise RuntimeError("Server has ended and its plugins are closed; create another one")
        self._running = True
        async with stop_on_signals() as stop:
            try:
                await self._serve_stdio(descriptors or claim_stdio(), stop)
            finally:
                self._shutting_down = True
                await self.app.stop()
                self._running = False

    async def _serve_stdio(self, descriptors: Descriptors, stop: asyncio.Event) -> None:
        async with open_stdio(descriptors, stop) as (read, write):
            requirement = asyncio.create_task(self._stop_on_failed_requirement(stop))
            try:
                await self.app.start()
                await self._serve(read, write)
            finally:
                requirement.cancel()

    async def _serve(self, read: MessageReader, write: MessageWriter) -> None:
        """Serve in a task of its own, so that the server can end although calls ignore their cancellation."""
        self._progressed = read.progressed
        self.server.instructions = instructions(self.app.registry)  # tools may have been registered meanwhile
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
            await asyncio.wait([serving], timeout=CANCEL_SECONDS)
        if serving.done():
            return serving.result()
        log.error("calls_ignore_cancellation", extra={"tools": self.app.dispatcher.running, "seconds": CANCEL_SECONDS})
        return None

    def _build(self) -> Server[Any]:
        hint = CacheHint(LIST_TTL_MS, "private")
        server = _ProtocolServer(
            "zapomni",
            version=version("zapomni"),
            title="Zapomni",
            instructions=instructions(self.app.registry),
            cache_hints={"tools/list": hint, "server/discover": hint},
            get_tool_input_schema=self._input_schema,
            on_subscriptions_listen=ListenHandler(self._bus),
        )
        server.add_request_handler("tools/list", types.PaginatedRequestParams, self._list_tools)
        server.add_request_handler("tools/call", types.CallToolRequestParams, self._call_tool)
        server.add_notification_handler("notifications/initialized", types.NotificationParams, self._remember_session)
        server.middleware.clear()  # the SDK's tracing costs 50 µs a message, and zapomni_core.telemetry traces calls
        return server

    def _input_schema(self, name: str) -> dict[str, Any] | None:
        return self.app.registry.get(name).input_schema if name in self.app.registry else None

    async def _list_tools(self, _context: Any, _params: types.PaginatedRequestParams) -> dict[str, Any]:
        return COMPLETE | {"tools": [tool_entry(tool) for tool in self.app.registry]}

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
                on_progress=self._progress_reporter(context.session),
            )
        except UnknownToolError as error:
            raise MCPError(types.INVALID_PARAMS, str(error), self._gap_report(error)) from None
        return COMPLETE | result

    def _progress_reporter(self, session: ServerSession) -> ReportProgress:
        async def report(done: float, total: float | None, message: str | None) -> None:
            if message != STILL_WORKING:  # sent for every running call, so it says nothing of progress
                self._progressed()
            await session.report_progress(done, total, message)

        return report

    def _gap_report(self, error: UnknownToolError) -> dict[str, Any]:
        """Describe the missing tool, so that an agent can act on it or report it."""
        from zapomni_core import ToolGapReport

        report = ToolGapReport(
            missing_tools=[error.name],
            attempted_task=f"call of {error.name}",
            existing_tools_checked=[tool.name for tool in self.app.registry],
        )
        return report.model_dump(mode="json") | {"nearest_tools": list(error.nearest)}

    async def _remember_session(self, context: ServerRequestContext[Any], _params: types.NotificationParams) -> None:
        """Keep the session: handshake-era clients hear of changes there, newer ones on their subscription."""
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


@dataclass
class _InProcessContext:
    """The SDK's context for a request that came over no transport: nothing can be sent back but the response."""

    request_id: str | int | None
    transport: TransportContext = field(default_factory=lambda: TransportContext(kind="local", can_send_request=False))
    message_metadata: None = None
    can_send_request: bool = False
    cancel_requested: anyio.Event = field(default_factory=anyio.Event)

    async def send_raw_request(self, method: str, _params: Any, _opts: Any = None) -> dict[str, Any]:
        raise NoBackChannelError(method)

    async def notify(self, _method: str, _params: Any, _opts: Any = None) -> None:
        """Drop the notification."""

    async def progress(self, _progress: float, _total: float | None = None, _message: str | None = None) -> None:
        """Drop the progress."""
