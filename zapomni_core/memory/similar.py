"""Notices that a memory which was just added says what another one says already."""

import asyncio
import logging
from typing import TYPE_CHECKING

from zapomni_core.search.answer import NEARLY_EQUAL, differ_in_fact
from zapomni_core.text.terms import terms, words
from zapomni_db.records import ChunkFound, NewMemory, Question, TermCounts

if TYPE_CHECKING:
    from zapomni_core.memory.engine import MemoryEngine

log = logging.getLogger("zapomni.similar")

NEAREST = 5
SECONDS = 2.0
"""The time that the answer to an add waits for this."""


async def find_similar(engine: "MemoryEngine", memory: NewMemory, memory_id: str) -> str | None:
    """The ID of another memory that says nearly the same as this one, which has one chunk and is stored; None if none does.

    Never raises: the memory is stored, whatever happens here.
    """
    if len(memory.chunks) != 1 or memory.chunks[0].vector is None:
        return None
    try:
        async with asyncio.timeout(SECONDS):
            return await _nearest(engine, memory, memory_id)
    except Exception:
        log.warning("similar_not_looked_for", exc_info=True)
        return None


async def _nearest(engine: "MemoryEngine", memory: NewMemory, memory_id: str) -> str | None:
    question = Question(
        terms=(),
        counts=TermCounts(0, ()),
        vector=memory.chunks[0].vector,
        embedder=memory.embedder,
        by_vector=NEAREST + 1,
    )
    proposed = (await engine.memories.candidates(engine.workspace, question)).found
    others = [one for one in proposed if one.cosine is not None and one.memory_id != memory_id]
    others.sort(key=lambda one: -(one.cosine or 0))
    found = await engine.memories.chunks(engine.workspace, [one.chunk for one in others[:NEAREST]])
    return next((one.memory_id for one in found if _says_the_same(memory, one)), None)


def _says_the_same(memory: NewMemory, other: ChunkFound) -> bool:
    """Whether two memories of one author and one time differ only in how they are put."""
    if (memory.kind, memory.author, memory.timestamp) != (other.kind, other.author, other.timestamp):
        return False
    return are_similar(memory.text, other.text)


def are_similar(one: str, other: str) -> bool:
    """Whether two texts have nearly the same terms, and do not differ in a number or a negation."""
    own, others = frozenset(terms(one)), frozenset(terms(other))
    if not own or len(own & others) < NEARLY_EQUAL * len(own | others):
        return False
    return not differ_in_fact(words(one), words(other))
