"""The four tools of the graph."""

from zapomni_core.plugin import MemoryEngine, Tool
from zapomni_plugin_graph.tools.build_graph import BuildGraphTool
from zapomni_plugin_graph.tools.get_related import GetRelatedTool
from zapomni_plugin_graph.tools.graph_status import GraphStatusTool
from zapomni_plugin_graph.tools.search_memory_nodes import SearchMemoryNodesTool

__all__ = ["BuildGraphTool", "GetRelatedTool", "GraphStatusTool", "SearchMemoryNodesTool", "make_tools"]


def make_tools(engine: MemoryEngine, wait_seconds: float) -> list[Tool]:
    """All of them, over one engine."""
    return [
        BuildGraphTool(engine, wait_seconds),
        GraphStatusTool(engine),
        GetRelatedTool(engine),
        SearchMemoryNodesTool(engine),
    ]
