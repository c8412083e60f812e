"""The command line `zapomni`. Only `serve` imports the MCP SDK."""

from zapomni_mcp.cli.entry_point import main

__all__ = ["main"]
