"""Stores of any size for the memory benchmark: real text, and vectors that are real or made of real ones."""

import asyncio
import hashlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from zapomni_core.embedding import DefaultEmbedder
from zapomni_core.terms import terms
from zapomni_db.records import EmbedderIdentity, NewChunk, NewMemory
from zapomni_db.sqlite import SQLiteStore

REAL_VECTORS = 10_000
TOGETHER = 128
NOISE = 0.02  # of a unit vector's length in each dimension: half of what is known of it


async def vectors_of(texts: list[str], embedder: DefaultEmbedder) -> np.ndarray:
    """Real vectors of the first 10,000 texts; the others have one of these, blurred: as near to each other as real ones are."""
    real = await embedder.embed(texts[:REAL_VECTORS])
    rest = len(texts) - len(real)
    chance = np.random.default_rng(3)
    blurred = real[chance.integers(0, len(real), rest)]
    blurred += chance.standard_normal(blurred.shape, np.float32) * NOISE
    blurred /= np.linalg.norm(blurred, axis=1, keepdims=True)
    return np.concatenate([real, blurred])


async def build(file: Path, texts: list[str], vectors: np.ndarray, identity: EmbedderIdentity, chunks: int = 1) -> None:
    """A store of memories that have so many chunks each, one for each text."""
    store = SQLiteStore(file)
    waiting = []
    for memory in memories(texts, vectors, chunks):
        waiting.append(store.add("default", memory, identity))
        if len(waiting) == TOGETHER:
            await asyncio.gather(*waiting)
            waiting = []
    await asyncio.gather(*waiting)
    await store.close()


def memories(texts: list[str], vectors: np.ndarray, chunks: int) -> Iterator[NewMemory]:
    for first in range(0, len(texts), chunks):
        parts, start = [], 0
        for text, vector in zip(texts[first : first + chunks], vectors[first : first + chunks], strict=True):
            parts.append(chunk(text, start, vector))
            start += len(text) + 1
        yield NewMemory(text="\n".join(texts[first : first + chunks]), metadata={}, chunks=tuple(parts))


def chunk(text: str, start: int, vector: np.ndarray) -> NewChunk:
    digest = hashlib.blake2b(text.encode(), digest_size=16).digest()
    words = tuple(terms(text))
    return NewChunk(start=start, end=start + len(text), heading="", terms=words, digest=digest, vector=vector)
