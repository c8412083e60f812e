"""Embedders and extractors that fail in one way only, whatever a plugin or its network raises."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from operator import index
from typing import TYPE_CHECKING, Any

from zapomni_core.embedding import Profile, guess_tokens
from zapomni_core.errors import EmbedderMissingError, ProcessingError, ZapomniError
from zapomni_core.provider import close_part
from zapomni_db.errors import DatabaseError, InvalidInputError
from zapomni_db.records import Extraction

if TYPE_CHECKING:
    from zapomni_core.embedding import Embedder, OnBatch
    from zapomni_core.extraction import Extractor
    from zapomni_db.arrays import Vector
    from zapomni_db.records import EmbedderIdentity


class GuardedEmbedder:
    """The embedder within. It fails in one way only: with a ProcessingError that names it.

    What it raises that is not meant for people becomes one, and so does what it returns that is not what was asked for.
    """

    def __init__(self, inner: "Embedder") -> None:
        self._inner = inner

    @property
    def identity(self) -> "EmbedderIdentity":
        return self._inner.identity

    @property
    def profile(self) -> Profile:
        return self._inner.profile

    async def embed(self, texts: Sequence[str], *, query: bool = False, on_batch: "OnBatch | None" = None) -> "Vector":
        """The vectors. What a message of somebody else's says may be a secret: only the log has it."""
        with self._one_way():
            made = await self._inner.embed(texts, query=query, on_batch=on_batch)
            return _checked_vectors(made, len(texts), self.identity)

    def tokens(self, text: str) -> int:
        try:
            return index(self._inner.tokens(text))
        except Exception as error:
            raise self._failed(error) from error

    async def close(self) -> None:
        await close_part(self._inner)

    @contextmanager
    def _one_way(self) -> Iterator[None]:
        try:
            yield
        except ZapomniError:
            raise
        except Exception as error:
            raise self._failed(error) from error

    def _failed(self, error: Exception) -> ProcessingError:
        name = self._inner.identity.name
        return ProcessingError(f"The embedder '{name}' failed ({type(error).__name__}); the log has the cause")


def _checked_vectors(made: Any, count: int, identity: "EmbedderIdentity") -> "Vector":
    """The vectors as an array; ProcessingError where their number, dimension or values are wrong."""
    rows = _finite_array(made)
    if rows is None or (count and rows.shape != (count, identity.dimension)):
        raise ProcessingError(
            f"The embedder '{identity.name}' did not return {count} vectors of {identity.dimension} numbers; "
            "choose another embedder in the settings, or ask its author"
        )
    return rows


def _finite_array(made: Any) -> "Vector | None":
    import numpy as np

    try:
        with np.errstate(over="ignore"):
            rows = np.asarray(made, np.float32)
    except (TypeError, ValueError):
        return None
    return rows if np.isfinite(rows).all() else None


class AbsentEmbedder:
    """Stands in for an embedder that no plugin offers: it has the identity of the store's vectors and makes none."""

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
        on_batch: "OnBatch | None" = None,  # noqa: ARG002
    ) -> "Vector":
        raise EmbedderMissingError(self.identity.name)

    async def close(self) -> None:
        """There is nothing to close."""


class GuardedExtractor:
    """The extractor within; what it raises that is not meant for people, or returns that is no Extraction, is told by its name."""

    def __init__(self, inner: "Extractor") -> None:
        self._inner = inner

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def asks_llm(self) -> bool:
        """Whether it may need a language model; one that does not say so may."""
        return bool(getattr(self._inner, "asks_llm", True))

    @property
    def state(self) -> Mapping[str, Any] | None:
        """How its language model is doing, where it has one."""
        state: Mapping[str, Any] | None = getattr(self._inner, "state", None)
        return state

    async def extract(self, text: str, *, timestamp: datetime | None = None) -> Extraction:
        """What the text speaks of."""
        try:
            found: Any = await self._inner.extract(text, timestamp=timestamp)
        except (ZapomniError, DatabaseError, InvalidInputError):
            raise
        except Exception as error:
            raise ProcessingError(
                f"The extractor '{self.name}' failed ({type(error).__name__}); the log has the cause"
            ) from error
        if not isinstance(found, Extraction):
            made = type(found).__name__
            raise ProcessingError(
                f"The extractor '{self.name}' returned {made}, not an Extraction; choose another extractor in the "
                "settings, or ask its author"
            )
        return found

    async def close(self) -> None:
        await close_part(self._inner)
