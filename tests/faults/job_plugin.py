"""A plugin whose tool queues jobs that add a memory each. It runs them only if JOB_PLUGIN_GATE is set."""

import asyncio
import os
from pathlib import Path

from zapomni_core.plugin import Provider, ToolResult, hookimpl, tool
from zapomni_core.plugin.jobs import NewJob
from zapomni_core.testing.embedder import HashingEmbedder


def is_open():
    return Path(os.environ["JOB_PLUGIN_GATE"]).exists()


class AddMemory:
    """Adds a memory, then waits until the file JOB_PLUGIN_GATE exists."""

    async def run(self, engine, job, progress):
        added = await engine.add_memory(f"The effect of number {job.payload['number']}.")
        while not is_open():
            await progress(0.5, "waiting")
            await asyncio.sleep(0.1)
        return {"memory_id": added.memory_id}


@hookimpl
def zapomni_providers():
    embedder = Provider(kind="embedder", name="hashing", factory=lambda _context: HashingEmbedder())
    job = Provider(kind="job", name="note", factory=lambda _context: AddMemory())
    return [embedder, job] if "JOB_PLUGIN_GATE" in os.environ else [embedder]


@hookimpl
def zapomni_tools(engine):
    @tool
    async def queue_notes(count: int) -> dict:
        """Queue jobs that add notes.

        Args:
            count: The number of jobs.
        """
        new = [NewJob(kind="note", payload={"number": number}) for number in range(count)]
        return ToolResult.text("queued", structured={"jobs": [job.id for job in await engine.submit(new)]})

    return [queue_notes]
