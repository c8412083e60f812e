"""Among hundreds of bare hashes, numbers and names, the memory that a question asks for is the first."""

import asyncio
import random

import pytest
import pytest_asyncio

from zapomni_core.memory.engine import MemoryEngine
from zapomni_db.sqlite import SQLiteStore

KINDS = {
    "hash": ("{:010x}", "The build of commit {} failed on the second machine."),
    "order": ("ORD-{:06}", "The parcel of order {} waits at the depot."),
    "error": ("E{:05}", "Error {} means that the disk of the printer is full."),
    "telephone": ("+49 30 {:07}", "The plumber can be called at {} until six."),
    "surname": ("{}", "Doctor {} moved to the practice by the river."),
}
QUESTIONS = {
    "hash": "Which build of commit {} failed?",
    "order": "Where is the parcel of order {}?",
    "error": "What does error {} mean for the printer?",
    "telephone": "Who can be called at {}?",
    "surname": "To which practice did Doctor {} move?",
}
EACH, NAMED, ASKED = 300, 40, 20


def identifiers(kind, chance):
    """Different ones of a kind."""
    pattern, _ = KINDS[kind]
    if kind == "surname":
        syllables = ["ka", "ro", "vi", "len", "mor", "ti", "sal", "dek", "ham", "bur", "nos", "wil"]
        made = sorted({"".join(chance.choices(syllables, k=3)).title() for _ in range(4 * EACH)})
    else:
        size = 16**10 if kind == "hash" else 10 ** {"order": 6, "error": 5, "telephone": 7}[kind]
        made = [pattern.format(number) for number in chance.sample(range(size // 10, size), EACH)]
    return chance.sample(made, EACH)


@pytest.fixture(scope="module")
def kept():
    chance = random.Random(11)
    return {kind: identifiers(kind, chance) for kind in KINDS}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engine(kept, tmp_path_factory):
    """A store with the default embedder and 1,500 identifiers; some are also named in a sentence, which is not so bare."""
    engine = MemoryEngine(store=SQLiteStore(tmp_path_factory.mktemp("identifiers") / "memory.db"))
    texts = [one for made in kept.values() for one in made]
    texts += [KINDS[kind][1].format(one) for kind, made in kept.items() for one in made[:NAMED]]
    await asyncio.gather(*map(engine.add_memory, texts))
    yield engine
    await engine.close()


async def first(engine, question):
    return (await engine.search_memory(question, limit=3)).hits[0].text


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("kind", KINDS)
async def test_a_bare_identifier_is_found_by_itself(engine, kept, kind):
    asked = kept[kind][NAMED : NAMED + ASKED]
    assert [await first(engine, one) for one in asked] == asked


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("kind", KINDS)
async def test_a_sentence_is_found_by_the_identifier_in_it(engine, kept, kind):
    asked = kept[kind][:ASKED]
    found = [await first(engine, QUESTIONS[kind].format(one)) for one in asked]
    assert found == [KINDS[kind][1].format(one) for one in asked]
