"""Stores of any size for the memory benchmark, with real text and real vectors that are computed once and kept."""

import asyncio
import hashlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from platformdirs import user_cache_path
from rich.progress import track

from zapomni_core.embedding import DefaultEmbedder
from zapomni_core.text.terms import terms
from zapomni_db.records import EmbedderIdentity, NewChunk, NewMemory
from zapomni_db.sqlite import SQLiteStore

KEPT = user_cache_path("zapomni-benchmarks")
KEPT_TOGETHER = 1_000
TOGETHER = 128


async def vectors_of(texts: list[str], embedder: DefaultEmbedder) -> np.ndarray:
    """The vectors of texts; 100,000 take a quarter of an hour, the first time."""
    parts = [texts[first : first + KEPT_TOGETHER] for first in range(0, len(texts), KEPT_TOGETHER)]
    return np.concatenate([await _kept(part, embedder) for part in track(parts, "vectors")])


async def _kept(texts: list[str], embedder: DefaultEmbedder) -> np.ndarray:
    """The vectors of some texts, from an earlier run if there was one."""
    told = repr((embedder.identity, texts)).encode()
    file = KEPT / f"{hashlib.blake2b(told, digest_size=16).hexdigest()}.npy"
    if not file.exists():
        vectors = await embedder.embed(texts)
        file.parent.mkdir(parents=True, exist_ok=True)
        whole = file.with_suffix(".part")
        with whole.open("wb") as output:
            np.save(output, vectors)
        whole.replace(file)
    return np.load(file)


async def build(file: Path, texts: list[str], vectors: np.ndarray, identity: EmbedderIdentity, chunks: int = 1) -> None:
    """A store of memories with the given number of chunks each, one chunk per text."""
    store = SQLiteStore(file)
    waiting = []
    for memory in memories(texts, vectors, identity, chunks):
        waiting.append(store.add("default", [memory]))
        if len(waiting) == TOGETHER:
            await asyncio.gather(*waiting)
            waiting = []
    await asyncio.gather(*waiting)
    await store.close()


def memories(texts: list[str], vectors: np.ndarray, identity: EmbedderIdentity, chunks: int) -> Iterator[NewMemory]:
    for first in range(0, len(texts), chunks):
        parts, start = [], 0
        for text, vector in zip(texts[first : first + chunks], vectors[first : first + chunks], strict=True):
            parts.append(chunk(text, start, vector))
            start += len(text) + 1
        text = "\n".join(texts[first : first + chunks])
        yield NewMemory(text=text, metadata={}, chunks=tuple(parts), embedder=identity)


def chunk(text: str, start: int, vector: np.ndarray) -> NewChunk:
    words = tuple(terms(text))
    return NewChunk(start=start, end=start + len(text), heading="", terms=words, vector=vector)
