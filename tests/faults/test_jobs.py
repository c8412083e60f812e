"""Jobs survive the processes that do them: each is done, and has its effect once, whoever is killed in the middle.

ZAPOMNI_TEST_JOB_KILLS asks for more kills than the short form has.
"""

import asyncio
import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.e2e.wire import ZAPOMNI, starting
from tests.faults.serving import ask, store_file
from zapomni_db.records import JobCounts
from zapomni_db.sqlite import SQLiteStore

LABOURER = Path(__file__).with_name("labourer.py")
NOTE_TAKER = Path(__file__).with_name("note_taker.py")
KILLS = int(os.environ.get("ZAPOMNI_TEST_JOB_KILLS", "5"))
JOBS = max(100, 15 * KILLS)
PATIENCE = 100


def command(path, *words):
    return [sys.executable, str(LABOURER), str(path), *map(str, words)]


def queue_jobs(path):
    subprocess.run(command(path, "queue", JOBS), check=True, timeout=PATIENCE, cwd=LABOURER.parents[2])


class Labourer:
    """A process that does jobs, and what it said of them."""

    def __init__(self, path, name):
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            command(path, "work", name), stdin=pipe, stdout=pipe, text=True, cwd=LABOURER.parents[2]
        )
        self.said = []
        self._heard = threading.Semaphore(0)
        self._listening = threading.Thread(target=self._listen)
        self._listening.start()

    def _listen(self):
        for line in self.process.stdout:
            if line.endswith("\n"):
                self.said.append(tuple(line.split()))
                self._heard.release()

    def permit(self, jobs=1):
        """Let it go on with so many jobs that it has begun."""
        self.process.stdin.write("go\n" * jobs)
        self.process.stdin.flush()

    def wait_until(self, what, times=1):
        """Wait until it has said something so often."""
        while sum(one == what for one, _ in self.said) < times:
            assert self._heard.acquire(timeout=PATIENCE), self.said

    def kill(self):
        self.process.kill()
        self._end()

    def finish(self):
        """Let it end in peace; its exit code."""
        self.process.stdin.close()
        self._end()
        return self.process.returncode

    def _end(self):
        self.process.wait(timeout=PATIENCE)
        self._listening.join()
        for stream in (self.process.stdin, self.process.stdout):
            stream.close()


@pytest.fixture
def hire(tmp_path):
    """Start processes that do the jobs of one store; all are ended after the test."""
    hired = []

    def start(name):
        hired.append(Labourer(tmp_path / "memory.db", name))
        return hired[-1]

    yield start
    for one in hired:
        one.kill()


@pytest.fixture
async def store(tmp_path):
    store = SQLiteStore(tmp_path / "memory.db")
    yield store
    await store.close()


def kill_in_the_middle(labourer, moment, jobs):
    """Let it do some jobs, then kill it in the next: before its effect, after it, or somewhere in between."""
    labourer.permit(jobs)
    labourer.wait_until("begun", jobs + 1)
    if moment != "begun":
        labourer.permit()
    if moment == "noted":
        labourer.wait_until("noted", jobs + 1)
    labourer.kill()


async def until_done(store):
    end = time.monotonic() + PATIENCE
    while (counts := await store.jobs.counts("default")).queued or counts.running:
        assert time.monotonic() < end, counts
        await asyncio.sleep(0.05)


@pytest.mark.timeout(120 + 20 * KILLS)
async def test_every_job_has_its_effect_once_though_its_workers_are_killed(tmp_path, hire, store):
    chance = random.Random(31)
    queue_jobs(tmp_path / "memory.db")
    assert await store.jobs.counts("default") == JobCounts(queued=JOBS)
    crew = [hire("first"), hire("second")]
    everyone = list(crew)
    for number in range(KILLS):
        place = chance.randrange(2)
        kill_in_the_middle(crew[place], ("begun", "noted", "anywhere")[number % 3], chance.randint(0, 4))
        crew[place] = hire(f"another {number}")
        everyone.append(crew[place])
    for one in crew:
        one.permit(JOBS)
    await until_done(store)
    assert [one.finish() for one in crew] == [0, 0]

    assert await store.jobs.counts("default") == JobCounts(done=JOBS)
    jobs = await store.jobs.list("default", limit=JOBS + 1)
    noted = {job.result["memory_id"] for job in jobs}
    texts = {(await store.get("default", memory_id)).text for memory_id in noted}
    assert texts == {f"The effect of number {number}." for number in range(JOBS)}
    assert (await store.stats("default")).memories == JOBS
    assert await store.check() == []
    begun = [job_id for one in everyone for what, job_id in one.said if what == "begun"]
    assert set(begun) == {job.id for job in jobs}
    assert len(begun) > JOBS  # the one that was killed before its effect was begun again


@pytest.fixture
def serve(tmp_path):
    """Start a server that can queue notes and, where a file is named, take them."""
    with starting(tmp_path) as start:

        def server(works=None):
            variables = {"ZAPOMNI_EMBEDDER": "hashing"} | ({"NOTE_TAKER_WORKS": str(works)} if works else {})
            started = start(ZAPOMNI, "serve", "--plugin", NOTE_TAKER, **variables)
            started.initialize()
            return started

        yield server


def killed(server):
    server.process.kill()
    server.process.wait(PATIENCE)


async def assert_each_note_was_taken_once(servers, folder, job_ids):
    """Once the servers have used their store, all jobs get done, and there is one memory for each."""
    for server in servers:
        ask(server, "get_stats")
    store = SQLiteStore(store_file(folder))
    try:
        await until_done(store)
        jobs = [await store.jobs.get("default", job_id) for job_id in job_ids]
        assert {job.state for job in jobs} == {"done"}
        assert len({job.result["memory_id"] for job in jobs}) == len(jobs)
        assert (await store.stats("default")).memories == len(jobs)
    finally:
        await store.close()
    for server in servers:
        assert ask(server, "get_job", job_id=job_ids[0])["state"] == "done"
        assert ask(server, "get_stats")["statistics"]["jobs"]["done"] == len(jobs)
        assert server.close() == 0


@pytest.mark.timeout(300)
async def test_what_a_killed_server_had_queued_is_done_once_by_two_others(tmp_path, serve):
    first = serve()
    job_ids = ask(first, "queue_notes", count=100)["jobs"]
    killed(first)
    (tmp_path / "go").touch()
    await assert_each_note_was_taken_once([serve(tmp_path / "go"), serve(tmp_path / "go")], tmp_path, job_ids)


@pytest.mark.soak
@pytest.mark.timeout(600)
async def test_a_job_in_whose_middle_a_server_was_killed_is_done_when_its_lease_has_ended(tmp_path, serve):
    first = serve(tmp_path / "go")
    job_ids = ask(first, "queue_notes", count=100)["jobs"]
    end = time.monotonic() + PATIENCE
    while ask(first, "get_job", job_id=job_ids[0])["progress"] is None:
        assert time.monotonic() < end
        await asyncio.sleep(0.05)
    killed(first)
    (tmp_path / "go").touch()
    await assert_each_note_was_taken_once([serve(tmp_path / "go"), serve(tmp_path / "go")], tmp_path, job_ids)
