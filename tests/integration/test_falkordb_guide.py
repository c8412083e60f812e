"""What the guide "Zapomni on FalkorDB" shows works on a real server."""

import os
import re
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.e2e.stdio_server import start_servers, text_of
from tests.unit.test_docs import ROOT, Reader, samples
from zapomni_core.testing.samples import extract
from zapomni_db.falkordb import FalkorDBClient, FalkorDBStore

GUIDE = ROOT / "docs" / "guides" / "falkordb.md"
SHOWN = "falkordb://default:secret@localhost:6379/zapomni"

pytestmark = pytest.mark.stores


def test_the_commands_of_the_guide_do_what_it_shows(falkordb_url, tmp_path):
    text = GUIDE.read_text(encoding="utf-8")
    assert SHOWN in text
    page = tmp_path / "page.md"
    graph = falkordb_url.rpartition("/")[2]
    page.write_text(
        text.replace(SHOWN, falkordb_url)
        .replace("/zapomni,", f"/{graph},")
        .replace("<!-- run on FalkorDB -->", "<!-- run -->")
    )
    bin_folder = Path(sys.executable).parent
    reader = Reader(tmp_path, bin_folder)
    reader._environment["ZAPOMNI_STORE"] = falkordb_url
    reader.check(page)


def test_the_program_of_the_guide_serves_an_mcp_client(falkordb_url, tmp_path):
    (program,) = [sample.code for sample in samples(GUIDE) if sample.language == "python"]
    there = urlsplit(falkordb_url)
    given = {
        'host="localhost"': f'host="{there.hostname}"',
        "port=6379": f"port={there.port}",
        'graph_name="zapomni"': f'graph_name="{there.path[1:]}"',
        'password="secret"': f'password="{there.password}"',
    }
    for shown, real in given.items():
        assert shown in program
        program = program.replace(shown, real)
    (tmp_path / "program.py").write_text(program)
    with start_servers(tmp_path) as start:
        server = start(sys.executable, tmp_path / "program.py", PATH=os.environ["PATH"])
        server.initialize()
        names = {tool["name"] for tool in server.ask("tools/list")["result"]["tools"]}
        assert names == {"add_memory", "search_memory", "get_stats"}
        assert "stored" in text_of(server.call("add_memory", {"text": "Anna is allergic to walnuts."}))
        assert "walnuts" in text_of(server.call("search_memory", {"query": "walnuts"}))
        assert "falkordb" in text_of(server.call("get_stats"))


async def test_the_query_of_the_guide_shows_current_facts(falkordb_url, falkordb_server):
    (query,) = re.findall(r"```cypher\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    store = FalkorDBStore(FalkorDBClient.from_url(falkordb_url))
    await extract(store, "Ada", "lives in", "Berlin", replaces=True)
    await extract(store, "Ada", "lives in", "Paris", replaces=True)
    await extract(store, "Ada", "mentioned_with", "Grace")
    await extract(store, "Ada", "knows", "Bob", workspace="another")
    await store.close()
    with falkordb_server.client() as client:
        _, rows, _ = client.execute_command("GRAPH.RO_QUERY", falkordb_url.rpartition("/")[2], query)
    assert rows == [["Ada", "lives in", "Paris"]]
