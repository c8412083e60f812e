"""The tools of the graph."""

from zapomni_core.plugin import MemoryEngine, Tool
from zapomni_plugin_graph.tools.add_facts import AddFactsTool
from zapomni_plugin_graph.tools.build_graph import BuildGraphTool
from zapomni_plugin_graph.tools.get_related import GetRelatedTool
from zapomni_plugin_graph.tools.graph_status import GraphStatusTool
from zapomni_plugin_graph.tools.search_memory_nodes import SearchMemoryNodesTool

__all__ = [
    "AddFactsTool",
    "BuildGraphTool",
    "GetRelatedTool",
    "GraphStatusTool",
    "SearchMemoryNodesTool",
    "make_tools",
]


def make_tools(engine: MemoryEngine, wait_seconds: float) -> list[Tool]:
    """All of them, over one engine."""
    return [
        AddFactsTool(engine),
        GetRelatedTool(engine),
        SearchMemoryNodesTool(engine),
        BuildGraphTool(engine, wait_seconds),
        GraphStatusTool(engine),
    ]
