"""What jobs, the graph, sessions and documents hold on FalkorDB after its server was killed and started again."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from tests.servers import falkordb
from zapomni_core.testing.samples import WORKSPACE, add, delete, put, restore, said, sample_memory, triples
from zapomni_core.testing.store_contracts.graph import HOSTILE_NAMES
from zapomni_db.falkordb import FalkorDBClient, FalkorDBStore
from zapomni_db.filters import NO_FILTER
from zapomni_db.records import JobCounts, NewFact, NewJob

SESSION = "5f6c3a52-0000-4000-8000-000000000001"
VECTOR = [0.0, 1.0, 1e-40]
LONG_AGO, LATER = datetime(1900, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)

pytestmark = [pytest.mark.stores, pytest.mark.usefixtures("falkordb_server")]  # whose programs these tests run


@pytest.fixture
def server(tmp_path):
    with falkordb(tmp_path / "server") as server:
        yield server


@pytest.fixture
async def store(server):
    store = FalkorDBStore(FalkorDBClient.from_url(server.url()))
    yield store
    await store.close()


async def fill(store):
    """Keep something of every kind; the id of a memory with facts."""
    facts = [
        NewFact(subject="Ada", relation="lives in", object="Berlin", since=LONG_AGO, until=LATER),
        NewFact(
            subject="Ada", relation="lives in", object="Paris", since=datetime(1970, 1, 1, tzinfo=UTC), replaces=True
        ),
    ]
    memory_id = await add(store, "Ada lives in Berlin and Paris")
    await store.graph.state_facts(WORKSPACE, memory_id, facts)
    for name in HOSTILE_NAMES.values():
        await put(store, sample_memory(name, extraction=said(name, name, "is like", "Ada")))
    await put(store, sample_memory("nothing", jobs=(NewJob(kind="read", payload={"zero": 0}),)))
    await store.jobs.enqueue(WORKSPACE, [NewJob(kind="read", key="k", not_before=LATER), NewJob(kind="write")])
    await store.jobs.claim(WORKSPACE, ["write"], "me", 3600)
    for text in ("hello", "", '"\\ \0 -_@{}'):
        await store.sessions.add_message(WORKSPACE, SESSION, "user", sample_memory(text, key=""))
    for vector in (VECTOR, [0.0, 0.0, 0.0], None):
        await store.sessions.add_document(WORKSPACE, sample_memory("document", key=""), vector)
    return memory_id


async def told(store):
    """All that can be seen."""
    graph, sessions = store.graph, store.sessions
    everything = await graph.related(WORKSPACE, ["Ada"], depth=2, ended=True, limit=100)
    near = await sessions.nearest_documents(WORKSPACE, VECTOR, 9, NO_FILTER)
    documents = await sessions.documents_between(WORKSPACE, LONG_AGO, LATER, NO_FILTER)
    return (
        await graph.facts(WORKSPACE),
        await graph.counts(WORKSPACE),
        everything,
        [await graph.find(WORKSPACE, name, 5) for name in HOSTILE_NAMES.values()],
        await graph.unread(WORKSPACE, "another", 9),
        await store.jobs.list(WORKSPACE),
        await store.jobs.counts(WORKSPACE),
        await store.jobs.next_due(WORKSPACE, ["read", "write"]),
        await sessions.list_sessions(WORKSPACE),
        await sessions.history(WORKSPACE, SESSION, 9),
        [(one.id, cosine) for one, cosine in near],
        [replace(one, vector=None if one.vector is None else tuple(one.vector)) for one in documents],
    )


async def test_everything_is_there_after_the_server_was_killed(server, store):
    await fill(store)
    before = await told(store)
    server.kill()
    server.start()
    assert await told(store) == before


async def test_everything_goes_on_after_the_server_was_killed(server, store):
    memory_id = await fill(store)
    server.kill()
    server.start()
    await delete(store, memory_id)
    assert "Ada lives_in Paris" not in await triples(store, "Ada")
    await restore(store, memory_id)
    assert await triples(store, "Ada", types=["lives_in"]) == ["Ada lives_in Paris"]
    first = await store.jobs.claim(WORKSPACE, ["read"], "me", 3600)
    assert first.payload["zero"] == 0
    assert await store.jobs.finish(first.id, "me", {})
    assert await store.jobs.claim(WORKSPACE, ["read", "write"], "another", 3600) is None
    assert await store.jobs.counts(WORKSPACE) == JobCounts(queued=1, running=1, done=1)
    (waiting,) = await store.jobs.enqueue(WORKSPACE, [NewJob(kind="read", key="k")])
    assert waiting.not_before == LATER
    await store.sessions.add_message(WORKSPACE, SESSION, "user", sample_memory("more", key=""))
    assert [one.text for one in await store.sessions.history(WORKSPACE, SESSION, 2)] == ['"\\ \0 -_@{}', "more"]
