"""A plugin whose tool queues jobs, each of which adds a memory. It does them only where NOTE_TAKER_WORKS is set."""

import asyncio
import os
from pathlib import Path

from zapomni_core.plugin import Provider, ToolResult, hookimpl, tool
from zapomni_core.plugin.jobs import NewJob
from zapomni_core.testing.embedder import HashingEmbedder


def may_go_on():
    return Path(os.environ["NOTE_TAKER_WORKS"]).exists()


class Noting:
    """Adds a memory; where NOTE_TAKER_WORKS names a file that is not there, it stays in the middle for ever."""

    async def run(self, engine, job, progress):
        added = await engine.add_memory(f"The effect of number {job.payload['number']}.")
        while not may_go_on():
            await progress(0.5, "waiting")
            await asyncio.sleep(0.1)
        return {"memory_id": added.memory_id}


@hookimpl
def zapomni_providers():
    embedder = Provider(kind="embedder", name="hashing", factory=lambda _context: HashingEmbedder())
    noting = Provider(kind="job", name="note", factory=lambda _context: Noting())
    return [embedder, noting] if "NOTE_TAKER_WORKS" in os.environ else [embedder]


@hookimpl
def zapomni_tools(engine):
    @tool
    async def queue_notes(count: int) -> dict:
        """Queue so many notes, to be taken later.

        Args:
            count: How many notes.
        """
        new = [NewJob(kind="note", payload={"number": number}) for number in range(count)]
        return ToolResult.text("queued", structured={"jobs": [job.id for job in await engine.submit(new)]})

    return [queue_notes]
