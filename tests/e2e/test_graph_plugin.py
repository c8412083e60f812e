"""The plugin graph, installed from its wheel, over stdio: disabled, removed, reinstalled, and killed while it works."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import apsw
import pytest

from tests.e2e.stdio_server import HASHING, ZAPOMNI, environment, eventually, text_of
from tests.e2e.venvs import ROOT, build_venv
from zapomni_core.testing.llm_server import LLMServer, answer, refuse

pytestmark = pytest.mark.xdist_group("graph")

PROJECT = ROOT / "plugins" / "zapomni-plugin-graph"
GATED = Path(__file__).with_name("gated_extractor.py")
TOOLS = {"add_facts", "build_graph", "graph_status", "get_related", "search_memory_nodes"}
TEXTS = ["Ada Lovelace works at Acme.", "Acme uses PostgreSQL.", "Мария Иванова живёт в Москве."]
FACT = {"subject": "Ada Lovelace", "relation": "works_at", "object": "Acme"}
LINE = f'- Ada Lovelace works_at Acme [ID: "{TEXTS[0]}"]'


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
def test_the_graph_survives_disabling_and_reinstalling_the_plugin(tmp_path, start):
    commands = build_venv(tmp_path / "venv", [PROJECT])
    [wheel] = (tmp_path / "venv" / "wheels").glob("zapomni_plugin_graph-*.whl")
    pip = (sys.executable, "-m", "pip", "--python", commands / "python")

    def serve():
        return serve_with(start, commands / "zapomni", ZAPOMNI_PLUGINS__GRAPH__WAIT_SECONDS="25")

    def zapomni(*arguments):
        run(commands / "zapomni", *arguments, cwd=tmp_path, env=environment(tmp_path / "home"))

    def assert_the_graph_is_there():
        server = serve()
        assert tools(server) >= TOOLS | {"get_job"}
        lines = text_of(server.call("get_related", {"entity": "ada lovelace"})).splitlines()
        assert lines[1] == LINE.replace("ID", memory_ids[0])
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
    assert ask(server, "add_facts", memory_id=memory_ids[0], facts=[FACT])["new"] == 1
    built = ask(server, "build_graph")
    assert (built["status"], built["memories_read"]) == ("success", 3)
    assert "Мария Иванова" in [one["name"] for one in ask(server, "search_memory_nodes", query="Мария")["entities"]]
    assert server.close() == 0

    zapomni("plugins", "disable", "graph")
    assert_the_rest_is_there()
    zapomni("plugins", "enable", "graph")
    assert_the_graph_is_there()
    run(*pip, "uninstall", "--yes", "zapomni-plugin-graph")
    assert_the_rest_is_there()
    run(*pip, "install", "--no-index", "--no-deps", wheel)
    assert_the_graph_is_there()


@pytest.mark.timeout(300)
def test_a_build_continues_after_its_server_was_killed(tmp_path, start):
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


def test_the_next_server_uses_a_corrected_key_at_once(start):
    def check_key(request):
        is_right = request.headers.get("authorization") == "Bearer right"
        return (answer({"entities": [], "relations": []}) if is_right else refuse(401))(request)

    with LLMServer(check_key) as model:

        def serve(key):
            variables = {"PROVIDER": "openai", "MODEL": "any", "BASE_URL": f"{model.url}/v1", "API_KEY": key}
            llm = {f"ZAPOMNI_LLM__{name}": value for name, value in variables.items()}
            return serve_with(start, ZAPOMNI_EXTRACTOR="llm", ZAPOMNI_ON_LLM_UNAVAILABLE="store_raw", **llm)

        server = serve("wrong")
        assert ask(server, "add_memory", text=TEXTS[0])["error_code"] == "INVALID_API_KEY"
        record = ask(server, "build_graph")
        assert (record["status"], record["error_code"]) == ("queued", "INVALID_API_KEY")
        assert record["suggestion"]
        assert record["retry_after_seconds"] > 0
        assert server.close() == 0

        server = serve("right")
        built = ask(server, "build_graph")
        assert (built["status"], built["memories_unread"]) == ("success", 0)
        assert server.close() == 0


def test_facts_are_stated_corrected_ended_forgotten_and_restored(server):
    first = ask(server, "add_memory", text="Igor owns the parser since 2023. Igor uses Vim.")["memory_id"]
    second = ask(server, "add_memory", text="Since May 2024 Lena owns the parser.")["memory_id"]
    third = ask(server, "add_memory", text="Igor gave up Vim in June 2024.")["memory_id"]
    owned = {"subject": "parser", "relation": "owned_by"}
    uses = {"subject": "Igor", "relation": "uses", "object": "Vim"}
    lena = owned | {"object": "Lena", "since": "2024-05", "replaces": True}

    def state(memory_id, *facts):
        record = ask(server, "add_facts", memory_id=memory_id, facts=list(facts))
        return record["new"], record["known"], record["ended"]

    def owners(**arguments):
        return objects(server, "parser", types=["owned_by"], **arguments)

    def editors(**arguments):
        return objects(server, "Igor", types=["uses"], **arguments)

    assert state(first, owned | {"object": "Igor", "since": "2023"}, uses) == (2, 0, 0)
    assert state(first, owned | {"object": "Igor", "since": "2023"}, uses) == (0, 2, 0)
    assert state(second, lena) == (1, 0, 1)
    assert state(second, lena) == (0, 1, 0)
    assert state(third, uses | {"until": "2024-06"})[2] == 1
    assert (owners(), owners(at="2024-01"), owners(at="2024-05-01")) == (["Lena"], ["Igor"], ["Lena"])
    assert sorted(owners(ended=True)) == ["Igor", "Lena"]
    assert (editors(), editors(at="2024-05-31"), editors(at="2024-06-01")) == ([], ["Vim"], [])

    ask(server, "delete_memory", memory_id=second)
    ask(server, "delete_memory", memory_id=third)
    assert (owners(), owners(at="2024-06"), editors()) == (["Igor"], ["Igor"], ["Vim"])
    ask(server, "restore_memory", memory_id=second)
    ask(server, "restore_memory", memory_id=third)
    assert (owners(), owners(at="2024-01"), editors()) == (["Lena"], ["Igor"], [])


def test_facts_move_to_the_memory_that_replaces_theirs(server):
    old = ask(server, "add_memory", text="Ada works at Acme. Ada likes tea.")["memory_id"]
    facts = [
        {"subject": "Ada", "relation": "works_at", "object": "Acme"},
        {"subject": "Ada", "relation": "likes", "object": "tea"},
    ]
    ask(server, "add_facts", memory_id=old, facts=facts)
    answer = server.call("add_memory", {"text": "Ada works at Acme in Berlin.", "replaces": old})
    assert "1 fact moved to this version" in text_of(answer)
    [fact] = ask(server, "get_related", entity="Ada")["facts"]
    assert fact["object"] == "Acme"
    assert fact["evidence"] == [
        {"memory_id": answer["structuredContent"]["memory_id"], "quote": "Ada works at Acme in Berlin."}
    ]


def test_acknowledged_facts_survive_a_kill(start):
    server = serve_with(start)
    memory_id = ask(server, "add_memory", text="One parser and its many owners.")["memory_id"]
    for number in range(2):
        fact = {"subject": "parser", "relation": "owned_by", "object": f"Owner {number}", "replaces": True}
        assert ask(server, "add_facts", memory_id=memory_id, facts=[fact])["new"] == 1
        batch = [{"subject": f"batch {number}", "relation": "has", "object": f"part {part}"} for part in range(50)]
        server.request_call("add_facts", {"memory_id": memory_id, "facts": batch})
        server.process.kill()
        server.process.wait(60)
        server = serve_with(start)
        assert objects(server, "parser") == [f"Owner {number}"]
        assert ask(server, "add_facts", memory_id=memory_id, facts=[fact])["known"] == 1
        record = ask(server, "add_facts", memory_id=memory_id, facts=batch)
        assert (record["new"], record["known"]) in {(50, 0), (0, 50)}, (
            "of a call that was not answered, all or nothing is kept"
        )
    assert sorted(objects(server, "parser", ended=True)) == [f"Owner {number}" for number in range(2)]
    assert server.close() == 0


def test_facts_that_clients_state_at_the_same_time_are_all_kept(start):
    servers = [serve_with(start), serve_with(start)]
    memory_id = ask(servers[0], "add_memory", text="Many things are in one list.")["memory_id"]
    common = [{"subject": "list", "relation": "has", "object": f"thing {number}"} for number in range(20)]

    def calls(which):
        for number in range(20):
            own = {"subject": f"client {which}", "relation": "wrote", "object": f"thing {number}"}
            yield {"memory_id": memory_id, "facts": [common[number], own]}

    asked = [[server.request_call("add_facts", one) for one in calls(which)] for which, server in enumerate(servers)]
    answers = [server.answer(key)["result"] for server, keys in zip(servers, asked, strict=True) for key in keys]
    record = [one["structuredContent"] for one in answers]
    assert [one for one in answers if one.get("isError")] == []
    assert (sum(one["new"] for one in record), sum(one["known"] for one in record)) == (60, 20)
    for server in servers:
        assert ask(server, "graph_status")["facts"] == 60
        assert len(objects(server, "list", limit=50)) == 20
        assert server.close() == 0


@pytest.fixture(scope="module")
def server(start_shared):
    return serve_with(start_shared)


def serve_with(start, command=ZAPOMNI, **variables):
    """A server with the hashing embedder."""
    server = start(command, "serve", "--plugin", HASHING, ZAPOMNI_EMBEDDER="hashing", **variables)
    server.initialize()
    return server


def objects(server, entity, **arguments):
    """The objects of the facts about an entity."""
    return [fact["object"] for fact in ask(server, "get_related", entity=entity, **arguments)["facts"]]


def done(server, job_id):
    job = ask(server, "get_job", job_id=job_id)
    return job if job["state"] == "done" else None


def with_lease_ended(file):
    """End the lease of the killed server, which otherwise lasts a minute."""
    connection = apsw.Connection(str(file))
    connection.set_busy_timeout(20_000)
    connection.execute("UPDATE job SET due_at = 0 WHERE state = 'running'")
    connection.close()
