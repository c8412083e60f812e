"""Adding a memory reports a near duplicate, and nothing where the match is uncertain."""

import json
from pathlib import Path

import pytest

from zapomni_core.memory.engine import MemoryEngine
from zapomni_core.memory.similar import are_similar
from zapomni_core.sessions import MemoryManager
from zapomni_core.testing.embedder import HashingEmbedder
from zapomni_db.errors import StoreUnavailableError
from zapomni_db.sqlite import SQLiteStore

PAIRS = Path(__file__).parents[4] / "benchmarks" / "quality" / "sets" / "similar.jsonl"
OLD, NEW = "The team meets every Tuesday at 10:00.", "The team is meeting every Tuesday at 10:00."


@pytest.fixture
async def engine(tmp_path):
    engine = MemoryEngine(store=SQLiteStore(tmp_path / "memory.db"), embedder=HashingEmbedder())
    yield engine
    await engine.close()


def judged(*, same):
    pairs = [json.loads(line) for line in PAIRS.read_text(encoding="utf-8").splitlines()]
    return [are_similar(pair["stored"], pair["new"]) for pair in pairs if pair["same"] is same]


def test_of_thirty_facts_in_other_words_most_are_noticed():
    assert sum(judged(same=True)) >= 22


def test_of_thirty_other_facts_at_most_one_is_taken_for_the_same():
    assert sum(judged(same=False)) <= 1


async def test_a_memory_that_says_nearly_the_same_is_named(engine):
    old = await engine.add_memory(OLD)
    new = await engine.add_memory(NEW)
    assert (old.similar, new.similar) == (None, old.memory_id)
    assert new.outcome == "stored"


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ({}, {}, "The team meets every Tuesday at 11:00."),
        ({}, {}, "The team never meets every Tuesday at 10:00."),
        ({}, {}, "Ada keeps bees behind the house."),
        ({"author": "Ada"}, {"author": "Grace"}, NEW),
        ({"timestamp": "2025-05-08"}, {"timestamp": "2026-05-08"}, NEW),
        ({}, {}, NEW + "\n\n" + "Something else is said in many words. " * 500),
    ],
    ids=["number", "negation", "another fact", "author", "time", "many chunks"],
)
async def test_a_different_fact_reports_no_similar_memory(engine, old, new, text):
    await engine.add_memory(OLD, old)
    assert (await engine.add_memory(text, new)).similar is None


async def test_replaced_deleted_and_identical_memories_are_not_similar_ones(engine):
    old = await engine.add_memory(OLD)
    assert (await engine.add_memory(OLD)).similar is None
    new = await engine.add_memory(NEW, replaces=old.memory_id)
    assert new.similar is None
    await engine.delete_memory(new.memory_id)
    assert (await engine.add_memory("The team is meeting on every Tuesday at 10:00.")).similar is None


async def test_a_message_is_not_named(engine):
    await MemoryManager(engine).store_message("7d9b8a3e-0000-4000-8000-000000000001", "user", OLD)
    assert (await engine.add_memory(NEW)).similar is None


async def test_a_store_that_cannot_be_searched_changes_nothing_of_the_answer(engine, monkeypatch, caplog):
    await engine.add_memory(OLD)

    async def fail(*_):
        raise StoreUnavailableError("busy")

    monkeypatch.setattr(engine.memories, "candidates", fail)
    result = await engine.add_memory(NEW)
    assert (result.outcome, result.similar) == ("stored", None)
    assert caplog.records[-1].message == "similar_not_looked_for"
    assert (await engine.get_memory(result.memory_id)).text == NEW


async def test_a_similar_memory_can_be_replaced_by_adding_again(engine):
    await engine.add_memory(OLD)
    new = await engine.add_memory(NEW)
    again = await engine.add_memory(NEW, replaces=new.similar)
    assert (again.memory_id, again.replaced) == (new.memory_id, new.similar)
