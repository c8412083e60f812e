"""The plugin sessions with a real client, over real stdio."""

import json
import subprocess

import pytest
from mcp import MCPError

from tests.e2e.visiting import visiting
from tests.e2e.wire import SECONDS, ZAPOMNI, environment

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
def visitor(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sessions")
    env = environment(folder / "home")
    with visiting([ZAPOMNI, "serve"], "auto", env=env, cwd=folder, log=folder / "server.log") as visitor:
        visitor.folder = folder
        yield visitor


def ask(visitor, tool, **arguments):
    """The structured content of a call that must succeed."""
    result = visitor.call(tool, arguments)
    assert not result.is_error, result.content
    return result.structured_content


def axis(number):
    """A vector along one axis."""
    return [float(one == number) for one in range(DIMENSION)]


def zapomni(visitor, *arguments):
    """What a command prints, run by another process over the same store."""
    done = subprocess.run(
        [ZAPOMNI, *arguments],
        env=environment(visitor.folder / "home"),
        cwd=visitor.folder,
        capture_output=True,
        text=True,
        timeout=SECONDS * 2,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_tools_are_listed_with_their_owner(visitor):
    listed = visitor.tools()
    assert {name for name, tool in listed.items() if tool.meta == {"zapomni/plugin": "sessions"}} == TOOLS


def test_a_conversation_is_kept_and_searched_by_the_memory_tools_too(visitor):
    session = ask(visitor, "create_session", user_id="ada")["session_id"]
    ask(visitor, "store_message", session_id=session, role="user", content="Where do kingfishers nest?")
    ask(visitor, "store_message", session_id=session, role="assistant", content="In burrows by the river.")
    told = ask(visitor, "get_conversation_history", session_id=session)
    assert [one["role"] for one in told["messages"]] == ["user", "assistant"]
    found = ask(visitor, "search_memory", query="kingfishers nest", filters={"conversation": session})
    assert [one["text"] for one in found["results"]] == ["Where do kingfishers nest?", "In burrows by the river."]


def test_documents_are_found_by_vector_by_text_and_by_time(visitor):
    for number, text in enumerate(["Herons eat fish.", "Rugs are woven."]):
        ask(visitor, "store_document", content=text, metadata={"part": "birds"}, embedding=axis(number))
    by_vector = ask(visitor, "semantic_search", query_embedding=axis(1), top_k=1)
    by_text = ask(visitor, "semantic_search", query="What do herons eat?", top_k=1)
    by_time = ask(visitor, "temporal_query", start_date="2026-01-01", end_date="9999-12-31", limit=2)
    assert [one["content"] for one in by_vector["documents"]] == ["Rugs are woven."]
    assert [one["content"] for one in by_text["documents"]] == ["Herons eat fish."]
    assert [one["content"] for one in by_time["documents"]] == ["Rugs are woven.", "Herons eat fish."]


def test_a_vector_of_a_wrong_dimension_is_refused_by_field_and_rule(visitor):
    result = visitor.call("semantic_search", {"query_embedding": [1.0, 0.0]})
    assert result.is_error
    assert result.structured_content["error_type"] == "validation"
    assert result.content[0].text.splitlines()[0] == f"Error: query_embedding must have {DIMENSION} dimensions"


def test_the_store_is_healthy(visitor):
    assert ask(visitor, "health_check")["health"]["status"] == "healthy"


def test_an_agent_reports_an_unknown_tool_as_a_gap_and_the_user_lists_it(visitor):
    with pytest.raises(MCPError) as unknown:
        visitor.call("store_massage")
    report = dict(unknown.value.data)
    assert report["nearest_tools"][0] == "store_message"
    assert set(report["existing_tools_checked"]) > TOOLS
    ask(visitor, "report_tool_gap", **report)
    (gap,) = json.loads(zapomni(visitor, "gaps", "--json"))["gaps"]
    assert (gap["missing_tools"], gap["attempted_task"]) == (["store_massage"], "call of store_massage")
