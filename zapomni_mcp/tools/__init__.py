"""The memory tools, offered like anyone's: the bundled plugin `memory`."""

from zapomni_core.hookspecs import hookimpl
from zapomni_core.memory.engine import MemoryEngine
from zapomni_core.tool import Tool
from zapomni_mcp.tools.add_memory import AddMemoryTool
from zapomni_mcp.tools.delete_memory import DeleteMemoryTool, RestoreMemoryTool
from zapomni_mcp.tools.get_job import GetJobTool
from zapomni_mcp.tools.get_memory import GetMemoryTool
from zapomni_mcp.tools.get_stats import GetStatsTool
from zapomni_mcp.tools.list_memories import ListMemoriesTool
from zapomni_mcp.tools.reprocess_memories import ReprocessMemoriesTool
from zapomni_mcp.tools.search_memory import SearchMemoryTool

__all__ = [
    "AddMemoryTool",
    "DeleteMemoryTool",
    "GetJobTool",
    "GetMemoryTool",
    "GetStatsTool",
    "ListMemoriesTool",
    "ReprocessMemoriesTool",
    "RestoreMemoryTool",
    "SearchMemoryTool",
]

_TOOLS = (
    AddMemoryTool,
    SearchMemoryTool,
    GetStatsTool,
    GetMemoryTool,
    ListMemoriesTool,
    DeleteMemoryTool,
    RestoreMemoryTool,
)


@hookimpl
def zapomni_tools(engine: MemoryEngine) -> list[Tool]:
    # A tool that has no use costs every conversation its tokens.
    queueing = (GetJobTool,) if engine.can_queue else ()
    asking = (ReprocessMemoriesTool,) if engine.asks_llm else ()
    tools: list[Tool] = [tool(core_engine=engine) for tool in (*_TOOLS, *queueing, *asking)]
    return tools
