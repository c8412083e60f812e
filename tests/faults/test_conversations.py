"""Many processes store messages in one session: they agree on the order, and acknowledged messages survive kills.

ZAPOMNI_TEST_KILL_ROUNDS asks for more rounds than the short form has.
"""

import contextlib
import itertools
import os
import random
import threading
from uuid import uuid4

import pytest

from tests.faults.processes import start
from zapomni_core import MemoryEngine, MemoryManager
from zapomni_core.testing.embedder import HashingEmbedder
from zapomni_db.sqlite import SQLiteStore

ROUNDS = int(os.environ.get("ZAPOMNI_TEST_KILL_ROUNDS", "4"))
SPEAKERS = 3


class Heard:
    """The messages that the processes intended to store and those that were acknowledged."""

    def __init__(self):
        self.intended = set()
        self.acknowledged = {}
        self._lock = threading.Lock()
        self.more = threading.Semaphore(0)

    def listen(self, lines):
        """Read the whole lines of one process until it ends."""
        for line in lines:
            if line.endswith("\n"):
                self._hear(*line.split())

    def _hear(self, what, text, message_id=""):
        with self._lock:
            if what == "intent":
                self.intended.add(text)
            else:
                self.acknowledged[text] = message_id
        if what == "done":
            self.more.release()


def store_and_kill(path, heard, session, names, chance):
    speakers = [start(path, "store_messages", f"{name}@{session}") for name in names]
    listeners = [threading.Thread(target=heard.listen, args=[speaker.stdout]) for speaker in speakers]
    try:
        for listener in listeners:
            listener.start()
        for speaker in speakers:
            for _ in range(chance.randint(5, 60)):
                assert heard.more.acquire(timeout=60), speaker.stderr.read()
            speaker.kill()
    finally:
        for speaker in speakers:
            speaker.kill()
    for speaker, listener in zip(speakers, listeners, strict=True):
        listener.join()
        with contextlib.closing(speaker.stderr), contextlib.closing(speaker.stdin), contextlib.closing(speaker.stdout):
            assert speaker.stderr.read() == ""
        speaker.wait()


@pytest.mark.timeout(60 + 30 * ROUNDS)
async def test_a_session_of_many_processes_has_one_order_and_keeps_every_message(tmp_path):
    path, heard, session, chance = tmp_path / "memory.db", Heard(), uuid4(), random.Random(23)
    earlier = []
    for number in range(ROUNDS):
        store_and_kill(path, heard, session, [f"r{number}s{speaker}" for speaker in range(SPEAKERS)], chance)
        engine = MemoryEngine(store=SQLiteStore(path), embedder=HashingEmbedder())
        try:
            assert await engine.memories.check() == []
            history = await MemoryManager(engine).get_conversation_history(session, limit=1_000_000)
        finally:
            await engine.close()
        told = {one.content: str(one.id) for one in history}
        assert heard.acknowledged.items() <= told.items()
        assert told.keys() <= heard.intended
        assert len(told) == len(history)
        assert [one.id for one in history][: len(earlier)] == earlier
        earlier = [one.id for one in history]
        assert all(one.created_at <= after.created_at for one, after in itertools.pairwise(history))
        assert each_strand_in_order(history)


def each_strand_in_order(history):
    """Whether the messages of each strand come in the order in which they were stored."""
    last = {}
    for one in history:
        strand, _, number = one.content.rpartition(".")
        if int(number) <= last.get(strand, -1) or one.metadata_ != {"number": int(number)}:
            return False
        last[strand] = int(number)
    return True
