"""Many servers on one store, started at once, each with a client that adds and searches: no call fails and nothing is lost.

The short form has 3 servers with 10 memories each; `make soak` has ten with 200.
"""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import pytest

from tests.faults.server_checks import ask, fact, servers, store_file
from zapomni_db.sqlite import SQLiteStore


def add_and_search(server, name, memories, everybody):
    """Add memories, finding each at once, and wait for the other clients; returns the ids by text."""
    told = {}
    with aborting_on_error(everybody):
        server.initialize()
        everybody.wait(120)
        for number in range(memories):
            text = fact(name, number)
            told[text] = ask(server, "add_memory", text=text)["memory_id"]
            best = ask(server, "search_memory", query=text, limit=1)["results"]
            assert [hit["memory_id"] for hit in best] == [told[text]], text
        everybody.wait(600)
    return told


@contextmanager
def aborting_on_error(barrier):
    """Break the barrier if this client fails, so that the others do not wait for it."""
    try:
        yield
    except BaseException:
        barrier.abort()
        raise


def not_found_by(server, told):
    """The texts that are not the first hit of a search for them."""
    return [
        text
        for text, memory_id in told.items()
        if [hit["memory_id"] for hit in ask(server, "search_memory", query=text, limit=1)["results"]] != [memory_id]
    ]


async def serve_many(folder, many, memories):
    everybody = threading.Barrier(many)
    with servers(folder) as start, ThreadPoolExecutor(many) as threads:
        started = [start() for _ in range(many)]
        adding = [
            threads.submit(add_and_search, server, name, memories, everybody) for name, server in enumerate(started)
        ]
        told = {}
        for one in adding:
            with suppress(threading.BrokenBarrierError):  # because another one failed
                told |= one.result()
        for one in adding:
            one.result()
        assert len(told) == len(set(told.values())) == many * memories
        missing = [threads.submit(not_found_by, server, told) for server in started]
        assert [one.result() for one in missing] == [[]] * many
        for server in started:
            assert ask(server, "get_stats")["statistics"]["total_memories"] == many * memories
            assert server.close() == 0
            assert server.log("tool_failed") == []
    store = SQLiteStore(store_file(folder))
    assert await store.check() == []
    await store.close()


async def test_servers_that_start_at_once_on_one_store_keep_and_find_everything(tmp_path):
    await serve_many(tmp_path, many=3, memories=10)


@pytest.mark.soak
@pytest.mark.timeout(1500)
async def test_ten_servers_with_two_hundred_memories_each_keep_and_find_everything(tmp_path):
    await serve_many(tmp_path, many=10, memories=200)
