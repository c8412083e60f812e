"""Vectors by another embedder, on a real SQLite store."""

import asyncio
from datetime import UTC, datetime

import pytest

from zapomni_core.errors import ConfigurationError, ProcessingError
from zapomni_core.memory.engine import MemoryEngine
from zapomni_core.memory.reindex import count_outdated, reindex
from zapomni_core.providers import Provider, Providers
from zapomni_core.settings import Settings
from zapomni_core.testing.embedder import HashingEmbedder
from zapomni_core.testing.samples import put, sample_memory
from zapomni_core.text.terms import VERSION
from zapomni_db.errors import EmbedderMismatchError
from zapomni_db.records import NewChunk, Question, TermCounts
from zapomni_db.reference import ReferenceStore
from zapomni_db.sqlite import SQLiteStore

FACTS = [f"Fact {number}: the {thing} is in room {number}" for number, thing in enumerate(["lamp", "piano", "ladder"])]


class Recorder(HashingEmbedder):
    """An embedder that records the texts it embeds and can be made to fail."""

    def __init__(self, name, dimension=64):
        super().__init__(dimension, name=name)
        self.embedded = []
        self.closed = False
        self.fails_after = None

    async def embed(self, texts, *, query=False, on_batch=None):
        if self.fails_after is not None and len(self.embedded) >= self.fails_after:
            raise ProcessingError("no more")
        self.embedded += texts
        return await super().embed(texts, query=query, on_batch=on_batch)

    async def close(self):
        self.closed = True


@pytest.fixture
def old():
    return Recorder("old")


@pytest.fixture
def new():
    return Recorder("new", 96)


@pytest.fixture
def make_engine(tmp_path, old, new):
    """Make engines on one store, as processes that follow each other do."""

    def make(**settings):
        offered = [
            Provider(kind="embedder", name=one.identity.name, factory=lambda _, one=one: one) for one in (old, new)
        ]
        return MemoryEngine(
            Settings(**settings), providers=Providers(offered), store=SQLiteStore(tmp_path / "memory.db")
        )

    return make


@pytest.fixture
async def engine(make_engine):
    """An engine with three memories, embedded by the old embedder."""
    engine = make_engine(embedder="old")
    for fact in FACTS:
        await engine.add_memory(fact)
    yield engine
    await engine.close()


@pytest.fixture
def small_steps(monkeypatch):
    monkeypatch.setattr("zapomni_core.memory.reindex.BATCH", 1)


async def found_by_vector(engine, embedder, text):
    """The nearest chunk to a text by the vectors that serve now."""
    vector = (await embedder.embed([text], query=True))[0]

    question = Question(terms=(), counts=TermCounts(0, ()), vector=vector, embedder=embedder.identity)
    proposed = await engine.memories.candidates("default", question)
    best = max(proposed.found, key=lambda one: one.cosine)
    return (await engine.memories.chunks("default", [best.chunk]))[0].text


async def test_the_new_vectors_serve_afterwards(engine, old, new):
    assert await engine.reindex("new") == len(FACTS)
    assert (await engine.get_stats()).embedder == new.identity
    assert await found_by_vector(engine, new, FACTS[1]) == FACTS[1]
    assert await engine.memories.check() == []
    await engine.close()
    assert old.closed
    assert new.closed


async def test_the_engine_goes_on_with_the_new_embedder(engine, new):
    await engine.reindex("new")
    await engine.add_memory("The violin is in the attic")
    assert "The violin is in the attic" in new.embedded
    assert (await engine.search_memory("violin")).hits[0].text == "The violin is in the attic"


async def test_other_processes_take_the_new_embedder_from_the_store(engine, make_engine, new):
    await engine.reindex("new")
    other = make_engine()
    assert (await other.search_memory("piano")).hits[0].text == FACTS[1]
    assert new.embedded[-1] == "piano"
    await other.close()


async def test_hidden_memories_get_new_vectors_too_and_other_workspaces_keep_theirs(engine, old, new):
    elsewhere = engine.in_workspace("elsewhere")
    await elsewhere.add_memory("The lamp is elsewhere")
    hidden = await engine.add_memory("The secret is in the cellar")
    await engine.delete_memory(hidden.memory_id)
    assert await engine.reindex("new") == len(FACTS) + 1
    await engine.restore_memory(hidden.memory_id)
    assert (await engine.search_memory("cellar")).hits[0].memory_id == hidden.memory_id
    assert (await elsewhere.get_stats()).embedder == old.identity
    assert (await elsewhere.search_memory("lamp")).degraded is None


