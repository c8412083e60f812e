"""Parts that fail: a store that is away or never answers, an embedder that breaks, an extractor that is watched.

A plugin offers them by name.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from zapomni_core.dispatch.call import current_call_id
from zapomni_core.embedding import OnBatch
from zapomni_core.errors import LLMUnavailableError
from zapomni_core.extraction import Extractor
from zapomni_core.hookspecs import hookimpl
from zapomni_core.providers import Provider, ProviderContext, make_llm_extractor
from zapomni_core.testing.embedder import HashingEmbedder
from zapomni_db.arrays import Vector
from zapomni_db.errors import StoreUnavailableError
from zapomni_db.records import Extraction

PRIVATE = "/home/ada/secret-plans"
KEY = "sk-hunter2-of-ada"
PASSWORD = "sesame-of-ada"  # noqa: S105 (nobody's)
SECRETS = (PRIVATE, KEY, PASSWORD)
"""What no answer may tell."""
_PARTS = ("jobs", "graph", "conversations")


class FaultyStore:
    """A store each of whose methods ends in the same fault; it closes well."""

    def __init__(self, fault: Callable[[], Awaitable[Any]]) -> None:
        self._fault = fault

    async def close(self) -> None:
        """There is nothing to close."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return FaultyStore(self._fault) if name in _PARTS else self._fail

    async def _fail(self, *_arguments: Any, **_options: Any) -> Any:
        return await self._fault()


class FaultyEmbedder(HashingEmbedder):
    """An embedder that works until it is broken, and then says so with what is nobody's business.

    `failed` has the ids of the calls that it has failed.
    """

    def __init__(self) -> None:
        super().__init__(name="faulty")
        self.broken = False
        self.failed: set[str | None] = set()

    async def embed(self, texts: Sequence[str], *, query: bool = False, on_batch: OnBatch | None = None) -> Vector:
        if self.broken:
            self.failed.add(current_call_id())
            raise OSError(f"cannot read {PRIVATE}/weights.bin for {len(texts)} texts")
        return await super().embed(texts, query=query, on_batch=on_batch)


class WatchedExtractor:
    """The extractor that asks a language model; `failed` has the ids of the calls that it has failed."""

    name = "watched"

    def __init__(self, extractor: Extractor, failed: set[str | None]) -> None:
        self._extractor = extractor
        self._failed = failed

    async def extract(self, text: str, *, timestamp: datetime | None = None) -> Extraction:
        try:
            return replace(await self._extractor.extract(text, timestamp=timestamp), extractor=self.name)
        except LLMUnavailableError:
            self._failed.add(current_call_id())
            raise

    async def close(self) -> None:
        await self._extractor.close()


class Faults:
    """A plugin that offers the stores `away://` and `silent://`, the embedder `faulty` and the extractor `watched`.

    `reached` is set once the silent store was asked for something, to which it will never answer. `failed` has the ids of
    the calls in which the language model failed.
    """

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.embedder = FaultyEmbedder()
        self.failed: set[str | None] = set()

    @hookimpl
    def zapomni_providers(self) -> list[Provider]:
        return [
            Provider(kind="store", name="away", factory=lambda _: FaultyStore(_away)),
            Provider(kind="store", name="silent", factory=lambda _: FaultyStore(self._say_nothing)),
            Provider(kind="embedder", name="faulty", factory=lambda _: self.embedder),
            Provider(kind="extractor", name="watched", factory=self._watched),
        ]

    def _watched(self, context: ProviderContext) -> WatchedExtractor:
        return WatchedExtractor(make_llm_extractor(context), self.failed)

    async def _say_nothing(self) -> None:
        self.reached.set()
        await asyncio.get_running_loop().create_future()


async def _away() -> None:
    raise StoreUnavailableError(f"The store {PRIVATE}/memory.db cannot be reached: start its server.")
