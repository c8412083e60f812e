"""The ways a message travels between client and server over standard input and output."""

from zapomni_mcp.transports.exchange import DRAIN_SECONDS
from zapomni_mcp.transports.stdio import open_stdio
from zapomni_mcp.transports.wire import MAX_LINE_BYTES

__all__ = ["DRAIN_SECONDS", "MAX_LINE_BYTES", "open_stdio"]
