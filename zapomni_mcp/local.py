"""Serves one JSON-RPC request in this process, without a transport."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio
import mcp_types as types
from mcp import MCPError
from mcp.server.connection import Connection
from mcp.server.lowlevel import Server
from mcp.server.runner import serve_one
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.transport_context import TransportContext
from mcp_types.version import LATEST_HANDSHAKE_VERSION
from pydantic import ValidationError


@dataclass
class _NoTransport:
    """The context of a request that came over no transport: nothing can be sent back but the answer."""

    request_id: str | int | None
    transport: TransportContext = field(default_factory=lambda: TransportContext(kind="local", can_send_request=False))
    message_metadata: None = None
    can_send_request: bool = False
    cancel_requested: anyio.Event = field(default_factory=anyio.Event)

    async def send_raw_request(self, method: str, _params: Any, _opts: Any = None) -> dict[str, Any]:
        raise NoBackChannelError(method)

    async def notify(self, _method: str, _params: Any, _opts: Any = None) -> None:
        """Nobody listens."""

    async def progress(self, _progress: float, _total: float | None = None, _message: str | None = None) -> None:
        """Nobody listens."""


async def serve_locally(server: Server[Any], request: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to one request, as a handshake-era client would get it after its handshake."""
    answer: dict[str, Any] = {"jsonrpc": "2.0", "id": request.get("id")}
    method = request.get("method")
    params = request.get("params")
    if not isinstance(method, str) or not isinstance(params, Mapping | None):
        return answer | {"error": {"code": types.INVALID_REQUEST, "message": "Invalid request"}}
    connection = Connection.from_envelope(LATEST_HANDSHAKE_VERSION, None, None)
    context = _NoTransport(answer["id"])
    try:
        result = await serve_one(server, context, method, params, connection=connection, lifespan_state={})
    except MCPError as error:
        return answer | {"error": error.error.model_dump(mode="json", by_alias=True, exclude_none=True)}
    except ValidationError:
        return answer | {"error": {"code": types.INVALID_PARAMS, "message": "Invalid request parameters"}}
    return answer | {"result": result}
