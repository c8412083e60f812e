"""Another process switches the store to another embedder while this one uses the old one."""

import asyncio
from uuid import uuid4

import pytest

from zapomni_core import MemoryManager
from zapomni_core.jobs.kinds import Postpone
from zapomni_core.memory.engine import MemoryEngine
from zapomni_core.memory.reindex import EmbedPending, count_pending
from zapomni_core.providers import Provider, Providers
from zapomni_core.settings import Settings
from zapomni_core.testing.embedder import HashingEmbedder
from zapomni_db.sqlite import SQLiteStore


def offer(name, dimension):
    return Provider(kind="embedder", name=name, factory=lambda _: HashingEmbedder(dimension, name=name))


OLD, NEW = offer("old", 256), offer("new", 128)


@pytest.fixture
async def open_engine(tmp_path):
    opened = []

    def start(*offered, **settings):
        store = SQLiteStore(tmp_path / "memory.db")
        opened.append(MemoryEngine(Settings(**settings), providers=Providers([*offered, *JOBS]), store=store))
        return opened[-1]

    yield start
    for engine in opened:
        await engine.close()


JOBS = [Provider(kind="job", name="embed", factory=lambda _: EmbedPending())]


async def nothing_waits(engine):
    async with asyncio.timeout(30):
        while await count_pending(engine.memories, engine.workspace):  # noqa: ASYNC110 - the state is in the store
            await asyncio.sleep(0.02)


async def switched(open_engine):
    """An engine that holds the old embedder, on a store whose vectors are the new one's by now."""
    engine = open_engine(OLD, NEW, embedder="old")
    await engine.add_memory("The piano is in the cellar")
    engine = open_engine(OLD, NEW)
    await engine.search_memory("piano")
    await open_engine(OLD, NEW).reindex("new")
    return engine


async def test_vectors_that_are_waited_for_are_made_by_the_embedder_that_serves(open_engine):
    engine = await switched(open_engine)
    await MemoryManager(engine).store_message(uuid4(), "user", "The violin is in the attic")
    await nothing_waits(engine)
    stats = await engine.memories.stats("default")
    assert stats.embedder.name == "new"
    result = await open_engine(OLD, NEW).search_memory("violin")
    assert (result.chunks_without_vector, result.hits[0].text) == (0, "The violin is in the attic")


async def test_a_process_that_has_not_the_embedder_leaves_the_job_to_others(open_engine):
    await switched(open_engine)
    stranger = open_engine(OLD, NEW, embedder="old")
    with pytest.raises(Postpone, match="embedder"):
        await EmbedPending().run(stranger, None, None)
