"""Servers that are killed while they write lose nothing that they acknowledged, and leave no half-done change.

The short form has 2 rounds; `make soak` has 50, or as many as ZAPOMNI_TEST_KILL_ROUNDS asks for.
"""

import os
import random
import threading
import time
from contextlib import suppress
from itertools import count

import pytest

from tests.faults.server_checks import assert_found, fact, mark, servers, store_file
from zapomni_core.testing.embedder import HashingEmbedder
from zapomni_core.testing.samples import ask
from zapomni_core.text.terms import terms
from zapomni_db.sqlite import SQLiteStore

SHORT_ROUNDS, LONG_ROUNDS = 2, int(os.environ.get("ZAPOMNI_TEST_KILL_ROUNDS", "50"))
SERVERS = 2
AT_ONCE = 4


class Writer:
    """Sends concurrent adds to one server and records what was sent and what was acknowledged."""

    def __init__(self, server, name):
        self.server = server
        self.name = name
        self.sent = {}
        self.acknowledged = {}
        self.changed = threading.Condition()
        self._thread = threading.Thread(target=self._run)

    def start(self):
        self._thread.start()

    def _run(self):
        """Write until the server is gone, which is an assertion of `StdioServer` or a broken pipe."""
        with suppress(AssertionError, OSError):
            self.server.initialize()
            waiting = [self._send(number) for number in range(AT_ONCE)]
            for number in count(AT_ONCE):
                key, text = waiting.pop(0)
                answer = self.server.answer(key)
                with self.changed:
                    self.acknowledged[text] = answer["result"]["structuredContent"]["memory_id"]
                    self.changed.notify()
                waiting.append(self._send(number))

    def _send(self, number):
        text = fact(self.name, number)
        self.sent[text] = None
        return self.server.request_call("add_memory", {"text": text}), text

    def wait_for(self, many):
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.acknowledged) >= many, 60), self.server.log_text()

    def kill(self):
        self.server.process.kill()

    def join(self):
        self.server.process.wait()
        self._thread.join()


def one_round(start, number, chance):
    """Kill all servers while they write; returns the texts that were sent and those that were acknowledged."""
    writers = [Writer(start(), f"{number}w{place}") for place in range(SERVERS)]
    try:
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.wait_for(chance.randint(1, 12))
        time.sleep(chance.random() * 0.05)  # any moment, not just the one after an answer
    finally:
        for writer in writers:
            writer.kill()
        for writer in writers:
            writer.join()
    return {text for writer in writers for text in writer.sent}, {
        text: memory_id for writer in writers for text, memory_id in writer.acknowledged.items()
    }


async def assert_in_store(path, sent, told, embedder):
    """Check that the store is sound and has what was acknowledged, by id, by word and by vector."""
    store = SQLiteStore(path)
    assert await store.check() == []
    texts = [memory.text for memory in (await store.list_memories("default", limit=100_000)).memories]
    assert len(texts) == len(set(texts))
    assert told.keys() <= set(texts) <= sent
    vectors = await embedder.embed(list(told), query=True)

    for (text, memory_id), vector in zip(told.items(), vectors, strict=True):
        proposed = await ask(
            store, "", terms=tuple(terms(mark(text))[:1]), vector=vector, embedder=embedder.identity, by_vector=10
        )
        assert [one.memory_id for one in proposed.found if one.counts[0]] == [memory_id], text
        assert max(proposed.found, key=lambda one: one.cosine).memory_id == memory_id, text
    for text, memory_id in told.items():
        assert (await store.get("default", memory_id)).text == text
    await store.close()


async def kill_in_rounds(folder, rounds):
    chance, sent, told, embedder = random.Random(), set(), {}, HashingEmbedder()
    for number in range(rounds):
        with servers(folder) as start:
            more_sent, more_told = one_round(start, number, chance)
        sent |= more_sent
        told |= more_told
        await assert_in_store(store_file(folder), sent, more_told, embedder)
    await assert_in_store(store_file(folder), sent, told, embedder)
    await embedder.close()
    with servers(folder) as start:
        server = start()
        server.initialize()
        some = [*list(told.items())[-8:], *chance.sample(list(told.items()), min(8, len(told)))]
        assert_found(server, dict(some))
        assert server.close() == 0


async def test_acknowledged_memories_survive_killed_servers(tmp_path):
    await kill_in_rounds(tmp_path, SHORT_ROUNDS)


@pytest.mark.soak
@pytest.mark.timeout(60 + 20 * LONG_ROUNDS)
async def test_servers_that_are_killed_many_times_lose_nothing_that_they_acknowledged(tmp_path):
    await kill_in_rounds(tmp_path, LONG_ROUNDS)
