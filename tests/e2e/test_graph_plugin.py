"""The plugin graph as users have it: from its own wheel, over real stdio; it comes and goes, and it is killed."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import apsw
import pytest

from tests.e2e.venvs import ROOT, build_venv
from tests.e2e.wire import ZAPOMNI, environment, eventually, text_of
from zapomni_core.testing.llm_server import LLMServer, answer, refuse

pytestmark = pytest.mark.xdist_group("graph")

PROJECT = ROOT / "plugins" / "zapomni-plugin-graph"
GATED = Path(__file__).with_name("gated_extractor.py")
TOOLS = {"build_graph", "graph_status", "get_related", "search_memory_nodes"}
TEXTS = ["Ada Lovelace works at Acme.", "Acme uses PostgreSQL.", "Мария Иванова живёт в Москве."]
STEP = f'Ada Lovelace —works_at→ Acme [ID: "{TEXTS[0]}"]'


def run(*command, **options):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=100, check=False, **options)
    assert done.returncode == 0, done.stdout + done.stderr


def ask(server, tool, **arguments):
    """The structured content of a call that must succeed."""
    result = server.call(tool, arguments)
    assert not result.get("isError"), result
    return result["structuredContent"]


def tools(server):
    return {tool["name"] for tool in server.ask("tools/list")["result"]["tools"]}


@pytest.mark.venv
@pytest.mark.timeout(300)
def test_the_plugin_comes_and_goes_and_the_graph_stays(tmp_path, start):
    commands = build_venv(tmp_path / "house", [PROJECT])
    [wheel] = (tmp_path / "house" / "wheels").glob("zapomni_plugin_graph-*.whl")
    pip = (sys.executable, "-m", "pip", "--python", commands / "python")

    def serve():
        server = start(commands / "zapomni", "serve", ZAPOMNI_PLUGINS__GRAPH__WAIT_SECONDS="25")
        server.initialize()
        return server

    def zapomni(*arguments):
        run(commands / "zapomni", *arguments, cwd=tmp_path, env=environment(tmp_path / "home"))

    def assert_the_graph_is_there():
        server = serve()
        assert tools(server) >= TOOLS | {"get_job"}
        [step] = text_of(server.call("get_related", {"entity": "ada lovelace"})).splitlines()[1:]
        assert step == f"- {STEP.replace('ID', memory_ids[0])}"
        assert ask(server, "graph_status")["memories_unread"] == 0
        assert server.close() == 0

    def assert_the_rest_is_there():
        server = serve()
        assert not tools(server) & (TOOLS | {"get_job"})
        assert ask(server, "search_memory", query="Where does Ada work?")["count"] > 0
        assert ask(server, "add_memory", text=TEXTS[0])["outcome"] == "existing"
        assert server.close() == 0

    server = serve()
    memory_ids = [ask(server, "add_memory", text=text)["memory_id"] for text in TEXTS]
    built = ask(server, "build_graph")
    assert (built["status"], built["memories_read"]) == ("success", 3)
    assert "Мария Иванова" in [one["name"] for one in ask(server, "search_memory_nodes", query="Мария")["entities"]]
    assert server.close() == 0

    assert_the_graph_is_there()
    zapomni("plugins", "disable", "graph")
    assert_the_rest_is_there()
    zapomni("plugins", "enable", "graph")
    assert_the_graph_is_there()
    run(*pip, "uninstall", "--yes", "zapomni-plugin-graph")
    assert_the_rest_is_there()
    run(*pip, "install", "--no-index", "--no-deps", wheel)
    assert_the_graph_is_there()


@pytest.mark.timeout(300)
def test_a_server_that_is_killed_in_the_middle_of_the_work_goes_on_with_it(tmp_path, start):
    gate, journal = tmp_path / "gate", tmp_path / "journal"
    texts = [f"Name{number} was here." for number in range(12)]

    def serve(extractor=None):
        variables = {"ZAPOMNI_EMBEDDER": "hashing", "ZAPOMNI_PLUGINS__GRAPH__WAIT_SECONDS": "0"}
        variables |= {"GATED_BY": str(gate), "GATED_JOURNAL": str(journal)}
        variables |= {"ZAPOMNI_EXTRACTOR": extractor} if extractor else {}
        server = start(ZAPOMNI, "serve", "--plugin", GATED, **variables)
        server.initialize()
        return server

    def read(server):
        return ask(server, "graph_status")["memories_read"]

    server = serve()
    for text in texts:
        ask(server, "add_memory", text=text)
    assert server.close() == 0

    server = serve("gated")
    job_id = ask(server, "build_graph")["job_id"]
    eventually(lambda: read(server) == 5, "half of it", otherwise=server.log_text)
    kept = set(journal.read_text().splitlines()[:5])
    server.process.kill()
    server.process.wait(60)
    with_lease_ended(tmp_path / "home" / "data" / "zapomni" / "memory.db")

    gate.touch()
    server = serve("gated")
    eventually(lambda: read(server) == 12, "graph of all memories", otherwise=server.log_text)
    job = eventually(lambda: done(server, job_id), "end of the job", otherwise=server.log_text)
    assert job["result"]["read"] == 7
    assert ask(server, "graph_status")["entities"] == 12
    assert server.close() == 0
    times = Counter(journal.read_text().splitlines())
    assert set(times) == set(texts)
    assert {times[text] for text in kept} == {1}


def test_a_corrected_key_is_used_by_the_next_server_at_once(start):
    def check_key(request):
        is_right = request.headers.get("authorization") == "Bearer right"
        return (answer({"entities": [], "relations": []}) if is_right else refuse(401))(request)

    with LLMServer(check_key) as model:

        def serve(key):
            variables = {"PROVIDER": "openai", "MODEL": "any", "BASE_URL": f"{model.url}/v1", "API_KEY": key}
            llm = {f"ZAPOMNI_LLM__{name}": value for name, value in variables.items()}
            server = start(ZAPOMNI, "serve", ZAPOMNI_EXTRACTOR="llm", ZAPOMNI_ON_LLM_UNAVAILABLE="store_raw", **llm)
            server.initialize()
            return server

        server = serve("wrong")
        assert ask(server, "add_memory", text=TEXTS[0])["error_code"] == "INVALID_API_KEY"
        told = ask(server, "build_graph")
        assert (told["status"], told["error_code"]) == ("queued", "INVALID_API_KEY")
        assert told["suggestion"]
        assert told["retry_after_seconds"] > 0
        assert server.close() == 0

        server = serve("right")
        built = ask(server, "build_graph")
        assert (built["status"], built["memories_unread"]) == ("success", 0)
        assert server.close() == 0


def done(server, job_id):
    job = ask(server, "get_job", job_id=job_id)
    return job if job["state"] == "done" else None


def with_lease_ended(file):
    """As if the minute were over for which nobody else takes up the work of a server that says nothing."""
    connection = apsw.Connection(str(file))
    connection.set_busy_timeout(20_000)
    connection.execute("UPDATE job SET due_at = 0 WHERE state = 'running'")
    connection.close()
