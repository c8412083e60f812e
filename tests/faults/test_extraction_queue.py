"""A language model that is away, and a server that is killed: what was queued is read once, by whoever comes next."""

import asyncio
import re
import time

import pytest

from tests.e2e.wire import ZAPOMNI, starting
from tests.faults.serving import ask, fact, mark, store_file
from zapomni_core.testing.llm_server import LLMServer, answer, refuse
from zapomni_db.sqlite import SQLiteStore

COUNT = 100
PATIENCE = 150


def read(request):
    """A model that reads the one word of a text that no other has."""
    word = re.search(r"\bs\d+n\d+x\b", request.prompt)[0]
    return {"entities": [{"name": word, "type": "mark", "quote": word}], "relations": []}


@pytest.fixture
def llm():
    with LLMServer(refuse(401)) as server:
        yield server


@pytest.fixture
def serve(tmp_path, llm):
    with starting(tmp_path) as start:

        def server():
            started = start(
                ZAPOMNI,
                "serve",
                ZAPOMNI_EXTRACTOR="llm",
                ZAPOMNI_LLM__PROVIDER="ollama",
                ZAPOMNI_LLM__MODEL="any",
                ZAPOMNI_LLM__BASE_URL=llm.url,
            )
            started.initialize()
            return started

        yield server


async def all_wait(store):
    """No job runs, so that nobody has to wait for the end of a dead server's lease."""
    jobs = await store.jobs.list("default", state="queued", kind="extract:llm", limit=COUNT)
    return len(jobs) == COUNT and all(job.postponed_since for job in jobs)


async def all_read(store):
    return (await store.graph.counts("default")).entities == COUNT


async def until(condition):
    end = time.monotonic() + PATIENCE
    while not await condition():
        assert time.monotonic() < end
        await asyncio.sleep(0.1)


@pytest.mark.timeout(400)
async def test_a_hundred_memories_queued_by_a_killed_server_are_read_once_each_by_two_others(tmp_path, serve, llm):
    first = serve()
    texts = [fact(1, number) for number in range(COUNT)]
    queued = [ask(first, "add_memory", text=text, wait_for_completion=False) for text in texts]
    assert {one["status"] for one in queued} == {"queued"}
    store = SQLiteStore(store_file(tmp_path))
    try:
        await until(lambda: all_wait(store))
        first.process.kill()
        first.process.wait(PATIENCE)
        llm.always(answer(read))
        await store.jobs.retry("default")
        others = [serve(), serve()]
        await until(lambda: all_read(store))
        for text, receipt in zip(texts, queued, strict=True):
            [entity] = await store.graph.entities_of("default", receipt["memory_id"])
            assert (entity.name, entity.mentions, entity.memories) == (mark(text), 1, 1)
        assert (await store.graph.counts("default")).read == {"llm": COUNT}
        assert await store.check() == []
    finally:
        await store.close()
    for other in others:
        assert (
            ask(other, "search_memory", query=mark(texts[7]), limit=1)["results"][0]["memory_id"]
            == queued[7]["memory_id"]
        )
        assert other.close() == 0
