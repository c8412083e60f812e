"""Reindexing that is killed again and again loses nothing and ends complete, while another process searches.

It is killed twice in the short form and ten times in `make soak`, half of them on the way back.
"""

import asyncio
import os
import random
import subprocess
import sys
import threading
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import pytest

from zapomni_core.testing.llm_server import LLMServer, vectors
from zapomni_db.sqlite import SQLiteStore

ROOT = Path(__file__).parents[2]
MEMORIES = 60
DIMENSION = 512  # that of the default embedder: only the identity tells the vectors apart
WAIT_SECONDS = 60


@contextmanager
def process(*words):
    """A process that is killed at the end, if it still runs."""
    started = subprocess.Popen(
        [sys.executable, str(ROOT / "tests/faults/reindexer.py"), *map(str, words)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "NO_PROXY": "127.0.0.1"},
    )
    try:
        yield started
    finally:
        started.kill()
        started.wait()
        for pipe in (started.stdin, started.stdout, started.stderr):
            pipe.close()


class Searches:
    """What a searching process found, by embedder."""

    def __init__(self, searching):
        self.found = Counter()
        self._last = ""
        self._searching = searching
        self._came = threading.Condition()
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self):
        for line in self._searching.stdout:
            with self._came:
                self.found[tuple(line.split())] += 1
                self._last = line
                self._came.notify_all()

    def wait_for(self, embedder):
        """Wait until the last question was embedded by this embedder."""
        with self._came:
            assert self._came.wait_for(lambda: self._last.startswith(embedder), WAIT_SECONDS), self.found

    def end(self):
        """Let the process end by itself; all that it found."""
        self._searching.stdin.close()
        assert self._searching.wait(WAIT_SECONDS) == 0, self._searching.stderr.read()
        self._thread.join(WAIT_SECONDS)
        return self.found


def kill_midway(path, url, name, steps):
    """Kill a reindexing process after so many steps, unless it is done before."""
    with process(path, url, "reindex", name) as running:
        for line in running.stdout:
            steps -= line.startswith("progress")
            if steps < 0 or line.startswith("done"):
                return


def run(*words):
    with process(*words) as running:
        output, errors = running.communicate(timeout=WAIT_SECONDS)
        assert running.returncode == 0, errors
        return output.splitlines()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("kills", [1, pytest.param(5, marks=pytest.mark.soak)])
async def test_it_always_answers_never_mixes_vectors_and_ends_complete(tmp_path, kills):
    path, chance = tmp_path / "memory.db", random.Random(28)
    with LLMServer(vectors(DIMENSION)) as server:
        run(path, server.url, "fill", MEMORIES)
        with process(path, server.url, "search") as searching:
            searches = Searches(searching)
            searches.wait_for("default")
            for name in ("ollama", "default"):
                for _ in range(kills):
                    kill_midway(path, server.url, name, chance.randrange(MEMORIES // 8))
                assert run(path, server.url, "reindex", name)[-1].startswith("done")
                searches.wait_for(name)
            found = await asyncio.to_thread(searches.end)
    assert {one[1:] for one in found} == {("right", "1.000", "0")}
    assert {one[0] for one in found} == {"default", "ollama"}
    store = SQLiteStore(path)
    assert (await store.embedder("default")).name == "default"
    assert await store.check() == []
    assert (await store.stats("default")).memories == MEMORIES
    await store.close()
