"""Parts that fail: a store that is away or never answers, an embedder that breaks. A plugin that offers them by name."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from zapomni_core.embedding import OnBatch, Profile, guess_tokens
from zapomni_core.hookspecs import hookimpl
from zapomni_core.provider import Provider
from zapomni_core.testing.embedder import HashingEmbedder
from zapomni_db.arrays import Vector
from zapomni_db.errors import StoreUnavailableError
from zapomni_db.records import EmbedderIdentity

PRIVATE = "/home/ada/secret-plans"
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


class FaultyEmbedder:
    """An embedder that cannot be loaded, and says so with what is nobody's business."""

    identity = EmbedderIdentity("faulty", "faulty", 8)
    profile = Profile()

    def tokens(self, text: str) -> int:
        return guess_tokens(text)

    async def embed(
        self, texts: Sequence[str], *, query: bool = False, on_batch: OnBatch | None = None
    ) -> Vector:  # the embedder's signature
        raise OSError(f"cannot read {PRIVATE}/weights.bin for {len(texts)} texts, {query=}, {on_batch=}")

    async def close(self) -> None:
        """There is nothing to close."""


class Faults:
    """A plugin that offers the stores `away://` and `silent://`, the embedder `faulty`, and `hashing`, which works and is quick.

    `reached` is set once the silent store was asked for something, to which it will never answer.
    """

    def __init__(self) -> None:
        self.reached = asyncio.Event()

    @hookimpl
    def zapomni_providers(self) -> list[Provider]:
        return [
            Provider(kind="store", name="away", factory=lambda _: FaultyStore(_away)),
            Provider(kind="store", name="silent", factory=lambda _: FaultyStore(self._say_nothing)),
            Provider(kind="embedder", name="faulty", factory=lambda _: FaultyEmbedder()),
            Provider(kind="embedder", name="hashing", factory=lambda _: HashingEmbedder()),
        ]

    async def _say_nothing(self) -> None:
        self.reached.set()
        await asyncio.get_running_loop().create_future()


async def _away() -> None:
    raise StoreUnavailableError(f"The store {PRIVATE}/memory.db cannot be reached: start its server.")
