"""Many processes on one FalkorDB, started at once: everything is kept and found by each, and every job is done once.

The short form has 3 processes with 10 memories each; `make soak` has ten with 50, and twenty with 10.
"""

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from zapomni_core.testing.samples import WORKSPACE, relations_of, the
from zapomni_db.falkordb import FalkorDBClient, FalkorDBStore
from zapomni_db.records import JobCounts

PROGRAM = Path(__file__).with_name("falkordb_process.py")


class Process:
    """A process that adds, finds and does jobs."""

    def __init__(self, *words):
        pipe = subprocess.PIPE
        command = [sys.executable, str(PROGRAM), *map(str, words)]
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=PROGRAM.parents[2])
        self.said = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def go_on(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def wait_until(self, word):
        """Read what it says until it says this."""
        for line in self.process.stdout:
            self.said.append(tuple(line.split()))
            if self.said[-1][0] == word:
                return
        raise AssertionError(f"it ended before it was {word}")

    def told(self, word):
        return [what for said, what in self.said if said == word]


async def work_together(url, many, memories):
    total = many * memories
    with ExitStack() as stack:
        processes = [stack.enter_context(Process(url, f"c{n}", memories, total)) for n in range(many)]
        for word in ("ready", "idle", "found"):
            for one in processes:
                one.wait_until(word)
            for one in processes if word != "found" else ():
                one.go_on()
    added = [memory for one in processes for memory in one.told("added")]
    done = [job for one in processes for job in one.told("done")]
    assert len(added) == len(set(added)) == len(done) == len(set(done)) == total
    assert [one.told("found") for one in processes] == [[str(total)]] * many
    store = FalkorDBStore(FalkorDBClient.from_url(url))
    assert (await store.stats(WORKSPACE)).memories == total
    assert await store.jobs.counts(WORKSPACE) == JobCounts(done=total)
    project = await the(store, "Project")
    assert (project.mentions, project.memories) == (total, total)
    assert len(await relations_of(store, "Project")) == many
    await store.close()


async def test_processes_that_start_at_once_keep_and_find_everything_and_do_each_job_once(falkordb_url):
    await work_together(falkordb_url, many=3, memories=10)


@pytest.mark.soak
@pytest.mark.timeout(1500)
@pytest.mark.parametrize(("many", "memories"), [(10, 50), (20, 10)])
async def test_many_processes_keep_and_find_everything_and_do_each_job_once(falkordb_url, many, memories):
    await work_together(falkordb_url, many, memories)
