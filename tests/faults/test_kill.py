"""Processes that are killed while they write lose nothing that was acknowledged, and leave no half-done change.

ZAPOMNI_TEST_KILL_ROUNDS asks for more rounds than the short form has.
"""

import contextlib
import os
import random
import threading
from collections import defaultdict

import pytest

from tests.faults.processes import start
from zapomni_core.testing.samples import ask, sample_vector
from zapomni_db.sqlite import SQLiteStore

ROUNDS = int(os.environ.get("ZAPOMNI_TEST_KILL_ROUNDS", "3"))
PROCESSES = 3
AFTER = {"add": "live", "delete": "deleted", "restore": "live", "purge": "gone"}


class Told:
    """The intents and acknowledgements that the processes printed for each memory."""

    def __init__(self):
        self.ids = {}
        self.allowed = defaultdict(set)
        self.acknowledged = threading.Semaphore(0)

    def listen(self, lines):
        """Read the whole lines of one process until it ends."""
        for line in lines:
            if line.endswith("\n"):
                self._hear(*line.split())

    def _hear(self, what, action, key, memory_id=""):
        if what == "intent" and action != "add":
            self.allowed[key].add(AFTER[action])
        if what == "done":
            if action == "add":
                self.ids[memory_id] = key
            self.allowed[memory_id or key] = {AFTER[action]}
            self.acknowledged.release()


def run_and_kill(path, told, names, chance):
    processes = [start(path, "change_at_random", name) for name in names]
    listeners = [threading.Thread(target=told.listen, args=[process.stdout]) for process in processes]
    for listener in listeners:
        listener.start()
    for process in processes:
        for _ in range(chance.randint(5, 60)):
            assert told.acknowledged.acquire(timeout=60), process.stderr.read()
        process.kill()
    for process, listener in zip(processes, listeners, strict=True):
        listener.join()
        with contextlib.closing(process.stderr), contextlib.closing(process.stdin), contextlib.closing(process.stdout):
            assert process.stderr.read() == ""
        process.wait()


async def states(store, ids):
    memories = {memory_id: await store.get("default", memory_id) for memory_id in ids}
    return {
        memory_id: "gone" if memory is None else "deleted" if memory.deleted_at else "live"
        for memory_id, memory in memories.items()
    }


async def lookup(store, text):
    """The memories that words and vectors find for a text."""
    proposed = await ask(store, text, by_vector=3)
    best = max(proposed.found, key=lambda one: one.cosine)
    return [one.memory_id for one in proposed.found if one.counts == (1,)], best.memory_id


@pytest.mark.timeout(60 + 10 * ROUNDS)
async def test_acknowledged_changes_survive_kills_and_memories_are_found(tmp_path):
    path, told, chance = tmp_path / "memory.db", Told(), random.Random(17)
    for number in range(ROUNDS):
        run_and_kill(path, told, [f"r{number}v{process}" for process in range(PROCESSES)], chance)
        store = SQLiteStore(path)
        assert await store.check() == []
        await store.close()
    store = SQLiteStore(path)
    found_states = await states(store, told.ids)
    assert {key: state for key, state in found_states.items() if state not in told.allowed[key]} == {}
    live = {told.ids[key]: key for key, state in found_states.items() if state == "live"}
    everything = (await ask(store, "", vector=sample_vector("any"), by_vector=1_000_000)).found
    assert len({one.memory_id for one in everything}) == len(everything)
    assert {text: await lookup(store, text) for text in live} == {text: ([key], key) for text, key in live.items()}
    await store.close()
