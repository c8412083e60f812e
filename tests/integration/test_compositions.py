"""A server that a program builds behaves like `zapomni serve`."""

import asyncio

import pytest
from mcp.server.lowlevel import Server

from zapomni_core import MemoryEngine
from zapomni_core.settings import Settings
from zapomni_core.testing.embedder import HashingEmbedder
from zapomni_core.testing.llm_server import LLMServer, answer, refuse
from zapomni_mcp import MCPServer
from zapomni_mcp.tools import AddMemoryTool, GetJobTool, SearchMemoryTool

TEXT = "Ada Lovelace works at Babbage Engines."
READ = {"entities": [{"name": "Ada Lovelace", "type": "person", "quote": "Ada Lovelace"}], "relations": []}


@pytest.fixture
def model():
    with LLMServer(answer(READ)) as server:
        yield server


@pytest.fixture
async def serve(tmp_path, model):
    """Build a server around an engine; it is stopped after the test."""
    servers = []

    def build(*tools, **settings):
        llm = {"provider": "openai", "model": "any", "base_url": f"{model.url}/v1", "api_key": "sk-x"}
        given = {"store": f"sqlite://{tmp_path}/memory.db", "extractor": "llm", "llm": llm, **settings}
        engine = MemoryEngine(Settings.model_validate(given), embedder=HashingEmbedder())
        server = MCPServer(core_engine=engine)
        for tool in tools:
            server.register_tool(tool(core_engine=engine))
        if not tools:
            server.register_all_tools()
        servers.append(server)
        return server

    yield build
    for server in servers:
        await server.app.stop()


async def call(server, name, **arguments):
    request = {"method": "tools/call", "params": {"name": name, "arguments": arguments}}
    return (await server.handle_request(request))["result"]


async def until(condition):
    async with asyncio.timeout(60):
        while not (found := await condition()):  # noqa: ASYNC110 - what is waited for is in a file
            await asyncio.sleep(0.02)
    return found


COMPOSITIONS = pytest.mark.parametrize("tools", [(AddMemoryTool, GetJobTool), ()], ids=["tools", "plugins"])


@COMPOSITIONS
@pytest.mark.parametrize(("mode", "status"), [("store_raw", "degraded"), ("queue_retry", "queued")])
async def test_a_memory_stored_without_the_model_is_not_reported_as_failed(serve, model, tools, mode, status):
    model.always(refuse(401))
    server = serve(*tools, on_llm_unavailable=mode)
    result = await call(server, "add_memory", text=TEXT)
    record = result["structuredContent"]
    assert (result["isError"], record["status"], record["error_code"]) == (False, status, "INVALID_API_KEY")
    assert (await server.core_engine.get_memory(record["memory_id"])).text == TEXT


@COMPOSITIONS
async def test_a_queued_extraction_is_run(serve, tools):
    server = serve(*tools, on_llm_unavailable="queue_retry")
    record = (await call(server, "add_memory", text=TEXT, wait_for_completion=False))["structuredContent"]
    assert record["status"] == "queued"

    async def is_done():
        told = await call(server, "get_job", job_id=record["job_id"])
        return told["structuredContent"]["state"] == "done"

    await until(is_done)


@COMPOSITIONS
async def test_the_first_call_starts_the_jobs_of_an_earlier_server(serve, model, tools):
    model.always(refuse(401))
    earlier = serve(*tools, on_llm_unavailable="queue_retry")
    record = (await call(earlier, "add_memory", text=TEXT))["structuredContent"]
    await earlier.app.stop()
    model.always(answer(READ))
    server = serve(*tools)

    async def is_done():
        told = await call(server, "get_job", job_id=record["job_id"])
        return told["structuredContent"]["state"] == "done"

    await until(is_done)


async def test_jobs_of_installed_plugins_run_on_a_given_engine(serve):
    server = serve(extractor=None)
    await call(server, "add_memory", text=TEXT)
    built = (await call(server, "build_graph"))["structuredContent"]
    assert (built["status"], built["memories_read"]) == ("success", 1)


async def test_a_server_has_the_attributes_of_its_specification(serve):
    server = serve(AddMemoryTool, SearchMemoryTool, workspace="home")
    assert isinstance(server.server, Server)
    assert [tool.name for tool in server.tools] == ["add_memory", "search_memory"]
    assert server.config.workspace == "home"
    assert MCPServer(server.core_engine, Settings(workspace="other")).config.workspace == "other"
