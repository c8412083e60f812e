"""The memory engine: adds, finds, changes and deletes memories of one workspace, and extracts from them."""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from zapomni_core.dispatch.call import call_context
from zapomni_core.errors import ConfigurationError
from zapomni_core.jobs.kinds import kind_by
from zapomni_core.memory.components import Components
from zapomni_core.memory.content import (
    changed_metadata,
    check_changeable,
    clean_metadata,
    clean_query,
    clean_text,
    key_of,
    read_metadata,
)
from zapomni_core.models import EngineStats, MemoryResult, Reprocessing, SearchResult, UnextractedMemory
from zapomni_core.providers import Providers
from zapomni_core.settings import Settings
from zapomni_core.telemetry import Telemetry
from zapomni_db.errors import InvalidInputError, JobNotFoundError, MemoryNotFoundError
from zapomni_db.filters import Filter, parse_filter
from zapomni_db.records import Change

if TYPE_CHECKING:
    from zapomni_core.embedding import Embedder, OnBatch
    from zapomni_core.extraction import Extractor
    from zapomni_core.memory.reindex import OnPlan
    from zapomni_db import FalkorDBClient
    from zapomni_db.arrays import Vector
    from zapomni_db.records import Event, Extraction, Job, Memory, NewJob, Order, Page, State
    from zapomni_db.store import FileStore, GraphStore, JobStore, MemoryStore, SessionStore

T = TypeVar("T")

MOST_HITS = 100


