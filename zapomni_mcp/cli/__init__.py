"""The command line: `zapomni` and its commands. Nothing but `serve` imports the MCP SDK."""

from zapomni_mcp.cli.root import main

__all__ = ["main"]
