"""Memories that a killed server had queued for extraction are extracted once, by the next servers."""

import asyncio
import re
import time
from contextlib import closing

import apsw
import pytest

from tests.e2e.stdio_server import HASHING, ZAPOMNI, start_servers
from tests.faults.server_checks import ask, fact, mark, store_file
from zapomni_core.testing.llm_server import LLMServer, answer, stall
from zapomni_db.sqlite import SQLiteStore

COUNT = 40
BEFORE = 10
PATIENCE = 150


def read(request):
    """A model that returns the unique word of a text as its entity."""
    word = re.search(r"\bs\d+n\d+x\b", request.prompt)[0]
    return {"entities": [{"name": word, "type": "mark", "quote": word}], "relations": []}


@pytest.fixture
def llm():
    with LLMServer(stall()) as server:
        yield server


@pytest.fixture
def serve(tmp_path, llm):
    with start_servers(tmp_path) as start:

        def server():
            started = start(
                ZAPOMNI,
                "serve",
                "--plugin",
                HASHING,
                ZAPOMNI_EMBEDDER="hashing",
                ZAPOMNI_EXTRACTOR="llm",
                ZAPOMNI_LLM__PROVIDER="ollama",
                ZAPOMNI_LLM__MODEL="any",
                ZAPOMNI_LLM__BASE_URL=llm.url,
                ZAPOMNI_LLM__TIMEOUT_SECONDS="600",
            )
            started.initialize()
            return started

        yield server


async def one_runs_and_the_rest_wait(store):
    """Whether the server is in the middle of a job and has extracted some memories."""
    counts = await store.jobs.counts("default")
    return counts.running == 1 and counts.queued >= COUNT // 2


def end_lease(file):
    """End the lease of the killed server, which otherwise lasts a minute."""
    with closing(apsw.Connection(str(file))) as connection:
        connection.set_busy_timeout(30_000)
        connection.execute("UPDATE job SET due_at = 0 WHERE state = 'running'")


async def extractions(store):
    return await store.jobs.list("default", kind="extract:llm", limit=2 * COUNT)


async def all_read(store):
    return (await store.graph.counts("default")).entities == COUNT


async def all_done(store):
    return {job.state for job in await extractions(store)} == {"done"}


async def until(condition):
    end = time.monotonic() + PATIENCE
    while not await condition():
        assert time.monotonic() < end
        await asyncio.sleep(0.1)


@pytest.mark.timeout(400)
async def test_memories_queued_by_a_killed_server_are_extracted_once_each_by_two_others(tmp_path, serve, llm):
    """When it is killed, some memories are extracted, one is in progress, and the others wait."""
    llm.then(*[answer(read)] * BEFORE)
    first = serve()
    texts = [fact(1, number) for number in range(COUNT)]
    queued = [ask(first, "add_memory", text=text, wait_for_completion=False) for text in texts]
    assert {one["status"] for one in queued} == {"queued"}
    store = SQLiteStore(store_file(tmp_path))
    try:
        await asyncio.to_thread(llm.wait_for, BEFORE + 1)  # and that one stalls
        await until(lambda: one_runs_and_the_rest_wait(store))
        first.process.kill()
        first.process.wait(PATIENCE)
        assert (await store.jobs.counts("default")).running == 1
        llm.always(answer(read))
        end_lease(store_file(tmp_path))
        others = [serve(), serve()]
        await until(lambda: all_read(store))
        for text, receipt in zip(texts, queued, strict=True):
            [entity] = await store.graph.entities_of("default", receipt["memory_id"])
            assert (entity.name, entity.mentions, entity.memories) == (mark(text), 1, 1)
        assert (await store.graph.counts("default")).read == {"llm": COUNT}
        await until(lambda: all_done(store))
        jobs = await extractions(store)
        assert {job.id for job in jobs} == {one["job_id"] for one in queued}
        assert sorted(job.attempts for job in jobs) == [1] * (COUNT - 1) + [2]
        assert all(job.result == {"entities_extracted": 1, "relationships_extracted": 0} for job in jobs)
        assert llm.count == COUNT + 1  # the one that was cut off was asked for twice
        assert await store.check() == []
    finally:
        await store.close()
    for other in others:
        assert (
            ask(other, "search_memory", query=mark(texts[7]), limit=1)["results"][0]["memory_id"]
            == queued[7]["memory_id"]
        )
        assert other.close() == 0
