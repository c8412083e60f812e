"""A workspace whose embedder is on the network: what is answered, stored and found whatever the provider does."""

import asyncio

import pytest

from tests.integration.mcp.memory_tools import MemoryTools, text_of
from zapomni_core.errors import EmbedderUnavailableError
from zapomni_core.memory.engine import MemoryEngine
from zapomni_core.memory.reindex import count_pending
from zapomni_core.settings import Settings
from zapomni_core.testing.llm_server import (
    LLMServer,
    cut,
    model_missing,
    refuse,
    reply,
    stall,
    vectors,
)
from zapomni_db.errors import EmbedderMismatchError
from zapomni_db.records import EmbedderIdentity

PROTOCOLS = ["ollama", "openai"]
FAULTS = {
    "refused key": (refuse(401), "API key"),
    "no model": (model_missing(), "has no model wise"),
    "no credit": (refuse(402), "quota"),
    "rate limit": (refuse(429, retry_after="70"), "70 seconds"),
    "server error": (refuse(503), "HTTP 503"),
    "bad request": (refuse(400), "HTTP 400"),
    "cut": (cut(), "Cannot reach"),
    "cut inside": (cut(inside=True), "Cannot reach"),
    "stalled": (stall(), "in time"),
    "rubbish": (reply(b"rubbish"), "a vector for each text"),
    "another dimension": (vectors(32), "vectors of 32 numbers"),
    "too few": (vectors(64, lambda rows: rows[1:]), "a vector for each text"),
    "too many": (vectors(64, lambda rows: [*rows, *rows]), "a vector for each text"),
    "not a number": (vectors(64, lambda rows: [[float("nan")] * 64 for _ in rows]), "a vector for each text"),
}


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr("zapomni_core.memory.add.CALL_SECONDS", 0.5)
    monkeypatch.setattr("zapomni_core.search.search.CALL_SECONDS", 0.5)


@pytest.fixture
def server():
    with LLMServer(vectors(64)) as server:
        yield server


@pytest.fixture
async def open_engine(tmp_path, server):
    """Opens the test's file, as processes that follow each other do."""
    opened = []

    def open_engine(protocol="ollama", *, chosen=True, **changes):
        base_url = server.url if protocol == "ollama" else f"{server.url}/v1"
        table = {"base_url": base_url, "model": "wise", "api_key": "sk-hunter2"} | changes
        settings = {
            "store": f"sqlite://{tmp_path}/memory.db",
            "embedder": protocol if chosen else None,
            "embedding": {} if protocol == "default" else {protocol: table},
        }
        opened.append(MemoryEngine(Settings.model_validate(settings)))
        return opened[-1]

    yield open_engine
    server.always(vectors(64))
    server.release()
    for engine in opened:
        await engine.close()


async def settled(engine):
    """Wait until every chunk has a vector."""
    async with asyncio.timeout(60):
        while await count_pending(engine.memories, engine.workspace):  # noqa: ASYNC110 - the state is in the store
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_memories_are_embedded_and_found_by_meaning(open_engine, protocol):
    engine = open_engine(protocol)
    added = await engine.add_memory("The piano is in the cellar")
    assert added.not_embedded == ""
    assert await engine.memories.embedder("default") == EmbedderIdentity(protocol, "wise", 64)
    found = await engine.search_memory("piano")
    assert (found.degraded, found.chunks_without_vector) == (None, 0)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("fault", FAULTS)
async def test_whatever_fails_memories_are_stored_and_found_by_words_and_embedded_later(
    open_engine, server, protocol, fault, request
):
    behaviour, reason = FAULTS[fault]
    if fault == "stalled":
        request.getfixturevalue("impatient")
    engine = open_engine(protocol)
    tools = MemoryTools(engine)
    await tools.call("add_memory", text="The piano is in the cellar")
    server.always(behaviour)
    told = await tools.call("add_memory", text="The cello is in the attic")
    assert told["structuredContent"]["status"] == "degraded"
    assert reason in told["structuredContent"]["message"]
    assert reason in text_of(told)
    found = (await tools.call("search_memory", query="cello"))["structuredContent"]
    assert (found["status"], found["results"][0]["text"]) == ("degraded", "The cello is in the attic")
    assert await engine.memories.check() == []
    assert await count_pending(engine.memories, "default") == 1
    server.always(vectors(64))
    server.release()
    await engine.close()
    again = open_engine(protocol)
    again.serve_jobs()
    assert (await again.search_memory("cello")).hits[0].text == "The cello is in the attic"
    await settled(again)
    assert (await again.search_memory("cello")).chunks_without_vector == 0


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_the_first_memory_of_a_workspace_does_not_wait_for_the_provider_either(open_engine, server, protocol):
    server.down()
    engine = open_engine(protocol)
    assert "Cannot reach" in (await engine.add_memory("The piano is in the cellar")).not_embedded
    assert await engine.memories.embedder("default") is None
    assert (await engine.search_memory("piano")).hits[0].text == "The piano is in the cellar"
    await engine.close()
    server.up()
    again = open_engine(protocol)
    again.serve_jobs()
    await again.search_memory("piano")
    await settled(again)
    assert await again.memories.embedder("default") == EmbedderIdentity(protocol, "wise", 64)
    assert (await again.search_memory("piano")).degraded is None


@pytest.mark.usefixtures("impatient")
async def test_while_the_provider_is_known_to_be_away_nothing_waits_for_it(open_engine, server):
    engine = open_engine()
    await engine.add_memory("The piano is in the cellar")
    server.always(stall())
    for number in range(2):
        await engine.add_memory(f"Fact {number}")
    asked = server.count
    for number in range(5):
        assert "paused" in (await engine.add_memory(f"Another fact {number}")).not_embedded
    assert server.count == asked