@pytest.mark.parametrize("cut", [1, 2, 3])
async def test_an_interrupted_run_is_resumed(engine, old, new, small_steps, cut):
    reached = asyncio.Event()

    async def stop(done, total):
        if done == cut and not reached.is_set():
            reached.set()
            await asyncio.Event().wait()

    run = asyncio.create_task(engine.reindex("new", stop))
    await reached.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert (await engine.get_stats()).embedder == old.identity
    assert await found_by_vector(engine, old, FACTS[2]) == FACTS[2]
    kept = (await engine.memories.vectors.pending("default", new.identity, 10))[1]
    assert kept < len(FACTS) or cut == 1
    assert await engine.reindex("new") == kept
    assert await found_by_vector(engine, new, FACTS[2]) == FACTS[2]


async def test_a_failed_run_keeps_the_old_vectors_and_is_resumed(engine, new, small_steps):
    new.fails_after = 2
    with pytest.raises(ProcessingError):
        await engine.reindex("new")
    assert (await engine.search_memory("ladder")).hits[0].text == FACTS[2]
    new.fails_after = None
    assert await engine.reindex("new") == 1


async def test_a_memory_that_is_added_meanwhile_gets_its_vector_too(engine, make_engine, new, small_steps):
    other = make_engine()

    async def add_at_the_end(done, total):
        if done == total == len(FACTS):
            await other.add_memory("A late one")

    assert await engine.reindex("new", add_at_the_end) == len(FACTS) + 1
    assert await found_by_vector(engine, new, "A late one") == "A late one"
    await other.close()


async def test_progress_starts_with_the_total_and_grows(engine, small_steps):
    reports = []

    async def tell(done, total):
        reports.append((done, total))

    await engine.reindex("new", tell)
    assert reports[0] == (0, len(FACTS))
    assert reports[-1] == (len(FACTS), len(FACTS))
    assert reports == sorted(reports)


async def test_reindexing_embeds_the_same_texts_as_adding(engine, old, new):
    metadata = {"author": "Ada", "timestamp": "2023-05-08T23:30:00+05:00", "language": "markdown"}
    await engine.add_memory("# House\n\n## Roof\n\nIt leaks when it rains.", metadata)
    await engine.reindex("new")
    assert sorted(new.embedded) == sorted(old.embedded)
    header = "[8 May 2023] Ada: House > Roof: "
    assert [text.startswith(header) for text in new.embedded].count(True) == 1


async def test_chunks_of_an_older_analyser_are_analysed_again(engine, old, small_steps):
    moment = datetime(2023, 5, 8, tzinfo=UTC)
    for text in ("The violins are in the attic", "The drums are in the barn"):
        chunk = NewChunk(start=0, end=len(text), heading="", terms=("older",), vector=None)
        memory = sample_memory(text, chunk, embedder=old.identity, analyser=VERSION - 1, author="Ada", timestamp=moment)
        await put(engine.memories, memory, "default")
    assert await count_outdated(engine.memories, "default") == 2
    await engine.reindex()
    assert await count_outdated(engine.memories, "default") == 0
    terms = ["older", "violin", "ada", "2023"]
    assert (await engine.memories.term_counts("default", terms)).holding == (0, 1, 2, 2)
    assert (await engine.search_memory("violin")).hits[0].why == ("violin",)
    assert await engine.memories.check() == []


async def test_without_a_name_the_settings_choose(engine, make_engine, new):
    other = make_engine(embedder="new")
    assert await other.reindex() == len(FACTS)
    assert (await other.get_stats()).embedder == new.identity
    await other.close()


async def test_without_a_name_and_a_setting_the_present_embedder_stays(engine, make_engine, old):
    other = make_engine()
    assert await other.reindex() == 0
    assert (await other.get_stats()).embedder == old.identity
    await other.close()


async def test_an_empty_store_gets_its_embedder(make_engine, new):
    engine = make_engine()
    assert await engine.reindex("new") == 0
    assert (await engine.get_stats()).embedder == new.identity
    await engine.close()


async def test_an_unknown_embedder_is_reported_and_nothing_changes(engine, old):
    with pytest.raises(ConfigurationError, match=r"'newe'.*'new'"):
        await engine.reindex("newe")
    assert (await engine.get_stats()).embedder == old.identity


async def test_a_store_without_reindexing_is_refused(new):
    with pytest.raises(ConfigurationError, match="cannot get the vectors"):
        await reindex(ReferenceStore(), "default", new)


async def test_an_engine_that_is_open_meanwhile_takes_the_new_embedder_with_its_next_call(engine, make_engine, new):
    other = make_engine()
    try:
        await other.search_memory(FACTS[0])
        await engine.reindex("new")
        assert (await other.search_memory(FACTS[0])).hits[0].text == FACTS[0]
        assert (await other.add_memory("The saw is in the shed")).outcome == "stored"
        assert new.embedded[-1] == "The saw is in the shed"
    finally:
        await other.close()


async def test_an_embedder_that_was_handed_over_is_not_replaced(engine, tmp_path, old):
    other = MemoryEngine(store=SQLiteStore(tmp_path / "memory.db"), embedder=old)
    try:
        await engine.reindex("new")
        with pytest.raises(EmbedderMismatchError):
            await other.search_memory(FACTS[0])
    finally:
        await other.close()
