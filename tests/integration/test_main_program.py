"""The main program of the guide, with memories in a FalkorDB, as a client starts it."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import pytest

from zapomni_core import MemoryEngine
from zapomni_core.testing.embedder import HashingEmbedder
from zapomni_core.testing.llm_server import LLMServer, vectors
from zapomni_db import FalkorDBClient
from zapomni_db.reference import ReferenceStore

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "use-zapomni-in-a-program.md"


@pytest.fixture
def main_program(tmp_path):
    """The program, as the guide has it."""
    found = re.search(r"<!-- file: program/main\.py -->\n```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert found
    file = tmp_path / "main.py"
    file.write_text(found[1])
    return file


@pytest.fixture
def graph(falkordb_server):
    """The variables that name a graph of the test's own."""
    name = f"test-{uuid4().hex}"
    yield {
        "FALKORDB_HOST": falkordb_server.host,
        "FALKORDB_PORT": str(falkordb_server.port),
        "FALKORDB_PASSWORD": falkordb_server.password,
        "GRAPH_NAME": name,
    }
    with falkordb_server.client() as client:
        client.delete(name)


def answers(program, variables, *calls):
    """What the tools answer, called one after the other."""
    with subprocess.Popen(
        [sys.executable, str(program)], env=os.environ | variables, text=True, stdin=-1, stdout=-1, stderr=-1
    ) as process:
        opening = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        ask(process, "initialize", opening)
        process.stdin.write('{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
        found = [ask(process, "tools/call", {"name": name, "arguments": given}) for name, given in calls]
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
    return found


def ask(process, method, params):
    process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}) + "\n")
    process.stdin.flush()
    return json.loads(process.stdout.readline())["result"]


def test_what_one_process_stores_the_next_one_finds(main_program, graph):
    (added,) = answers(main_program, graph, ("add_memory", {"text": "The ferry leaves at nine."}))
    assert added["structuredContent"]["status"] == "success"
    found, stats = answers(
        main_program, graph, ("search_memory", {"query": "When does the ferry leave?"}), ("get_stats", {})
    )
    (hit,) = found["structuredContent"]["results"]
    assert hit["text"] == "The ferry leaves at nine."
    assert stats["structuredContent"]["statistics"]["total_memories"] == 1


def test_a_host_and_a_model_of_ollama_make_the_vectors(main_program, graph):
    with LLMServer(vectors(64)) as ollama:
        variables = graph | {"OLLAMA_HOST": ollama.url, "EMBEDDING_MODEL": "wise", "NO_PROXY": "127.0.0.1"}
        added, stats = answers(
            main_program, variables, ("add_memory", {"text": "The ferry leaves at nine."}), ("get_stats", {})
        )
    assert added["structuredContent"]["status"] == "success"
    assert "ollama" in stats["content"][0]["text"]


async def test_an_engine_on_a_client_keeps_memories_in_its_graph(falkordb_server, graph):
    def client():
        return FalkorDBClient(
            host=falkordb_server.host,
            port=falkordb_server.port,
            graph_name=graph["GRAPH_NAME"],
            password=falkordb_server.password,
        )

    engine = MemoryEngine(db=client(), embedder=HashingEmbedder())
    await engine.add_memory("The ferry leaves at nine.")
    await engine.close()
    again = MemoryEngine(db=client(), embedder=HashingEmbedder())
    assert [one.text for one in (await again.list_memories()).memories] == ["The ferry leaves at nine."]
    assert (await again.get_stats()).store == "falkordb"
    await again.close()


async def test_a_server_that_does_not_answer_is_named_on_the_first_call_and_nothing_is_stored_elsewhere(tmp_path):
    from zapomni_core import DatabaseError

    engine = MemoryEngine(db=FalkorDBClient(host="127.0.0.1", port=1), embedder=HashingEmbedder())
    with pytest.raises(DatabaseError, match=r"127\.0\.0\.1"):
        await engine.add_memory("The ferry leaves at nine.")
    await engine.close()


async def test_a_store_may_be_passed_as_db():
    store = ReferenceStore()
    engine = MemoryEngine(db=store, embedder=HashingEmbedder())
    await engine.add_memory("The ferry leaves at nine.")
    assert len((await store.list_memories("default")).memories) == 1
    with pytest.raises(TypeError, match="db must be"):
        MemoryEngine(db="localhost")
