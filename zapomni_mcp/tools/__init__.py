"""The memory tools, offered like anyone's: the bundled plugin `memory`."""

from zapomni_core.engine import MemoryEngine
from zapomni_core.hookspecs import hookimpl
from zapomni_core.tool import Tool
from zapomni_mcp.tools.add_memory import AddMemoryTool
from zapomni_mcp.tools.delete_memory import DeleteMemoryTool, RestoreMemoryTool
from zapomni_mcp.tools.get_memory import GetMemoryTool
from zapomni_mcp.tools.get_stats import GetStatsTool
from zapomni_mcp.tools.search_memory import SearchMemoryTool

__all__ = [
    "AddMemoryTool",
    "DeleteMemoryTool",
    "GetMemoryTool",
    "GetStatsTool",
    "RestoreMemoryTool",
    "SearchMemoryTool",
]

_TOOLS = (AddMemoryTool, SearchMemoryTool, GetStatsTool, GetMemoryTool, DeleteMemoryTool, RestoreMemoryTool)


@hookimpl
def zapomni_tools(engine: MemoryEngine) -> list[Tool]:
    tools: list[Tool] = [tool(core_engine=engine) for tool in _TOOLS]
    return tools
