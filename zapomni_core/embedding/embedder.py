"""What an embedder must be. Any object of this shape is one; there is nothing to inherit."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from zapomni_core.embedding.profile import Profile

if TYPE_CHECKING:
    from zapomni_db.arrays import Vector
    from zapomni_db.records import EmbedderIdentity

OnBatch = Callable[[int, int], Awaitable[None]]
"""Awaited after every batch with how many texts are done, and how many there are."""


class Embedder(Protocol):
    """Turns texts into vectors. It loads or connects on first use; `close` is idempotent, and final."""

    @property
    def identity(self) -> "EmbedderIdentity":
        """Who makes the vectors. Vectors of different identities are never compared. Its name is the provider's."""
        ...

    @property
    def profile(self) -> Profile: ...

    async def embed(self, texts: Sequence[str], *, query: bool = False, on_batch: OnBatch | None = None) -> "Vector":
        """One row of unit length for each text, in order. Takes any text; raises ProcessingError if it cannot embed.

        `query` says that the texts are questions. Cancelling takes effect between batches at the latest.
        """
        ...

    def tokens(self, text: str) -> int:
        """About how many tokens a text has: cheap, and without loading anything."""
        ...

    async def close(self) -> None: ...
