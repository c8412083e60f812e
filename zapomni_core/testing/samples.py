"""Memories to test stores with: small, plain, and always the same."""

import hashlib
from typing import Any

import numpy as np

from zapomni_db.arrays import Vector
from zapomni_db.records import EmbedderIdentity, NewChunk, NewMemory

WORKSPACE = "default"
EMBEDDER = EmbedderIdentity("samples", "words", 96)


def sample_vector(text: str, dimension: int = EMBEDDER.dimension) -> Vector:
    """A unit vector: texts that share words are near each other."""
    total = np.zeros(dimension)
    for word in text.split() or [text]:
        seed = hashlib.blake2b(word.encode(), digest_size=8).digest()
        total += np.random.default_rng(list(seed)).standard_normal(dimension)
    return np.asarray(total / np.linalg.norm(total), np.float32)


def sample_chunk(text: str, start: int = 0, end: int | None = None, **fields: Any) -> NewChunk:
    """A chunk of a text whose terms are its words."""
    stop = len(text) if end is None else end
    part = text[start:stop]
    made: dict[str, Any] = {
        "heading": "",
        "terms": tuple(part.split()),
        "vector": sample_vector(part.encode(errors="replace").decode()),
    }
    return NewChunk(start=start, end=stop, **(made | fields))


def sample_memory(text: str, *chunks: NewChunk, **fields: Any) -> NewMemory:
    """A memory of one chunk, or of these."""
    defaults: dict[str, Any] = {"metadata": {}, "embedder": EMBEDDER}
    fields = defaults | fields
    key = repr((text, sorted(fields["metadata"].items(), key=repr), fields.get("kind")))
    name = hashlib.blake2b(key.encode(errors="replace"), digest_size=16).hexdigest()
    return NewMemory(text=text, chunks=chunks or (sample_chunk(text),), **({"key": name} | fields))
