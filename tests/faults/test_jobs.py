"""Jobs survive the processes that run them: each takes effect once, even if workers are killed.

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

from tests.e2e.stdio_server import ZAPOMNI, start_servers
from tests.faults.server_checks import ask, store_file
from zapomni_db.records import JobCounts
from zapomni_db.sqlite import SQLiteStore

JOB_PROCESS = Path(__file__).with_name("job_process.py")
JOB_PLUGIN = Path(__file__).with_name("job_plugin.py")
KILLS = int(os.environ.get("ZAPOMNI_TEST_JOB_KILLS", "5"))
JOBS = max(100, 15 * KILLS)
PATIENCE = 100


def command(path, *words):
    return [sys.executable, str(JOB_PROCESS), str(path), *map(str, words)]


def queue_jobs(path):
    subprocess.run(command(path, "queue", JOBS), check=True, timeout=PATIENCE, cwd=JOB_PROCESS.parents[2])


class Worker:
    """A process that runs jobs, and the lines it printed."""

    def __init__(self, path, name):
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            command(path, "work", name), stdin=pipe, stdout=pipe, text=True, cwd=JOB_PROCESS.parents[2]
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
        """Let it finish so many jobs."""
        self.process.stdin.write("go\n" * jobs)
        self.process.stdin.flush()

    def wait_until(self, what, times=1):
        """Wait until it has printed a word so many times."""
        while sum(one == what for one, _ in self.said) < times:
            assert self._heard.acquire(timeout=PATIENCE), self.said

    def kill(self):
        self.process.kill()
        self._end()

    def finish(self):
        """Close its input and return its exit code."""
        self.process.stdin.close()
        self._end()
        return self.process.returncode

    def _end(self):
        self.process.wait(timeout=PATIENCE)
        self._listening.join()
        for stream in (self.process.stdin, self.process.stdout):
            stream.close()


@pytest.fixture
def start_worker(tmp_path):
    """Start processes that run the jobs of one store; all are ended after the test."""
    workers = []

    def start(name):
        workers.append(Worker(tmp_path / "memory.db", name))
        return workers[-1]

    yield start
    for one in workers:
        one.kill()


@pytest.fixture
async def store(tmp_path):
    store = SQLiteStore(tmp_path / "memory.db")
    yield store
    await store.close()


def kill_in_the_middle(worker, moment, jobs):
    """Let a worker finish some jobs, then kill it in the next: before its effect, after it, or at any moment."""
    worker.permit(jobs)
    worker.wait_until("begun", jobs + 1)
    if moment != "begun":
        worker.permit()
    if moment == "noted":
        worker.wait_until("noted", jobs + 1)
    worker.kill()


async def until_done(store):
    end = time.monotonic() + PATIENCE
    while (counts := await store.jobs.counts("default")).queued or counts.running:
        assert time.monotonic() < end, counts
        await asyncio.sleep(0.05)


@pytest.mark.timeout(120 + 20 * KILLS)
async def test_every_job_takes_effect_once_although_workers_are_killed(tmp_path, start_worker, store):
    chance = random.Random(31)
    queue_jobs(tmp_path / "memory.db")
    assert await store.jobs.counts("default") == JobCounts(queued=JOBS)
    working = [start_worker("first"), start_worker("second")]
    everyone = list(working)
    for number in range(KILLS):
        place = chance.randrange(2)
        kill_in_the_middle(working[place], ("begun", "noted", "anywhere")[number % 3], chance.randint(0, 4))
        working[place] = start_worker(f"another {number}")
        everyone.append(working[place])
    for one in working:
        one.permit(JOBS)
    await until_done(store)
    assert [one.finish() for one in working] == [0, 0]

    assert await store.jobs.counts("default") == JobCounts(done=JOBS)
    jobs = await store.jobs.list("default", limit=JOBS + 1)
    noted = {job.result["memory_id"] for job in jobs}
    texts = {(await store.get("default", memory_id)).text for memory_id in noted}
    assert texts == {f"The effect of number {number}." for number in range(JOBS)}
    assert (await store.stats("default")).memories == JOBS
    assert await store.check() == []
    begun = [job_id for one in everyone for what, job_id in one.said if what == "begun"]
    assert set(begun) == {job.id for job in jobs}
    assert len(begun) > JOBS  # jobs of killed workers were begun again


@pytest.fixture
def serve(tmp_path):
    """Start a server that queues notes and, if a file is given, runs the jobs once it exists."""
    with start_servers(tmp_path) as start:

        def server(works=None):
            variables = {"ZAPOMNI_EMBEDDER": "hashing"} | ({"JOB_PLUGIN_GATE": str(works)} if works else {})
            started = start(ZAPOMNI, "serve", "--plugin", JOB_PLUGIN, **variables)
            started.initialize()
            return started

        yield server


def killed(server):
    server.process.kill()
    server.process.wait(PATIENCE)


async def assert_each_note_was_added_once(servers, folder, job_ids):
    """All jobs end, and there is one memory for each."""
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
async def test_jobs_queued_by_a_killed_server_are_run_once_by_two_others(tmp_path, serve):
    first = serve()
    job_ids = ask(first, "queue_notes", count=100)["jobs"]
    killed(first)
    (tmp_path / "go").touch()
    await assert_each_note_was_added_once([serve(tmp_path / "go"), serve(tmp_path / "go")], tmp_path, job_ids)


@pytest.mark.soak
@pytest.mark.timeout(600)
async def test_a_job_of_a_killed_server_is_run_after_its_lease_has_ended(tmp_path, serve):
    first = serve(tmp_path / "go")
    job_ids = ask(first, "queue_notes", count=100)["jobs"]
    end = time.monotonic() + PATIENCE
    while ask(first, "get_job", job_id=job_ids[0])["progress"] is None:
        assert time.monotonic() < end
        await asyncio.sleep(0.05)
    killed(first)
    (tmp_path / "go").touch()
    await assert_each_note_was_added_once([serve(tmp_path / "go"), serve(tmp_path / "go")], tmp_path, job_ids)
