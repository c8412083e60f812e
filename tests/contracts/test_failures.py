"""Every tool of every plugin of ours, when what it needs is away."""

from typing import ClassVar

import zapomni_plugin_graph
import zapomni_plugin_hello
import zapomni_plugin_sessions

from zapomni_core.testing import FailureContract
from zapomni_mcp import tools

NOWHERE = "00000000-0000-0000-0000-000000000000"


class TestMemoryTools(FailureContract):
    plugin = tools
    name = "memory"
    calls: ClassVar = {
        "add_memory": {"text": "Tea with Ada at four."},
        "search_memory": {"query": "tea with Ada"},
        "get_stats": {},
        "get_memory": {"memory_id": NOWHERE},
        "delete_memory": {"memory_id": NOWHERE},
        "restore_memory": {"memory_id": NOWHERE},
    }


class TestMemoryToolsWithALanguageModel(FailureContract):
    plugin = tools
    name = "memory"
    calls: ClassVar = {
        **TestMemoryTools.calls,
        "add_memory": {"text": "Tea with Ada at four.", "wait_for_completion": False},
        "get_job": {"job_id": NOWHERE},
        "reprocess_memories": {},
    }
    settings: ClassVar = {
        "extractor": "llm",
        "llm": {"provider": "ollama", "model": "any", "base_url": "http://127.0.0.1:9"},
    }


class TestHello(FailureContract):
    plugin = zapomni_plugin_hello
    name = "hello"
    calls: ClassVar = {"hello": {"name": "Ada"}}
    independent = ("hello",)


class TestGraph(FailureContract):
    plugin = zapomni_plugin_graph
    name = "graph"
    calls: ClassVar = {
        "build_graph": {},
        "graph_status": {},
        "get_related": {"entity": "Ada"},
        "search_memory_nodes": {"query": "Ada"},
    }


class TestSessions(FailureContract):
    plugin = zapomni_plugin_sessions
    name = "sessions"
    calls: ClassVar = {
        "create_session": {"user_id": "ada"},
        "store_message": {"session_id": NOWHERE, "role": "user", "content": "Tea at four?"},
        "get_conversation_history": {"session_id": NOWHERE},
        "store_document": {"content": "Tea is served at four."},
        "semantic_search": {"query": "tea"},
        "temporal_query": {"start_date": "2026-01-01", "end_date": "2026-12-31"},
        "health_check": {},
        "report_tool_gap": {
            "missing_tools": ["make_tea"],
            "attempted_task": "Tea with Ada.",
            "existing_tools_checked": ["add_memory"],
        },
    }
