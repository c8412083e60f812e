"""A call with a workspace of its own sees only that workspace, for every bundled tool."""

import json
import socket
from contextlib import closing
from uuid import uuid4

import pytest

from zapomni_core.app import build_app
from zapomni_core.host.discovery import Found, discover
from zapomni_core.plugin import Provider, hookimpl
from zapomni_core.settings import Settings
from zapomni_core.testing.embedder import HashingEmbedder

SECRET = "Kingsbridge"
THEIRS = "theirs-and-only-theirs"
OURS = "ours"
VECTOR = [1.0] * 1536
WITHOUT_MEMORIES = {"hello"}
"""Bundled plugins whose tools neither read nor write memories."""


class Hashing:
    """A plugin with an embedder that loads no weights."""

    @hookimpl
    def zapomni_providers(self):
        return [Provider(kind="embedder", name="hashing", factory=lambda _context: HashingEmbedder())]


def bundled():
    """The plugins of this repository, which are all that is installed where its tests run."""
    return discover()


def closed_port():
    """A closed port of this machine."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(params=["sqlite", pytest.param("falkordb", marks=pytest.mark.stores)])
def store_url(request, tmp_path):
    """Every store that comes with Zapomni."""
    return f"sqlite://{tmp_path}/memory.db" if request.param == "sqlite" else request.getfixturevalue("falkordb_url")


@pytest.fixture
async def app(store_url):
    """Every bundled tool, those for a language model included, which is away."""
    settings = {
        "store": store_url,
        "extractor": "llm",
        "on_llm_unavailable": "store_raw",
        "embedder": "hashing",
        "llm": {
            "provider": "ollama",
            "model": "any",
            "base_url": f"http://127.0.0.1:{closed_port()}",
            "wait_seconds": 1,
        },
    }
    app = build_app(Settings.model_validate(settings), plugins=[*bundled(), Found("hashing", plugin=Hashing())])
    await app.start()
    await app.ready()
    yield app
    await app.stop()


async def call(app, workspace, tool, **arguments):
    return await app.dispatcher.call(tool, arguments, workspace=workspace)


async def data(app, workspace, tool, **arguments):
    """The structured content of a call that must succeed."""
    result = await call(app, workspace, tool, **arguments)
    assert not result["isError"], result
    return result["structuredContent"]


@pytest.fixture
async def theirs(app):
    """Ids of everything that another workspace can hold."""
    session = str(uuid4())
    text = f"Ada lives in {SECRET}."
    memory = await data(app, THEIRS, "add_memory", text=text, metadata={"tags": [SECRET], "conversation": session})
    deleted = await data(app, THEIRS, "add_memory", text=f"{SECRET} was founded by Ada.")
    await data(app, THEIRS, "delete_memory", memory_id=deleted["memory_id"])
    facts = [{"subject": "Ada", "relation": "lives in", "object": SECRET}]
    await data(app, THEIRS, "add_facts", memory_id=memory["memory_id"], facts=facts)
    await data(app, THEIRS, "create_session", user_id=SECRET)
    await data(app, THEIRS, "store_message", session_id=session, role="user", content=f"Where is {SECRET}?")
    await data(app, THEIRS, "store_document", content=f"A guide to {SECRET}", embedding=VECTOR)
    gap = {"missing_tools": [SECRET], "attempted_task": SECRET, "existing_tools_checked": []}
    await data(app, THEIRS, "report_tool_gap", **gap)
    queued = await data(app, THEIRS, "reprocess_memories", memory_ids=[memory["memory_id"]])
    [job] = [value for key, value in _leaves(queued) if key == "job_id"]
    return {"memory": memory["memory_id"], "deleted": deleted["memory_id"], "session": session, "job": job}


def _leaves(value, key=""):
    if isinstance(value, dict):
        return [leaf for name, one in value.items() for leaf in _leaves(one, name)]
    return [leaf for one in value for leaf in _leaves(one, key)] if isinstance(value, list) else [(key, value)]


def questions(theirs):
    """Calls that would show something of the other workspace, by tool, if any call could."""
    memory, everything = theirs["memory"], {"start_date": "2000-01-01", "end_date": "2100-01-01"}
    return {
        "add_memory": [{"text": "Ada moved.", "replaces": memory}],
        "search_memory": [{"query": "Where does Ada live?"}, {"query": "Ada", "filters": {"tags": [SECRET]}}],
        "get_stats": [{}],
        "get_memory": [{"memory_id": memory}, {"memory_id": theirs["deleted"]}],
        "list_memories": [{}, {"filters": {"tags": [SECRET]}}],
        "delete_memory": [{"memory_id": memory}],
        "restore_memory": [{"memory_id": theirs["deleted"]}],
        "get_job": [{"job_id": theirs["job"]}],
        "reprocess_memories": [{}, {"memory_ids": [memory]}, {"list_only": True}],
        "add_facts": [{"memory_id": memory, "facts": [{"subject": "Ada", "relation": "is", "object": "here"}]}],
        "get_related": [{"entity": "Ada"}, {"memory_id": memory}],
        "search_memory_nodes": [{"query": "Ada"}],
        "build_graph": [{"memory_ids": [memory]}],
        "graph_status": [{}],
        "create_session": [{"user_id": "bob"}],
        "store_message": [{"session_id": str(uuid4()), "role": "user", "content": "Hello"}],
        "get_conversation_history": [{"session_id": theirs["session"]}],
        "store_document": [{"content": "A guide"}],
        "semantic_search": [{"query_embedding": VECTOR}, {"query": "guide"}],
        "temporal_query": [everything],
        "health_check": [{}],
        "report_tool_gap": [{"missing_tools": ["x"], "attempted_task": "y", "existing_tools_checked": []}],
    }


async def test_no_bundled_tool_sees_another_workspace(app, theirs):
    asked = questions(theirs)
    assert {tool.name for tool in app.registry if tool.plugin not in WITHOUT_MEMORIES} == set(asked)
    for tool, calls in asked.items():
        for arguments in calls:
            answer = json.dumps(await call(app, OURS, tool, **arguments))
            sent = json.dumps(arguments)
            assert '"validation"' not in answer, answer  # the call must be one that could show something
            assert THEIRS not in answer, tool
            assert SECRET not in answer or SECRET in sent, tool
            leaked = [one for one in theirs.values() if one in answer and one not in sent]
            assert leaked == [], tool


async def test_the_calls_find_something_in_their_own_workspace(app, theirs):
    for tool, calls in questions(theirs).items():
        if tool in ("search_memory", "get_memory", "list_memories", "get_related", "semantic_search", "temporal_query"):
            answer = json.dumps(await call(app, THEIRS, tool, **calls[0]))
            assert SECRET in answer, tool


async def test_calls_of_other_workspaces_change_nothing(app, theirs):
    before = await data(app, THEIRS, "get_memory", memory_id=theirs["memory"])
    for tool, calls in questions(theirs).items():
        for arguments in calls:
            await call(app, OURS, tool, **arguments)
    after = await data(app, THEIRS, "get_memory", memory_id=theirs["memory"])
    assert before | {"processing_time_ms": 0} == after | {"processing_time_ms": 0}


async def test_a_call_without_a_workspace_uses_that_of_the_settings(app, theirs):
    await data(app, "", "add_memory", text="Nobody lives here.")
    assert (await app.engine.get_stats()).graph_name == "default"
    [hit] = (await data(app, "default", "search_memory", query="Who lives here?"))["results"]
    assert hit["text"] == "Nobody lives here."


async def test_a_handle_for_a_workspace_keeps_it_within_a_call(app):
    from zapomni_core.dispatch.call import Call, CallContext, call_context

    bound = app.engine.in_workspace("bound")
    token = call_context.set(CallContext(call=Call(id="1", name="any", arguments={}), workspace="of-the-call"))
    try:
        assert (app.engine.workspace, bound.workspace) == ("of-the-call", "bound")
    finally:
        call_context.reset(token)
    assert app.engine.workspace == "default"
