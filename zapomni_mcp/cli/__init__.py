"""The command line: `zapomni` and its commands. Nothing but `serve` imports the MCP SDK."""

from zapomni_mcp.cli.starting import main

__all__ = ["main"]
