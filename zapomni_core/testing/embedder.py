"""An embedder for tests that hashes words and their letters. It needs no model and is deterministic."""

import re
from collections.abc import Iterator, Sequence
from zlib import crc32

import numpy as np

from zapomni_core.embedding import OnBatch, Profile, guess_tokens, in_batches
from zapomni_db.arrays import Vector
from zapomni_db.records import EmbedderIdentity

_WORD = re.compile(r"\w+")


class HashingEmbedder:
    """Texts that share words have similar vectors; shared parts of words count a little."""

    def __init__(self, dimension: int = 256, profile: Profile | None = None, name: str = "hashing") -> None:
        self.identity = EmbedderIdentity(name, f"hashing-{dimension}", dimension)
        self.profile = profile or Profile(vector_weight=0.75, author_bonus=0.3, confidence=(-3.0, 1.6, 10.7, -0.22))

    def tokens(self, text: str) -> int:
        return guess_tokens(text)

    async def embed(self, texts: Sequence[str], *, query: bool = False, on_batch: OnBatch | None = None) -> Vector:
        dimension = self.identity.dimension
        return await in_batches(texts, self._encode, self.profile, dimension=dimension, query=query, on_batch=on_batch)

    async def close(self) -> None:
        """There is nothing to close."""

    async def _encode(self, texts: list[str]) -> Vector:
        return np.stack([self.vector(text) for text in texts])

    def vector(self, text: str) -> Vector:
        """The vector of one text."""
        hashes = np.fromiter(
            (crc32(feature.encode("utf-8", "surrogatepass")) for feature in _features(text)), np.uint32
        )
        signs = np.where(hashes & 1, np.float32(1), np.float32(-1))
        vector = np.bincount((hashes >> 1) % self.identity.dimension, signs, self.identity.dimension).astype(np.float32)
        if not vector.any():
            vector[0] = 1
        return vector / np.float32(np.linalg.norm(vector))


def _features(text: str) -> Iterator[str]:
    """Every word twice, so that it weighs more than its parts, and its runs of three letters."""
    for word in _WORD.findall(text.casefold()):
        yield word
        yield word
        framed = f"<{word}>"
        yield from (framed[at : at + 3] for at in range(len(framed) - 2))
