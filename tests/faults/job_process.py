"""A program that queues jobs, or runs them until it is killed or its standard input ends.

    job_process.py PATH queue COUNT
    job_process.py PATH work NAME

Each job adds one memory after it has read a line from standard input. A worker prints when it begins a job and when the
memory is stored.
"""

import asyncio
import os
import sys
from pathlib import Path

from zapomni_core.jobs import Kinds
from zapomni_core.jobs.worker import Worker
from zapomni_core.memory.engine import MemoryEngine
from zapomni_core.providers import Provider, Providers
from zapomni_core.settings import Settings
from zapomni_core.testing.embedder import HashingEmbedder
from zapomni_db.records import NewJob
from zapomni_db.sqlite import SQLiteStore

LEASE_SECONDS = 3.0


def say(*words):
    """Print one line with a single write."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


class AddMemory:
    """A kind of job that adds a memory."""

    def __init__(self):
        self.permits = asyncio.Semaphore(0)

    async def run(self, engine, job, progress):
        say("begun", job.id)
        await self.permits.acquire()
        added = await engine.add_memory(f"The effect of number {job.payload['number']}.")
        say("noted", job.id)
        await progress(0.9, "nearly")
        return {"memory_id": added.memory_id}


def make_engine(path):
    """An engine on the store."""
    return MemoryEngine(store=SQLiteStore(Path(path)), embedder=HashingEmbedder())


async def queue(path, count):
    """Queue jobs."""
    engine = make_engine(path)
    new = [NewJob(kind="note", payload={"number": number}, key=str(number)) for number in range(int(count))]
    await engine.jobs.enqueue(engine.workspace, new)
    await engine.close()


async def work(path, name):
    """Run jobs until standard input ends."""
    engine, noting = make_engine(path), AddMemory()
    kinds = Kinds(Providers([Provider(kind="job", name="note", factory=lambda _context: noting)]), Settings())
    worker = Worker(engine, kinds, name=name, lease_seconds=LEASE_SECONDS, poll_seconds=0.2, attempts=100)
    task = asyncio.create_task(worker.run())
    while await asyncio.to_thread(sys.stdin.readline):
        noting.permits.release()
    worker.end()
    await task
    await engine.close()


if __name__ == "__main__":
    asyncio.run({"queue": queue, "work": work}[sys.argv[2]](sys.argv[1], sys.argv[3]))
