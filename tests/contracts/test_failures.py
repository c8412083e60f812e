"""Every tool of every bundled plugin reports the failure of a part."""

from contextlib import suppress
from typing import ClassVar

import pytest
import zapomni_plugin_graph
import zapomni_plugin_hello
import zapomni_plugin_sessions

from zapomni_core.plugin import ProcessingError, ToolResult, hookimpl
from zapomni_core.plugin.extractors import LLMUnavailableError
from zapomni_core.testing import FailureContract
from zapomni_mcp import tools

NOWHERE = "00000000-0000-0000-0000-000000000000"


class TestMemoryTools(FailureContract):
    plugin = tools
    name = "memory"
    calls: ClassVar = {
        "add_memory": {"text": "Tea with Ada at four."},
        "search_memory": {"query": "tea with Ada"},
        "list_memories": {},
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
    extracting = ("add_memory", "reprocess_memories")
    settings: ClassVar = {
        "extractor": "llm",
        "llm": {"provider": "ollama", "model": "any", "base_url": "http://127.0.0.1:9"},
    }

    async def fill(self, app):
        """Store memories that are not extracted."""
        await app.app.engine.add_memory("Ada keeps bees.", wait_for_completion=False)


class TestHello(FailureContract):
    plugin = zapomni_plugin_hello
    name = "hello"
    calls: ClassVar = {"hello": {"name": "Ada"}}
    independent = ("hello",)


class TestGraph(FailureContract):
    plugin = zapomni_plugin_graph
    name = "graph"
    calls: ClassVar = {
        "add_facts": {"memory_id": "nowhere", "facts": [{"subject": "Ada", "relation": "works_at", "object": "Acme"}]},
        "build_graph": {},
        "graph_status": {},
        "get_related": {"entity": "Ada"},
        "search_memory_nodes": {"query": "Ada"},
    }
    extracting = ("build_graph",)


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


class HidingTool:
    """A tool that hides every failure but the store's in an empty success."""

    name = "find_things"
    description = "Find things in memory, or say so."
    input_schema: ClassVar = {
        "type": "object",
        "properties": {"query": {"type": "string", "description": "What to find."}},
        "required": ["query"],
        "additionalProperties": False,
    }

    def __init__(self, engine, ask):
        self.engine = engine
        self.ask = ask

    async def execute(self, arguments):
        await self.engine.memories.stats(self.engine.workspace)
        with suppress(LLMUnavailableError, ProcessingError):
            await self.ask(self.engine, arguments["query"])
        return ToolResult.text("Found 0 things.", structured={"status": "success", "results": []})


class HidingPlugin:
    def __init__(self, ask):
        self.ask = ask

    @hookimpl
    def zapomni_tools(self, engine):
        return [HidingTool(engine, self.ask)]


def contract_of(plugin):
    """The contract for a plugin, as a class that pytest does not collect."""
    return type(
        "Contract",
        (FailureContract,),
        {"plugin": plugin, "name": "hiding", "calls": {"find_things": {"query": "tea with Ada"}}},
    )()


async def test_a_tool_that_hides_a_broken_embedder_breaks_the_contract(tmp_path):
    contract = contract_of(HidingPlugin(lambda engine, query: engine.embed([query])))
    with pytest.raises(AssertionError, match="find_things hides in a success that the embedder failed"):
        await contract.test_the_embedder_is_broken(tmp_path)
    await contract.test_the_language_model_is_away("fail", "down", tmp_path)


@pytest.mark.parametrize("fault", ["down", "refuses", "stalls"])
async def test_a_tool_that_hides_an_unavailable_language_model_breaks_the_contract(tmp_path, fault):
    contract = contract_of(HidingPlugin(lambda engine, query: engine.extract(query)))
    with pytest.raises(AssertionError, match="find_things hides in a success that the language model failed"):
        await contract.test_the_language_model_is_away("fail", fault, tmp_path)


async def test_a_tool_that_repeats_arguments_in_an_error_breaks_the_contract(tmp_path):
    class Blurting(HidingTool):
        async def execute(self, arguments):
            record = {
                "status": "error",
                "message": f"No {arguments['query']}.",
                "error_type": "internal",
                "error_code": "X",
            }
            return ToolResult.error("Error", structured={**record, "suggestion": "None.", "recoverable": False})

    class Plugin:
        @hookimpl
        def zapomni_tools(self, engine):
            return [Blurting(engine, None)]

    with pytest.raises(AssertionError, match="repeats in an error what it was given"):
        await contract_of(Plugin()).test_the_embedder_is_broken(tmp_path)
