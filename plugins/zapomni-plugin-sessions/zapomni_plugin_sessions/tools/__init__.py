"""The tools of sessions, documents and time, and the one that reports what is missing."""

from zapomni_core.plugin import MemoryEngine, Tool
from zapomni_plugin_sessions.tools.documents import StoreDocumentTool, TemporalQueryTool
from zapomni_plugin_sessions.tools.health_check import HealthCheckTool
from zapomni_plugin_sessions.tools.report_tool_gap import ReportToolGapTool
from zapomni_plugin_sessions.tools.semantic_search import SemanticSearchTool
from zapomni_plugin_sessions.tools.sessions import CreateSessionTool, GetConversationHistoryTool, StoreMessageTool

_TOOLS = (
    CreateSessionTool,
    StoreMessageTool,
    GetConversationHistoryTool,
    StoreDocumentTool,
    SemanticSearchTool,
    TemporalQueryTool,
    HealthCheckTool,
    ReportToolGapTool,
)


def make_tools(engine: MemoryEngine, dimension: int) -> list[Tool]:
    """All of them, over one engine, for vectors of one dimension."""
    tools: list[Tool] = [tool(engine, dimension) for tool in _TOOLS]
    return tools
