"""Speaks MCP and the shell: the server, the bundled tools, the command line."""

# Imports nothing: `python -m zapomni_mcp.server` runs this while the working directory is still first on the path.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from zapomni_mcp.server import MCPServer

__all__ = ["MCPServer"]


def __getattr__(name: str) -> object:
    """Import the server when it is asked for: the MCP SDK takes a second."""
    if name == "MCPServer":
        from zapomni_mcp.server import MCPServer

        return MCPServer
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
