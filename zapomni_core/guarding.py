"""An embedder that fails in one way only: a plugin's, or its network's, may raise anything."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from zapomni_core.embedding.embedder import Embedder, FragmentEmbedder, OnBatch
from zapomni_core.embedding.profile import Profile
from zapomni_core.errors import ProcessingError, ZapomniError

if TYPE_CHECKING:
    from zapomni_db.arrays import Vector
    from zapomni_db.records import EmbedderIdentity


class GuardedEmbedder:
    """The embedder within; what it raises that is not meant for people becomes a ProcessingError that names its kind."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner

    @property
    def identity(self) -> "EmbedderIdentity":
        return self._inner.identity

    @property
    def profile(self) -> Profile:
        return self._inner.profile

    async def embed(self, texts: Sequence[str], *, query: bool = False, on_batch: OnBatch | None = None) -> "Vector":
        """The vectors. What a message of somebody else's says may be a secret: only the log has it."""
        with self._one_way():
            return await self._inner.embed(texts, query=query, on_batch=on_batch)

    async def fragments(self, texts: Sequence[str]) -> "list[Vector] | None":
        """The fragments; None if the embedder within gives none."""
        if not isinstance(self._inner, FragmentEmbedder):
            return None
        with self._one_way():
            return await self._inner.fragments(texts)

    def tokens(self, text: str) -> int:
        return self._inner.tokens(text)

    async def close(self) -> None:
        await self._inner.close()

    @contextmanager
    def _one_way(self) -> Iterator[None]:
        try:
            yield
        except ZapomniError:
            raise
        except Exception as error:
            name = self._inner.identity.name
            raise ProcessingError(
                f"The embedder '{name}' failed ({type(error).__name__}); the log has the cause"
            ) from error