class MemoryEngine:
    """A handle on one workspace of the components of a process, without state of its own.

    Settings instead of components are those of new components; without either, the user's settings are used, from the
    settings file and the environment, as the server does. A store, an embedder or an extractor that is given is used instead
    of the one in the settings; `db` is a store, or a FalkorDBClient whose graph is the store; `ollama_host` and
    `embedding_model` choose the embedder `ollama`. Nothing is built or opened
    before the first awaited method; `close` closes the components.
    """

    def __init__(
        self,
        components: Components | Settings | None = None,
        workspace: str | None = None,
        *,
        providers: Providers | None = None,
        store: "MemoryStore | None" = None,
        db: "FalkorDBClient | MemoryStore | None" = None,
        embedder: "Embedder | None" = None,
        extractor: "Extractor | None" = None,
        ollama_host: str | None = None,
        embedding_model: str | None = None,
    ) -> None:
        if not isinstance(components, Components):
            store = store or _store_of(db)
            components = Components(components, providers, store=store, embedder=embedder, extractor=extractor)
            components.choose_ollama(ollama_host, embedding_model)
        self.components = components
        self._workspace = workspace

    @property
    def workspace(self) -> str:
        """The workspace that the handle was made for; else that of the current call, else the one in the settings."""
        return self._workspace or _call_workspace() or self.settings.workspace

    def in_workspace(self, name: str) -> Self:
        """A handle on another workspace of the same components."""
        return type(self)(self.components, Settings.model_validate({"workspace": name}).workspace)

    def bound(self) -> Self:
        """A handle on the current workspace, also after the current call has ended."""
        return type(self)(self.components, self.workspace)

    @property
    def settings(self) -> Settings:
        """The settings in effect; ConfigurationError if the user's, which are read now, are wrong."""
        return self.components.settings

    @property
    def by(self) -> str:
        """The client of the current call, else the program: the history of a memory names it."""
        context = call_context.get()
        return context.client if context and context.client else self.components.program

    @property
    def providers(self) -> Providers:
        """Stores, embedders, extractors and kinds of jobs that can be chosen, by kind and name."""
        return self.components.providers

    @property
    def memories(self) -> "MemoryStore":
        """The store of memories."""
        return self.components.store

    @property
    def jobs(self) -> "JobStore":
        """The store's job queue; ConfigurationError if it has none."""
        jobs = self.components.jobs
        if jobs is None:
            raise ConfigurationError(f"the store '{self.components.store_name}' keeps no jobs; choose one that does")
        return jobs

    @property
    def graph(self) -> "GraphStore":
        """The store's entities and relations; ConfigurationError if it has none."""
        graph = self.components.store.graph
        if graph is None:
            raise ConfigurationError(f"the store '{self.components.store_name}' keeps no graph; choose one that does")
        return graph

    @property
    def sessions(self) -> "SessionStore":
        """The store's sessions and documents; ConfigurationError if it has none."""
        sessions = self.components.store.sessions
        if sessions is None:
            raise ConfigurationError(
                f"the store '{self.components.store_name}' keeps no sessions; choose one that does"
            )
        return sessions

    @property
    def keeps_jobs(self) -> bool:
        """Whether the store has a job queue."""
        return self.components.jobs is not None

    @property
    def can_queue(self) -> bool:
        """Whether anything queues jobs here: an extractor that may be away, or a plugin with a kind of job."""
        return self.asks_llm or self.components.has_plugin_kinds

    @property
    def asks_llm(self) -> bool:
        """Whether adding a memory asks an extractor that needs a language model, which may be away."""
        return self.components.asks_llm

    @property
    def extractor_problem(self) -> str | None:
        """Why the extractor in the settings cannot be built, such as a missing model name; None if it can."""
        return self.components.extractor_problem if self.components.extracts else None

    async def embedder_problem(self) -> str | None:
        """Why the workspace's embedder cannot be used, such as a missing plugin, and what to do; None if it can."""
        return await (await self._opened()).embedder_problem(self.workspace)

    @property
    def llm_available(self) -> bool | None:
        """Whether asking the language model is worth trying now; None if none is asked."""
        return None if self.llm_state is None else bool(self.llm_state.get("available", True))

    @property
    def llm_state(self) -> Mapping[str, Any] | None:
        """The language model, its recent failures, and whether asking it is worth trying now; None if none is asked."""
        return self.components.llm_state

    @property
    def extractor_name(self) -> str:
        """The name of the extractor in the settings, else `names`, which the plugin graph offers."""
        return self.components.extractor_name

    def extractor_kind(self, kind: str) -> str:
        """The kind of a job for this process's extractor: only processes with the same extractor run it."""
        return kind_by(kind, self.extractor_name)

    async def submit(self, jobs: "Sequence[NewJob]") -> "list[Job]":
        """Queue jobs durably and wake this process's worker; a job whose key waits or runs already is that one."""
        await self.open()
        made = await self.jobs.enqueue(self.workspace, jobs)
        self.components.runner.wake(self)
        return made

    async def get_job(self, job_id: str) -> "Job":
        """A job by its id; JobNotFoundError if there is none, or if it was done a week ago."""
        await self.open()
        job = await self.jobs.get(self.workspace, job_id)
        if job is None:
            raise JobNotFoundError(f"there is no job {job_id[:100]} in workspace '{self.workspace}'")
        return job

    def does_jobs(self, kind: str) -> bool:
        """Whether jobs of a kind can be queued and are run here."""
        return self.keeps_jobs and self.components.kinds.does(kind)

    def look_for_jobs(self, job_ids: tuple[str, ...] = ()) -> None:
        """Wake this process's worker for jobs that were stored together with a memory; for the same ids only once."""
        self.components.runner.wake_for(self, job_ids)

    async def finish_embedding(self) -> bool:
        """Embed what was stored or found here without a vector, for at most five seconds; whether nothing is left.

        `close` does this too, except in a server, which ends at once and leaves the rest to the next process.
        """
        return await self.components.finish_embedding()

    def serve_jobs(self) -> None:
        """Run jobs in this process from the store's first use on; at once if the settings ask for a language model."""
        self.components.runner.serve(self)
        if self.asks_llm:
            self.components.runner.wake(self)

    async def measure_queue(self) -> None:
        """Measure how many jobs wait or run, if telemetry is enabled."""
        if self.settings.telemetry.enabled:
            await self.components.job_counts(self.workspace)

    @property
    def telemetry(self) -> Telemetry:
        """Traces and metrics of operations, without their contents."""
        return self.components.telemetry

    async def initialize(self) -> None:
        """Connect now instead of on first use. Calling it twice is harmless."""
        await (await self._opened()).embedder(self.workspace)

    async def close(self) -> None:
        """Close the components, after `finish_embedding`. Calling it twice is harmless."""
        await self.components.close()

    async def open(self) -> None:
        """Start what runs in the background; every method that uses the store does so. Calling it twice is harmless."""
        await self.components.open()

    async def _opened(self) -> Components:
        await self.open()
        return self.components

    async def _store(self) -> "MemoryStore":
        return (await self._opened()).store

    async def add_memory(
        self,
        text: str,
        metadata: Mapping[str, Any] | None = None,
        *,
        replaces: str | None = None,
        wait_for_completion: bool = True,
    ) -> MemoryResult:
        """Store a text: cut into chunks, embedded, written in one transaction, durable when this returns.

        The same text with the same metadata is stored once, and extracted from once. A call that fails leaves nothing behind.
        If the settings name an extractor, `on_llm_unavailable` decides the order: with `fail` the extraction comes first, and
        is stored with the text; else the text is stored first, so that neither a model that is away nor a cancelled call loses
        it. Without waiting for completion, a job extracts later; with `fail`, a model that failed last is asked first anyway.
        """
        from zapomni_core.memory import extract

        with self.telemetry.span("memory.add_memory") as span:
            text, metadata = clean_text(text), clean_metadata(metadata)
            span.set(text_length=len(text), metadata_keys=tuple(metadata))
            await self.open()
            result = await extract.add_memory(self, text, metadata, replaces, wait=wait_for_completion)
            span.set(chunk_count=result.chunks_created, outcome=result.outcome)
        return result

    async def extracted_counts(self, memory_id: str) -> tuple[int, int] | None:
        """The numbers of entities and relations that were extracted from a memory; None if nothing was extracted yet."""
        return await self.graph.reading(self.workspace, memory_id, self.components.extractor.name)

    async def reprocess(self, memory_ids: "Sequence[str] | None" = None, limit: int = 100) -> Reprocessing:
        """Queue the extraction from memories: those named, else the oldest without an extraction and a job."""
        from zapomni_core.memory import extract

        await self.open()
        if memory_ids is not None:
            return await extract.queue_named(self, memory_ids)
        return await extract.queue_unextracted(self, self.components.extractor.name, limit)

    async def list_unextracted(
        self, limit: int = 100, memory_ids: "Sequence[str] | None" = None
    ) -> tuple[list[UnextractedMemory], int]:
        """The oldest memories that were not extracted from, of those named if any are, and how many there are in all."""
        from zapomni_core.memory import extract

        await self.open()
        return await extract.list_unextracted(self, self.components.extractor.name, limit, memory_ids)

    async def search_memory(
        self,
        query: str,
        limit: int = 10,
        filters: Mapping[str, Any] | Filter | None = None,
        *,
        max_tokens: int | None = None,
    ) -> SearchResult:
        """The memories that answer a question, by words and by meaning."""
        from zapomni_core.search.search import SearchRequest, search

        with self.telemetry.span("memory.search_memory") as span:
            request = SearchRequest(
                query=clean_query(query),
                limit=_check_limit(limit),
                wanted=filters if isinstance(filters, Filter) else parse_filter(filters),
                max_tokens=max_tokens,
            )
            span.set(limit=limit, filter_count=request.wanted.parts)
            started = time.perf_counter()
            components, workspace = await self._opened(), self.workspace
            result = await components.with_embedder(
                workspace, lambda embedder: search(components.store, embedder, workspace, request)
            )
            seconds = time.perf_counter() - started
            components.count_search(seconds)
            if result.chunks_without_vector:
                components.runner.wake_later(self)
            span.set(
                result_count=len(result.hits), query_time_ms=round(seconds * 1000, 3), degraded=bool(result.degraded)
            )
        return result

    async def get_memory(self, memory_id: str) -> "Memory":
        """A memory by its id, deleted and replaced ones too; MemoryNotFoundError if there is none."""
        return self._there(await (await self._store()).get(self.workspace, memory_id), memory_id)

    async def list_memories(
        self,
        filters: Mapping[str, Any] | Filter | None = None,
        *,
        state: "State" = "live",
        order: "Order" = "newest",
        after: str = "",
        limit: int = 20,
    ) -> "Page":
        """A page of memories that meet the filters; `after` takes the `after` of the previous page.

        `newest` and `oldest` go by timestamp, else by creation; `inserted` by the order in which memories were added.
        """
        wanted = filters if isinstance(filters, Filter) else parse_filter(filters)
        return await (await self._store()).list_memories(
            self.workspace, wanted, state=state, order=order, after=after, limit=_check_limit(limit)
        )

    async def update_metadata(
        self,
        memory_id: str,
        changes: Mapping[str, Any] | None = None,
        *,
        remove: Sequence[str] = (),
        add_tags: Sequence[str] = (),
        remove_tags: Sequence[str] = (),
    ) -> "Memory":
        """Change a memory's metadata in place, without a new version. Nothing is written if nothing changes.

        InvalidInputError for `author`, `timestamp`, `conversation` and `language`, which are part of the search index: they
        change only with a new version (`add_memory` with `replaces`).
        """
        changes = clean_metadata(changes)
        check_changeable([*changes, *remove])
        while True:  # until no other call changes it in between
            memory = await self.get_memory(memory_id)
            metadata = changed_metadata(memory, changes, remove, add_tags, remove_tags)
            if key_of("", metadata) == key_of("", memory.metadata):
                return memory
            known = read_metadata(metadata, memory.kind)
            change = Change(metadata=metadata, instead_of=memory.metadata, tags=known.tags, source=known.source)
            if changed := await (await self._store()).change(self.workspace, memory_id, change, by=self.by):
                return changed

    async def history(self, memory_id: str) -> "list[Event]":
        """The events of a memory, oldest first: when, what, and by which client or command."""
        events = await (await self._store()).history(self.workspace, memory_id)
        if not events:
            await self.get_memory(memory_id)
        return list(events)

    async def delete_memory(self, memory_id: str) -> "Memory":
        """Delete a memory: no search finds it, and it can be restored until `purge` removes it."""
        memory = await (await self._store()).change(self.workspace, memory_id, Change(deleted=True), by=self.by)
        if memory is None:
            there = await self.get_memory(memory_id)
            raise MemoryNotFoundError(f"memory {there.id} is deleted already, and can be restored")
        return memory

    async def restore_memory(self, memory_id: str) -> "Memory":
        """Restore a deleted memory, or one that was replaced by a memory that is deleted; the restored one."""
        memory = await (await self._store()).change(self.workspace, memory_id, Change(deleted=False), by=self.by)
        there = None if memory else await (await self._store()).get(self.workspace, memory_id)
        if there and there.replaced_by:
            raise MemoryNotFoundError(
                f"memory {there.id} was replaced by {there.replaced_by}, which is kept; delete that one first to bring this back"
            )
        if there and not there.deleted_at:
            raise MemoryNotFoundError(f"memory {there.id} is not deleted: there is nothing to restore")
        return self._there(memory, memory_id, "deleted memory")

    async def list_deleted(self, *, days: float = 0) -> list[str]:
        """The ids of the memories that were deleted more than so many days ago."""
        before = datetime.now(UTC) - timedelta(days=days)
        found: list[str] = []
        after = ""
        while True:
            page = await self.list_memories(state="deleted", after=after, limit=MOST_HITS)
            # For 0 days all of them: a memory may have been deleted by a clock that was ahead.
            found += [one.id for one in page.memories if not days or (one.deleted_at and one.deleted_at < before)]
            after = page.after
            if not after:
                return found

    async def purge(self, *, days: float = 0, memory_ids: Sequence[str] | None = None) -> int:
        """Remove for good what was deleted more than so many days ago, only those named if any are; how many were removed."""
        chosen = await self.list_deleted(days=days)
        if memory_ids is not None:
            chosen = [memory_id for memory_id in chosen if memory_id in memory_ids]
        return await (await self._store()).purge(self.workspace, chosen)

    async def health(self) -> list[str]:
        """The problems that keep the store from being read or written now, a sentence each. Fast."""
        return await (await self._store()).health()

    @property
    def has_file_store(self) -> bool:
        """Whether the store is a file, which can be checked, backed up and restored here."""
        return hasattr(self.components.store, "restore_backup")

    async def check(self) -> list[str]:
        """The problems of the stored data, a sentence each. Slow: it looks at every text and vector."""
        return await self._file_store.check()

    async def backup(self, target: Path) -> None:
        """Write a copy of the whole store, all workspaces, while other processes go on writing."""
        await self._file_store.backup(target)

    async def restore_backup(self, source: Path) -> Path | None:
        """Replace the store by a backup, before this engine has used it; the path of the replaced store, if there was one."""
        return await self._file_store.restore_backup(source)

    @property
    def _file_store(self) -> "FileStore":
        store: Any = self.components.store
        if not self.has_file_store:
            raise ConfigurationError(
                f"the store '{self.components.store_name}' is not a file; back it up and check it with its own tools"
            )
        return cast("FileStore", store)

    async def reindex(
        self,
        embedder_name: str | None = None,
        on_progress: "OnBatch | None" = None,
        on_plan: "OnPlan | None" = None,
    ) -> int:
        """Re-embed the workspace with another embedder, and use that one; how many chunks were embedded.

        Searches use the old vectors until all are made. A call that failed or was cancelled is continued by the next one.
        Without a name, it is the embedder in the settings, else the one that made the vectors.
        """
        return await (await self._opened()).reindex(self.workspace, embedder_name, on_progress, on_plan)

    async def with_embedder(self, work: "Callable[[Embedder], Awaitable[T]]") -> T:
        """The result of work with the workspace's embedder, whose model is not loaded for that."""
        return await (await self._opened()).with_embedder(self.workspace, work)

    async def get_stats(self) -> EngineStats:
        """Counts, sizes and the state of the workspace's components."""
        stored = await (await self._store()).stats(self.workspace)
        host = self.components.host_stats()
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
            workspaces=(self.workspace,) if _call_workspace() else stored.workspaces,
            store_details=stored.details,
            store_warnings=stored.warnings,
            avg_query_latency_ms=self.components.search_milliseconds,
            plugins=host.plugins,
            calls=host.calls,
            jobs=await self.components.job_counts(self.workspace),
            llm=self.llm_state,
            unread_memories=await self._unread_memories(),
        )

    async def _unread_memories(self) -> int | None:
        """The number of memories that the language model has not extracted from; None if no model is set, or its settings are wrong."""
        if not self.asks_llm or self.extractor_problem:
            return None
        return (await self.graph.unread(self.workspace, self.components.extractor.name, 0))[1]

    async def extract(self, text: str, *, timestamp: datetime | None = None) -> "Extraction":
        """The entities and relations in a text, by the extractor in the settings, else by `names` of the plugin graph.

        `timestamp` is when the text was true. LLMUnavailableError if the extractor needs a language model that is away.
        """
        return await (await self._opened()).extractor.extract(text, timestamp=timestamp)

    async def embed(self, texts: list[str]) -> "list[Vector]":
        """Vectors of texts by the workspace's embedder, for plugins."""
        return list(await (await (await self._opened()).embedder(self.workspace)).embed(texts))

    def _there(self, memory: "Memory | None", memory_id: str, what: str = "memory") -> "Memory":
        if memory is None:
            raise MemoryNotFoundError(f"there is no {what} {memory_id[:100]} in workspace '{self.workspace}'")
        return memory


def _store_of(db: "FalkorDBClient | MemoryStore | None") -> "MemoryStore | None":
    """The store that a client stands for, or the store itself."""
    if db is None or hasattr(db, "list_memories"):
        return cast("MemoryStore | None", db)
    from zapomni_db.falkordb import FalkorDBClient, FalkorDBStore

    if isinstance(db, FalkorDBClient):
        return FalkorDBStore(db)
    raise TypeError(f"db must be a FalkorDBClient or a store, got {type(db).__name__}")


def _call_workspace() -> str:
    """The workspace that the current call is confined to; empty if it has none of its own."""
    context = call_context.get()
    return context.workspace if context else ""


def _check_limit(limit: int) -> int:
    if not 1 <= limit <= MOST_HITS:
        raise InvalidInputError(f"limit must be from 1 to {MOST_HITS}")
    return limit
