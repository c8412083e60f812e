"""Every tool of every plugin of ours while its FalkorDB is away, and when it is back."""

import json

import pytest

from tests.contracts import test_failures
from tests.servers import falkordb, free_port
from zapomni_core.testing import running

PASSWORD = "sesame-of-ada"
CONTRACTS = [test_failures.TestMemoryTools, test_failures.TestGraph, test_failures.TestSessions]
TEXT = "Tea with Ada at four."


async def record_of(app, tool, arguments):
    """The structured answer of a tool, which tells no password."""
    result = await app.call(tool, arguments)
    assert PASSWORD not in json.dumps(result), tool
    return result.get("structuredContent") or result["_meta"]["zapomni/error"]


@pytest.mark.parametrize("contract", CONTRACTS, ids=lambda contract: contract.name)
async def test_every_tool_says_that_the_server_is_away(contract):
    settings = {"store": f"falkordb://ada:{PASSWORD}@127.0.0.1:{free_port()}/zapomni"}
    async with running(contract.plugin, name=contract.name, settings=settings) as app:
        for tool, arguments in contract.calls.items():
            record = await record_of(app, tool, arguments)
            assert (record["status"], record["error_type"], record["recoverable"]) == ("error", "database", True), tool


@pytest.mark.stores
@pytest.mark.usefixtures("falkordb_server")  # whose programs this one runs
async def test_tools_fail_while_the_server_is_killed_and_work_when_it_is_back(tmp_path):
    with falkordb(tmp_path / "server") as server:
        contract = test_failures.TestMemoryTools
        async with running(contract.plugin, name="memory", settings={"store": server.url()}) as app:
            stored = await record_of(app, "add_memory", {"text": TEXT})
            server.kill()
            for tool, arguments in contract.calls.items():
                record = await record_of(app, tool, arguments)
                assert (record["status"], record["error_type"]) == ("error", "database"), tool
            server.start()
            again = await record_of(app, "add_memory", {"text": TEXT})
            assert again["memory_id"] == stored["memory_id"]
            found = await record_of(app, "search_memory", {"query": "tea with Ada"})
            assert [hit["text"] for hit in found["results"]] == [TEXT]
