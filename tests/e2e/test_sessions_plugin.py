"""The plugin sessions with a real client, over real stdio."""

import json
import subprocess

import pytest
from mcp import MCPError

from tests.e2e.mcp_client import connect
from tests.e2e.stdio_server import SECONDS, ZAPOMNI, environment

pytestmark = pytest.mark.xdist_group("sessions")

TOOLS = {
    "create_session",
    "get_conversation_history",
    "health_check",
    "report_tool_gap",
    "semantic_search",
    "store_document",
    "store_message",
    "temporal_query",
}
DIMENSION = 1536


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sessions")
    env = environment(folder / "home")
    with connect([ZAPOMNI, "serve"], "auto", env=env, cwd=folder, log=folder / "server.log") as client:
        client.folder = folder
        yield client


def ask(client, tool, **arguments):
    """The structured content of a call that must succeed."""
    result = client.call(tool, arguments)
    assert not result.is_error, result.content
    return result.structured_content


def axis(number):
    """A vector along one axis."""
    return [float(one == number) for one in range(DIMENSION)]


def zapomni(client, *arguments):
    """The output of a command on the same store."""
    done = subprocess.run(
        [ZAPOMNI, *arguments],
        env=environment(client.folder / "home"),
        cwd=client.folder,
        capture_output=True,
        text=True,
        timeout=SECONDS * 2,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_tools_are_listed_with_their_owner(client):
    listed = client.tools()
    assert {name for name, tool in listed.items() if tool.meta == {"zapomni/plugin": "sessions"}} == TOOLS


def test_a_conversation_is_kept_and_searched_by_the_memory_tools_too(client):
    session = ask(client, "create_session", user_id="ada")["session_id"]
    ask(client, "store_message", session_id=session, role="user", content="Where do kingfishers nest?")
    ask(client, "store_message", session_id=session, role="assistant", content="In burrows by the river.")
    history = ask(client, "get_conversation_history", session_id=session)
    assert [one["role"] for one in history["messages"]] == ["user", "assistant"]
    found = ask(client, "search_memory", query="kingfishers nest", filters={"conversation": session})
    assert [one["text"] for one in found["results"]] == ["Where do kingfishers nest?", "In burrows by the river."]


def test_documents_are_found_by_vector_by_text_and_by_time(client):
    for number, text in enumerate(["Herons eat fish.", "Rugs are woven."]):
        ask(client, "store_document", content=text, metadata={"part": "birds"}, embedding=axis(number))
    by_vector = ask(client, "semantic_search", query_embedding=axis(1), top_k=1)
    by_text = ask(client, "semantic_search", query="What do herons eat?", top_k=1)
    by_time = ask(client, "temporal_query", start_date="2026-01-01", end_date="9999-12-31", limit=2)
    assert [one["content"] for one in by_vector["documents"]] == ["Rugs are woven."]
    assert [one["content"] for one in by_text["documents"]] == ["Herons eat fish."]
    assert [one["content"] for one in by_time["documents"]] == ["Rugs are woven.", "Herons eat fish."]


def test_a_vector_of_a_wrong_dimension_is_refused_by_field_and_rule(client):
    result = client.call("semantic_search", {"query_embedding": [1.0, 0.0]})
    assert result.is_error
    assert result.structured_content["error_type"] == "validation"
    assert "query_embedding" in result.content[0].text
    assert str(DIMENSION) in result.content[0].text


def test_the_store_is_healthy(client):
    assert ask(client, "health_check")["health"]["status"] == "healthy"


def test_an_agent_reports_an_unknown_tool_as_a_gap_and_the_user_lists_it(client):
    with pytest.raises(MCPError) as unknown:
        client.call("store_massage")
    report = dict(unknown.value.data)
    assert report["nearest_tools"][0] == "store_message"
    assert set(report["existing_tools_checked"]) > TOOLS
    ask(client, "report_tool_gap", **report)
    (gap,) = json.loads(zapomni(client, "gaps", "--json"))["gaps"]
    assert (gap["missing_tools"], gap["attempted_task"]) == (["store_massage"], "call of store_massage")
