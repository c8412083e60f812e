"""The embedder: loads its model on first use, in a thread of its own."""

import asyncio
import difflib
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from zapomni_core.plugin import ProcessingError
from zapomni_core.plugin.embedders import (
    EmbedderIdentity,
    OnBatch,
    Profile,
    guess_tokens,
    in_batches,
    prefixes_of,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from zapomni_plugin_fastembed import FastembedSettings

T = TypeVar("T")

DEFAULT_MODEL = "BAAI/bge-small-en-v1.5"
PAUSE_SECONDS = 60.0
"""After a model could not be loaded, before that is tried again."""


class FastembedEmbedder:
    """Embeds one text per run: vectors of quantised models depend on the other texts of their run, and it is no slower."""

    def __init__(self, settings: "FastembedSettings", recorded: EmbedderIdentity | None = None) -> None:
        self._settings = settings
        self._model_name = settings.model or (recorded.model if recorded else DEFAULT_MODEL)
        self._dimension = recorded.dimension if recorded and recorded.model == self._model_name else 0
        prefixes = prefixes_of(self._model_name)
        self.profile = Profile(query_prefix=prefixes.query, passage_prefix=prefixes.passage, batch_texts=16)
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="fastembed")
        self._model: Any = None
        self._failure: ProcessingError | None = None
        self._failed_at = 0.0

    @property
    def identity(self) -> EmbedderIdentity:
        """The dimension is known when the model is."""
        return EmbedderIdentity("fastembed", self._model_name, self._dimension)

    def tokens(self, text: str) -> int:
        """Estimate the tokens, without the model."""
        return guess_tokens(text)

    def needs_download(self) -> str:
        """The download that the first use needs; empty if none."""
        try:
            description = _description_of(self._model_name)
            if not self._settings.folder:
                self._make(local_files_only=True, lazy_load=True)
        except ProcessingError:
            return ""
        except Exception:  # noqa: BLE001 (whatever the hub's library raises for files that are missing)
            return f"{self._model_name}, {description['size_in_GB'] * 1000:.0f} MB"
        return ""

    async def embed(
        self, texts: Sequence[str], *, query: bool = False, on_batch: OnBatch | None = None
    ) -> "NDArray[np.float32]":
        """Return one row of unit length for each text. The first call loads the model, and downloads it if need be."""
        await self._run(self._load)
        return await in_batches(
            texts,
            lambda batch: self._run(partial(self._encode, batch, query=query)),
            self.profile,
            dimension=self._dimension,
            query=query,
            on_batch=on_batch,
        )

    async def close(self) -> None:
        """End the thread; a download is not waited for."""
        self._executor.shutdown(wait=False, cancel_futures=True)
        self._model = None

    async def _run(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._executor, work)
        except RuntimeError as error:
            raise ProcessingError("The embedder 'fastembed' is closed") from error

    def _load(self) -> None:
        if self._model is not None:
            return
        if self._failure and time.monotonic() < self._failed_at + PAUSE_SECONDS:
            raise self._failure
        try:
            self._dimension = int(_description_of(self._model_name)["dim"])
            self._model = self._make()
        except Exception as error:
            self._failed_at, self._failure = time.monotonic(), self._explained(error)
            raise self._failure from error

    def _make(self, **options: Any) -> Any:
        from platformdirs import user_cache_path

        settings = self._settings
        cache = settings.cache or user_cache_path("zapomni", appauthor=False) / "fastembed"
        if settings.folder:
            options["specific_model_path"] = str(settings.folder)
        return _fastembed().TextEmbedding(self._model_name, cache_dir=str(cache), threads=settings.threads, **options)

    def _explained(self, error: Exception) -> ProcessingError:
        if isinstance(error, ProcessingError):
            return error
        if self._settings.folder:
            return ProcessingError(
                f"The folder in plugins.fastembed.folder does not hold the files of {self._model_name} "
                "that fastembed expects; the log has the cause"
            )
        return ProcessingError(
            f"The model {self._model_name} could not be downloaded or loaded; check the network connection, or name a folder "
            "with its files in plugins.fastembed.folder"
        )

    def _encode(self, texts: list[str], *, query: bool) -> "NDArray[np.float32]":
        import numpy as np

        encode = self._model.query_embed if query else self._model.passage_embed
        readable = [text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace") for text in texts]
        rows = np.stack(list(encode(readable, batch_size=1))).astype(np.float32)
        return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.finfo(np.float32).tiny))


def _fastembed() -> Any:
    """The library, without the log that it prints on standard error."""
    import fastembed
    from loguru import logger

    logger.disable("fastembed")
    return fastembed


def _description_of(model: str) -> dict[str, Any]:
    """The description of a model by fastembed; ProcessingError if it does not know it."""
    known = {one["model"].lower(): one for one in _fastembed().TextEmbedding.list_supported_models()}
    if model.lower() not in known:
        nearest = difflib.get_close_matches(model.lower(), known, n=1)
        hint = (
            f"did you mean {known[nearest[0]]['model']}?" if nearest else "its documentation lists those that it knows"
        )
        raise ProcessingError(f"fastembed does not know the model {model}; {hint}")
    found: dict[str, Any] = known[model.lower()]
    return found
