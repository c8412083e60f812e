"""Demonstrates Zapomni: the real server over stdio, a real MCP client and a temporary store."""

from zapomni_mcp.demo.demonstration import demonstrate

__all__ = ["demonstrate"]
