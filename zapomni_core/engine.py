"""The memory engine: adds, finds, gets, deletes and restores memories of one workspace."""

import asyncio
import copy
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from zapomni_core.intake import clean_metadata, clean_text, preview
from zapomni_core.models import EngineStats, HostStats, MemoryResult, SearchResult
from zapomni_core.provider import ProviderContext, Providers
from zapomni_core.settings import Settings
from zapomni_db.errors import EmbedderMismatchError, InvalidInputError, MemoryNotFoundError
from zapomni_db.filters import parse_filter

if TYPE_CHECKING:
    from zapomni_core.embedding import Embedder, OnBatch
    from zapomni_db.arrays import Vector
    from zapomni_db.records import Added, Memory
    from zapomni_db.store import MemoryStore

log = logging.getLogger("zapomni.engine")

T = TypeVar("T")

LONGEST_QUERY = 1000
MOST_HITS = 100
KEEP_DELETED_DAYS = 30
DEFAULT_STORE = "sqlite"
DEFAULT_EMBEDDER = "default"


class MemoryEngine:
    """One workspace's memory. Built at once and connected on first use, so that listing tools needs no database."""

    def __init__(
        self,
        settings: Settings | None = None,
        providers: Providers | None = None,
        *,
        store: "MemoryStore | None" = None,
        embedder: "Embedder | None" = None,
    ) -> None:
        self.settings = settings or Settings()
        self.workspace = self.settings.workspace
        self.host_stats: Callable[[], HostStats] = HostStats
        self._parts = Parts(self.settings, providers, store, embedder)

    def in_workspace(self, name: str) -> Self:
        """The same engine bound to another workspace; store and embedder are shared."""
        other = copy.copy(self)
        other.workspace = Settings.model_validate({"workspace": name}).workspace
        return other

    @property
    def memories(self) -> "MemoryStore":
        """The store's protocol for memories."""
        return self._parts.store

    async def initialize(self) -> None:
        """Connect now instead of on first use; connecting twice is connecting once."""
        await self._parts.embedder()

    async def close(self) -> None:
        """Let go of everything; closing twice is closing once."""
        await self._parts.close()

    async def add_memory(
        self, text: str, metadata: Mapping[str, Any] | None = None, *, replaces: str | None = None
    ) -> MemoryResult:
        """Keep a text: chunked, embedded, written in one transaction, durable when this returns.

        The same text with the same metadata is kept once. A call that fails or is cancelled leaves nothing behind.
        """
        from zapomni_core.adding import attended, prepare

        text, metadata = clean_text(text), clean_metadata(metadata)

        async def add(embedder: "Embedder") -> "Added":
            memory = await prepare(text, metadata, embedder, self._parts.reuse, replaces)
            writing = self._parts.store.add(self.workspace, memory, embedder.identity)
            return await attended(writing, len(memory.chunks) + 2, "writing")

        added = await self._parts.embedding(add)
        replaced = None if replaces == added.memory_id else replaces
        return MemoryResult(added.memory_id, added.chunks, preview(text), added.outcome, replaced)

    async def search_memory(
        self,
        query: str,
        limit: int = 10,
        filters: Mapping[str, Any] | None = None,
        *,
        max_tokens: int | None = None,
    ) -> SearchResult:
        """The memories that answer a question, by words and by meaning."""
        from zapomni_core.search.searching import SearchRequest, search

        request = SearchRequest(
            query=_check_query(query), limit=_check_limit(limit), wanted=parse_filter(filters), max_tokens=max_tokens
        )
        started = time.perf_counter()
        result = await self._parts.embedding(
            lambda embedder: search(self._parts.store, embedder, self.workspace, request)
        )
        self._parts.count_search(time.perf_counter() - started)
        return result

    async def get_memory(self, memory_id: str) -> "Memory":
        """A memory by its id, deleted and replaced ones too; MemoryNotFoundError where there is none."""
        return self._there(await self._parts.store.get(self.workspace, memory_id), memory_id)

    async def delete_memory(self, memory_id: str) -> "Memory":
        """Hide a memory from every search; it can be restored for 30 days."""
        memory = await self._parts.store.delete(self.workspace, memory_id)
        if memory is None:
            there = await self.get_memory(memory_id)
            raise MemoryNotFoundError(f"memory {there.id} is deleted already, and can be restored")
        return memory

    async def restore_memory(self, memory_id: str) -> "Memory":
        """Bring a deleted memory back."""
        memory = await self._parts.store.restore(self.workspace, memory_id)
        return self._there(memory, memory_id, "deleted memory")

    async def purge(self, *, days: float = KEEP_DELETED_DAYS, memory_ids: list[str] | None = None) -> int:
        """Really remove what was deleted longer ago than that; returns how many memories are gone."""
        before = time.time() - days * 24 * 60 * 60
        return await self._parts.store.purge(self.workspace, deleted_before=before, memory_ids=memory_ids)

    async def backup(self, target: Path) -> None:
        """Write a copy of the whole store, all workspaces, while others go on writing."""
        await self._parts.store.backup(target)

    async def reindex(self, embedder_name: str | None = None, on_progress: "OnBatch | None" = None) -> int:
        """Give the whole store the vectors of another embedder, and use that one; how many chunks were embedded.

        The old vectors serve until then. A call that failed or was cancelled is gone on with by the next one. Without a
        name, it is the embedder in the settings, else the one that made the vectors.
        """
        return await self._parts.reindex(embedder_name, on_progress)

    async def get_stats(self) -> EngineStats:
        """How much there is, and how it is doing."""
        stored = await self._parts.store.stats(self.workspace)
        host = self.host_stats()
        return EngineStats(
            total_memories=stored.memories,
            total_chunks=stored.chunks,
            deleted_memories=stored.deleted,
            superseded_memories=stored.superseded,
            database_size_mb=stored.size_bytes / 2**20,
            graph_name=self.workspace,
            store=stored.store,
            location=stored.location,
            embedder=stored.embedder,
            workspaces=stored.workspaces,
            cache_hit_rate=self._parts.reuse_rate,
            avg_query_latency_ms=self._parts.search_milliseconds,
            plugins=host.plugins,
            calls=host.calls,
        )

    async def embed(self, texts: list[str]) -> "list[Vector]":
        """Vectors of texts by the store's embedder, for plugins."""
        return list(await (await self._parts.embedder()).embed(texts))

    def _there(self, memory: "Memory | None", memory_id: str, what: str = "memory") -> "Memory":
        if memory is None:
            raise MemoryNotFoundError(f"there is no {what} {memory_id[:100]} in workspace '{self.workspace}'")
        return memory


