"""Spares embedding what was embedded before: vectors of chunks by their digest in the store, of questions here."""

from collections import OrderedDict
from hashlib import blake2b
from typing import TYPE_CHECKING

from zapomni_core.embedding.embedder import Embedder

if TYPE_CHECKING:
    from zapomni_db.arrays import Vector
    from zapomni_db.records import EmbedderIdentity


def digest(identity: "EmbedderIdentity", text: str) -> bytes:
    """16 bytes that name what an embedder embedded: equal if embedder and text are."""
    who = f"{identity.name}\0{identity.model}\0{identity.dimension}\0"
    return blake2b((who + text).encode("utf-8", "surrogatepass"), digest_size=16).digest()


class QueryCache:
    """Embeds questions, and remembers the last ones."""

    def __init__(self, embedder: Embedder, size: int = 256) -> None:
        self._embedder = embedder
        self._size = size
        self._vectors: OrderedDict[bytes, Vector] = OrderedDict()

    async def vector(self, question: str) -> "Vector":
        """The vector of a question. It is shared, so it cannot be written to."""
        key = digest(self._embedder.identity, question)
        vector = self._vectors.pop(key, None)
        if vector is None:
            vector = (await self._embedder.embed([question], query=True))[0]
            vector.setflags(write=False)
        self._vectors[key] = vector
        if len(self._vectors) > self._size:
            self._vectors.popitem(last=False)
        return vector