async def test_the_recorded_model_is_used_where_the_settings_leave_it_open(open_engine, server):
    engine = open_engine(model="older")
    await engine.add_memory("The piano is in the cellar")
    other = open_engine(chosen=False, model=None)
    assert (await other.search_memory("piano")).degraded is None
    assert {request.body["model"] for request in server.requests} == {"older"}


async def test_another_model_in_the_settings_is_refused_with_the_command(open_engine):
    await open_engine().add_memory("The piano is in the cellar")
    with pytest.raises(EmbedderMismatchError, match="zapomni reindex --embedder ollama"):
        await open_engine(model="wiser").add_memory("The cello is in the attic")


async def test_another_model_of_the_same_provider_makes_new_vectors(open_engine, server):
    await open_engine().add_memory("The piano is in the cellar")
    server.always(vectors(96))
    engine = open_engine(model="wiser")
    assert await engine.reindex("ollama") == 1
    assert await engine.memories.embedder("default") == EmbedderIdentity("ollama", "wiser", 96)
    assert (await engine.search_memory("piano")).degraded is None


async def test_a_model_that_changed_its_dimension_is_reindexed(open_engine, server):
    await open_engine().add_memory("The piano is in the cellar")
    server.always(vectors(96))
    engine = open_engine()
    assert "zapomni reindex --embedder ollama" in (await engine.search_memory("piano")).degraded
    again = open_engine()
    assert await again.reindex() == 1
    assert await again.memories.embedder("default") == EmbedderIdentity("ollama", "wise", 96)


async def test_a_memory_never_goes_to_an_endpoint_that_only_another_workspace_uses(open_engine, server):
    default = open_engine(chosen=False)
    await default.add_memory("The secret of the house")
    work = default.in_workspace("work")
    await work.add_memory("The plan of the office")
    await work.reindex("ollama")
    await default.add_memory("Another secret of the house")
    await default.search_memory("secret")
    await work.add_memory("Another plan of the office")
    await work.search_memory("plan")
    sent = {text for request in server.requests for text in request.texts}
    assert "The plan of the office" in sent
    assert "Another plan of the office" in sent
    assert [text for text in sent if "secret" in text] == []


async def test_the_weight_of_its_vectors_is_measured_once(open_engine, server):
    engine = open_engine()
    await engine.add_memory("The piano is in the cellar")
    await engine.search_memory("piano")
    recorded = await engine.memories.vectors.weight("default", EmbedderIdentity("ollama", "wise", 64))
    assert recorded is not None
    asked = server.count
    other = open_engine()
    await other.search_memory("cellar")
    assert server.count - asked <= 1


@pytest.mark.parametrize("given", ["host and model", "model alone"])
async def test_a_program_chooses_ollama_by_host_and_model(tmp_path, server, monkeypatch, given):
    host = {"ollama_host": server.url.removeprefix("http://")} if given == "host and model" else {}
    monkeypatch.setenv("OLLAMA_HOST", server.url)
    monkeypatch.setenv("ZAPOMNI_STORE", f"sqlite://{tmp_path}/memory.db")
    engine = MemoryEngine(embedding_model="wise", **host)
    await engine.add_memory("The piano is in the cellar")
    assert await engine.memories.embedder("default") == EmbedderIdentity("ollama", "wise", 64)
    await engine.close()


async def filled(open_engine, count):
    """An engine on a workspace with so many memories of the default embedder."""
    engine = open_engine(chosen=False)
    for number in range(count):
        await engine.add_memory(f"Fact {number}: the lamp is in room {number}")
    return engine


async def test_reindexing_stops_at_a_quota_and_goes_on_later(open_engine, server, monkeypatch):
    monkeypatch.setattr("zapomni_core.memory.reindex.BATCH", 4)
    engine = await filled(open_engine, 12)
    server.then(*[vectors(64)] * 3, refuse(402))  # the dimension, and two steps
    with pytest.raises(EmbedderUnavailableError, match="quota"):
        await engine.reindex("ollama")
    assert (await engine.memories.embedder("default")).name == "default"
    found = await engine.search_memory("lamp in room 7")
    assert (found.hits[0].text, found.degraded) == ("Fact 7: the lamp is in room 7", None)
    again = open_engine(chosen=False)
    assert await again.reindex("ollama") == 4
    assert await again.memories.embedder("default") == EmbedderIdentity("ollama", "wise", 64)


async def test_reindexing_waits_for_a_rate_limit(open_engine, server):
    engine = await filled(open_engine, 3)
    server.then(vectors(64), refuse(429, retry_after="6"))  # longer than a call waits
    assert await engine.reindex("ollama") == 3
    assert (await engine.search_memory("lamp")).degraded is None


async def test_reindexing_there_and_back_keeps_every_memory(open_engine):
    engine = await filled(open_engine, 5)
    before = (await engine.search_memory("lamp in room 3")).hits[0].memory_id
    for name in ("openai", "ollama", "default"):
        await open_engine(name).reindex()
        other = open_engine(name)
        assert (await other.memories.embedder("default")).name == name
        found = await other.search_memory("lamp in room 3")
        assert (found.hits[0].memory_id, found.degraded) == (before, None)
        assert await other.memories.check() == []


async def test_what_there_is_to_embed_is_told_before_it_starts(open_engine):
    engine = await filled(open_engine, 5)
    told = []

    async def tell(done, total):
        told.append(done)

    await engine.reindex("ollama", tell, told.append)
    assert (told[0].chunks, told[1]) == (5, 0)
    assert told[0].tokens > 5 * 8
    assert told[0].seconds > 0