class Parts:
    """What engines of several workspaces share: the store, the embedder, and what is counted of their work."""

    def __init__(
        self, settings: Settings, providers: Providers | None, store: "MemoryStore | None", embedder: "Embedder | None"
    ) -> None:
        self._settings = settings
        self._providers = providers
        self._store = store
        self._embedder = embedder
        self._embedder_is_given = embedder is not None
        self._choosing = asyncio.Lock()
        self._searches = 0
        self._search_seconds = 0.0
        self._wanted_vectors = 0
        self._reused_vectors = 0

    @property
    def store(self) -> "MemoryStore":
        """The store that the settings name; built here, connected by its first use."""
        if self._store is None:
            url = self._settings.store
            name = url.partition("://")[0] if url else DEFAULT_STORE
            context = ProviderContext(settings=self._settings, url=url)
            self._store = self._offered.get("store", name).factory(context)
        return self._store

    async def embedder(self) -> "Embedder":
        """The embedder that made the store's vectors; for a new store the one that the settings name."""
        if self._embedder is None:
            async with self._choosing:
                self._embedder = self._embedder or await self._choose()
        return self._embedder

    async def embedding(self, work: "Callable[[Embedder], Awaitable[T]]") -> T:
        """The result of work with the store's embedder; with the new one where another process made new vectors."""
        embedder = await self.embedder()
        try:
            return await work(embedder)
        except EmbedderMismatchError:
            if self._embedder_is_given or await self.store.embedder() == embedder.identity:
                raise
            if self._embedder is embedder:
                self._embedder = None
            return await work(await self.embedder())

    async def _choose(self) -> "Embedder":
        kept = await self.store.embedder()
        wanted = self._settings.embedder
        if kept is not None and wanted not in (None, kept.name):
            raise EmbedderMismatchError(
                f"the store's vectors were made by embedder '{kept.name}', the settings ask for '{wanted}'; "
                f"run: zapomni reindex --embedder {wanted}"
            )
        name = kept.name if kept else wanted or DEFAULT_EMBEDDER
        embedder = self._make_embedder(name)
        if kept not in (None, embedder.identity):
            raise EmbedderMismatchError(
                f"the store's vectors were made by another model of embedder '{name}'; run: zapomni reindex --embedder {name}"
            )
        return embedder

    def _make_embedder(self, name: str) -> "Embedder":
        embedder: Embedder = self._offered.get("embedder", name).factory(ProviderContext(settings=self._settings))
        return embedder

    async def reindex(self, name: str | None, on_progress: "OnBatch | None") -> int:
        """Vectors by another embedder, which is used from then on."""
        from zapomni_core.reindexing import reindex

        kept = await self.store.embedder()
        embedder = self._make_embedder(name or self._settings.embedder or (kept.name if kept else DEFAULT_EMBEDDER))
        unused: Embedder | None = embedder
        try:
            made = await reindex(self.store, embedder, on_progress)
            unused, self._embedder = self._embedder, embedder
        finally:
            if unused is not None:
                await unused.close()
        return made

    async def reuse(self, embedder: "Embedder", digests: list[bytes]) -> "dict[bytes, Vector]":
        """Vectors of contents that were embedded before."""
        found = await self.store.vectors(embedder.identity, digests)
        self._wanted_vectors += len(digests)
        self._reused_vectors += len(found)
        return found

    @property
    def reuse_rate(self) -> float | None:
        """The share of vectors that did not have to be made."""
        return self._reused_vectors / self._wanted_vectors if self._wanted_vectors else None

    def count_search(self, seconds: float) -> None:
        """Note one search."""
        self._searches += 1
        self._search_seconds += seconds

    @property
    def search_milliseconds(self) -> float | None:
        """What a search took on average."""
        return round(self._search_seconds / self._searches * 1000, 3) if self._searches else None

    async def close(self) -> None:
        """Close what was opened."""
        if self._store is not None:
            await self._store.close()
        if self._embedder is not None:
            await self._embedder.close()

    @property
    def _offered(self) -> Providers:
        if self._providers is None:
            from zapomni_core.providers import BUILT_IN

            self._providers = Providers(BUILT_IN)
        return self._providers


def _check_query(query: str) -> str:
    query = query.strip()
    if not query:
        raise InvalidInputError("query cannot be empty or whitespace-only")
    if len(query) > LONGEST_QUERY:
        raise InvalidInputError(f"query exceeds maximum length ({LONGEST_QUERY:,} characters)")
    return query


def _check_limit(limit: int) -> int:
    if not 1 <= limit <= MOST_HITS:
        raise InvalidInputError(f"limit must be from 1 to {MOST_HITS}")
    return limit
