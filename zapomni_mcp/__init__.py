"""Speaks MCP and the shell: the server, the bundled tools, the command line."""

import os
import sys

if sys.argv[:1] == ["-m"]:  # python -m zapomni_mcp.server
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # as the console script does
    if not sys.flags.safe_path:
        # It puts the working directory first on the path. Clients start servers inside projects that may be hostile:
        # nothing is imported from there.
        del sys.path[0]

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zapomni_mcp.server import MCPServer

__all__ = ["MCPServer"]


def __getattr__(name: str) -> Any:
    """Import the server when it is asked for: the MCP SDK takes a second."""
    if name == "MCPServer":
        from zapomni_mcp.server import MCPServer

        return MCPServer
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
