"""Shows Zapomni at work: the real server over stdio, a real MCP client, and a store that is gone afterwards."""

from zapomni_mcp.demo.demonstration import demonstrate

__all__ = ["demonstrate"]
