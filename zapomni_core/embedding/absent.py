"""Stands in for an embedder that nobody offers, so that whatever needs no new vector goes on."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from zapomni_core.embedding.embedder import OnBatch
from zapomni_core.embedding.profile import Profile
from zapomni_core.embedding.tokens import guess_tokens
from zapomni_core.errors import EmbedderMissingError

if TYPE_CHECKING:
    from zapomni_db.arrays import Vector
    from zapomni_db.records import EmbedderIdentity


class AbsentEmbedder:
    """Has the identity of the store's vectors and makes none: a search goes by words then, and says why."""

    def __init__(self, identity: "EmbedderIdentity") -> None:
        self.identity = identity
        self.profile = Profile()

    def tokens(self, text: str) -> int:
        return guess_tokens(text)

    async def embed(
        self,
        texts: Sequence[str],  # noqa: ARG002 (the protocol's signature)
        *,
        query: bool = False,  # noqa: ARG002
        on_batch: OnBatch | None = None,  # noqa: ARG002
    ) -> "Vector":
        raise EmbedderMissingError(self.identity.name)

    async def close(self) -> None:
        """There is nothing to close."""
