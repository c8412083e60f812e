"""A process of its own on a FalkorDB that others use too: adds memories and finds them, and does the jobs that come with them.

    falkordb_process.py URL NAME COUNT

It begins, and looks for everything, when a line on standard input tells it to. It says on standard output what it did.
"""

import asyncio
import os
import sys

from zapomni_core.testing.samples import WORKSPACE, ask, put, said, sample_memory
from zapomni_db.falkordb import FalkorDBClient, FalkorDBStore
from zapomni_db.records import NewJob

KIND = "note"
LEASE_SECONDS = 600


def say(*words):
    """One line, at once and whole."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


async def add(store, name, count):
    """Adds memories that all speak of one project, and finds each at once."""
    for number in range(count):
        text = f"{name} knows Project {number}"
        extraction = said(text, name, "knows", "Project")
        new = sample_memory(text, extraction=extraction, jobs=(NewJob(kind=KIND),))
        memory_id = (await put(store, new)).memory_id
        proposed = await ask(store, text)
        assert memory_id in [one.memory_id for one in proposed.found], text
        say("added", memory_id)


async def work(store, name, total):
    """Runs jobs until all are done, by any process."""
    while (await store.jobs.counts(WORKSPACE)).done < total:
        job = await store.jobs.claim(WORKSPACE, [KIND], name, LEASE_SECONDS)
        if job is None:
            await asyncio.sleep(0.05)
        elif await store.jobs.finish(job.id, name, {"by": name}):
            say("done", job.id)


async def main(url, name, count, total):
    store = FalkorDBStore(FalkorDBClient.from_url(url))
    say("ready", name)
    sys.stdin.readline()
    await asyncio.gather(add(store, name, int(count)), work(store, name, int(total)))
    say("idle", name)
    sys.stdin.readline()
    page = await store.list_memories(WORKSPACE, limit=10_000)
    for memory in page.memories:
        proposed = await ask(store, memory.text)
        assert memory.id in [one.memory_id for one in proposed.found], memory.text
    say("found", len(page.memories))
    await store.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
