"""The memory engine: adds, finds, gets, deletes and restores memories of one workspace."""

import copy
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from zapomni_core.dispatch.call import call_context
from zapomni_core.errors import ConfigurationError, LLMUnavailableError
from zapomni_core.extracting import KIND, UNREAD, Reading, kept_unread, read, read_kept, read_later
from zapomni_core.intake import Particulars, clean_metadata, clean_text, key_of, preview, read_particulars
from zapomni_core.jobs.kinds import kind_by
from zapomni_core.models import EngineStats, HostStats, MemoryResult, Reprocessing, SearchResult, UnreadMemory
from zapomni_core.parts import Parts
from zapomni_core.provider import Providers
from zapomni_core.settings import Settings
from zapomni_core.telemetry import Telemetry, timed
from zapomni_db.errors import InvalidInputError, JobNotFoundError, MemoryNotFoundError
from zapomni_db.filters import Filter, parse_filter
from zapomni_db.records import Change
from zapomni_db.texts import check_encodable

if TYPE_CHECKING:
    from zapomni_core.embedding import Embedder, OnBatch
    from zapomni_core.extraction import Extractor
    from zapomni_db.arrays import Vector
    from zapomni_db.records import Added, Event, Extraction, Job, Memory, NewJob, Order, Page, State
    from zapomni_db.store import FileStore, GraphStore, JobStore, MemoryStore, SessionStore

log = logging.getLogger("zapomni.engine")

T = TypeVar("T")

LONGEST_QUERY = 1000
MOST_HITS = 100
SETTLE_SECONDS = 5.0
INDEXED = ("author", "timestamp", "conversation", "language")
"""Metadata that is part of the search index."""


class MemoryEngine:
    """One workspace's memory. Built at once and connected on first use, so that listing tools needs no database.

    Without `settings` it uses those of the user, from the settings file and the environment, as the server does;
    ConfigurationError where they are wrong. A store, an embedder or an extractor that is given is used instead of theirs.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        providers: Providers | None = None,
        *,
        store: "MemoryStore | None" = None,
        embedder: "Embedder | None" = None,
        extractor: "Extractor | None" = None,
    ) -> None:
        self.settings = settings or _users_settings()
        self.workspace = self.settings.workspace
        self.program = ""
        self.host_stats: Callable[[], HostStats] = HostStats
        self._parts = Parts(self.settings, providers, store, embedder, extractor)

    def in_workspace(self, name: str) -> Self:
        """The same engine bound to another workspace; store and embedder are shared."""
        other = copy.copy(self)
        other.workspace = Settings.model_validate({"workspace": name}).workspace
        return other

    @property
    def by(self) -> str:
        """The client of the current call, else the program: the history of a memory names it."""
        context = call_context.get()
        return context.client if context and context.client else self.program

    @property
    def providers(self) -> Providers:
        """The parts that can be chosen here, by kind and name; an app adds those of its plugins."""
        return self._parts.providers

    @property
    def memories(self) -> "MemoryStore":
        """The store's protocol for memories."""
        return self._parts.store

    @property
    def jobs(self) -> "JobStore":
        """The store's protocol for jobs; ConfigurationError where the store has none."""
        jobs = self._parts.jobs
        if jobs is None:
            raise ConfigurationError(f"the store '{self._parts.store_name}' keeps no jobs; choose one that does")
        return jobs

    @property
    def graph(self) -> "GraphStore":
        """The store's protocol for entities and relations; ConfigurationError where the store has none."""
        graph = self._parts.store.graph
        if graph is None:
            raise ConfigurationError(f"the store '{self._parts.store_name}' keeps no graph; choose one that does")
        return graph

    @property
    def sessions(self) -> "SessionStore":
        """The store's protocol for sessions and documents; ConfigurationError where the store has none."""
        sessions = self._parts.store.sessions
        if sessions is None:
            raise ConfigurationError(f"the store '{self._parts.store_name}' keeps no sessions; choose one that does")
        return sessions

    @property
    def keeps_jobs(self) -> bool:
        """Whether the store has a queue."""
        return self._parts.jobs is not None

    @property
    def can_queue(self) -> bool:
        """Whether anything here queues jobs: an extractor that may be away, or a plugin with a kind of its own."""
        return self.asks_llm or self._parts.has_guest_kinds

    @property
    def asks_llm(self) -> bool:
        """Whether adding a memory asks an extractor that needs a language model, which may be away."""
        return self._parts.asks_llm

    @property
    def extractor_problem(self) -> str | None:
        """What is wrong with the extractor that the settings name, such as a model that they do not name; None if nothing."""
        return self._parts.extractor_problem if self._parts.extracts else None

    async def embedder_problem(self) -> str | None:
        """Why the workspace's embedder cannot be had, such as a plugin that is missing, and the way out; None where it can."""
        return await self._parts.embedder_problem(self.workspace)

    @property
    def llm_available(self) -> bool | None:
        """Whether asking the language model is worth trying now; None where none is asked."""
        return None if self.llm_state is None else bool(self.llm_state.get("available", True))

    @property
    def llm_state(self) -> Mapping[str, Any] | None:
        """Who is asked, how that went of late, and whether asking is worth trying now; None where nobody is."""
        return self._parts.llm_state

    @property
    def extractor_name(self) -> str:
        """Who reads memories here: the extractor that the settings name, else `names`, which the plugin graph offers."""
        return self._parts.extractor_name

    def reading_kind(self, kind: str) -> str:
        """The kind of a job that reads memories: it is done only where the same extractor reads as here."""
        return kind_by(kind, self.extractor_name)

    async def submit(self, jobs: "Sequence[NewJob]") -> "list[Job]":
        """Queue jobs, durably, and let this process's worker look for them; those of a key that waits or runs are that one."""
        made = await self.jobs.enqueue(self.workspace, jobs)
        self._parts.workplace.begin(self)
        return made

    async def get_job(self, job_id: str) -> "Job":
        """A job by its id; JobNotFoundError where there is none, or where it was done a week ago."""
        job = await self.jobs.get(self.workspace, job_id)
        if job is None:
            raise JobNotFoundError(f"there is no job {job_id[:100]} in workspace '{self.workspace}'")
        return job

    def does_jobs(self, kind: str) -> bool:
        """Whether jobs of a kind can be queued and are done here."""
        return self.keeps_jobs and self._parts.offers_jobs(kind)

    def look_for_jobs(self, job_ids: tuple[str, ...] = ()) -> None:
        """Let this process's worker look for jobs that were queued together with a memory; for these, only once."""
        self._parts.workplace.begin_for(self, job_ids)

    async def settle(self) -> bool:
        """Make the vectors that what was stored or searched here waits for, in five seconds at most; whether none is left.

        `close` does so too, unless this is a server, which ends at once: another one goes on.
        """
        from zapomni_core.jobs.embedding import KIND

        return await self._parts.workplace.settle(KIND, SETTLE_SECONDS)

    def serve_jobs(self) -> None:
        """Do jobs in this process from the store's first use on; at once where the settings ask for an LLM."""
        self._parts.workplace.open(self)
        if self.asks_llm:
            self._parts.workplace.begin(self)

    async def measure_queue(self) -> None:
        """Note how many jobs wait or run, where somebody measures that."""
        if self.settings.telemetry.enabled:
            await self._parts.job_counts(self.workspace)

    @property
    def telemetry(self) -> Telemetry:
        """Where operations are told of, without their contents."""
        return self._parts.telemetry

    async def initialize(self) -> None:
        """Connect now instead of on first use; connecting twice is connecting once."""
        await self._parts.embedder(self.workspace)

    async def close(self) -> None:
        """Let go of everything, once `settle` has done what it can; closing twice is closing once."""
        try:
            if not self._parts.workplace.is_open:
                await self.settle()
        finally:
            await self._parts.close()

    async def add_memory(
        self,
        text: str,
        metadata: Mapping[str, Any] | None = None,
        *,
        replaces: str | None = None,
        wait_for_completion: bool = True,
    ) -> MemoryResult:
        """Keep a text: chunked, embedded, written in one transaction, durable when this returns.

        The same text with the same metadata is kept once, and read once. A call that fails leaves nothing behind. Where the
        settings name an extractor, `on_llm_unavailable` decides: with `fail` the text is read first, and kept together with
        what it speaks of; else it is kept first, so that neither a model that is away nor a cancelled call loses it.
        Without waiting for completion, a job reads it later; with `fail`, a model that failed last is asked first all the same.
        """
        with self.telemetry.span("memory.add_memory") as span:
            text, metadata = clean_text(text), clean_metadata(metadata)
            span.set(text_length=len(text), metadata_keys=tuple(metadata))
            result = await self._remember(text, metadata, replaces, wait=wait_for_completion)
            span.set(chunk_count=result.chunks_created, outcome=result.outcome)
        return result

    async def _remember(
        self, text: str, metadata: Mapping[str, Any], replaces: str | None, *, wait: bool
    ) -> MemoryResult:
        """Keep a text and let it be read, if the user wants that: in the order that the mode asks for."""
        if not self._parts.extracts:
            return await self._add(text, metadata, replaces, UNREAD)
        same = await self._parts.store.get(self.workspace, key=key_of(text, metadata))
        if same and (known := await self._known(same.id)):
            return await self._add(text, metadata, replaces, known)
        mode = self.settings.on_llm_unavailable
        if not wait and self.asks_llm and not (mode == "fail" and self._llm_failed):
            return await self._add(text, metadata, replaces, read_later(self.reading_kind(KIND)))
        timestamp = read_particulars(metadata).timestamp or datetime.now(UTC)
        if mode == "fail" or not self.asks_llm:
            return await self._add(text, metadata, replaces, await self._read_first(text, timestamp, same))
        unread = kept_unread(mode, self.reading_kind(KIND), self.settings.llm.wait_seconds)
        kept = await self._add(text, metadata, replaces, unread)
        with timed("extraction"):
            return await read_kept(self, kept, text, timestamp)

    @property
    def _llm_failed(self) -> bool:
        """Whether the language model is known to be away: it cannot be asked, or the last call failed."""
        state = self.llm_state or {}
        return not state.get("available", True) or bool(state.get("failures"))

    async def _read_first(self, text: str, timestamp: datetime, same: "Memory | None") -> Reading:
        """What is read in a text that is kept only with it."""
        try:
            with timed("extraction"):
                return await read(self._parts.extractor, text, timestamp)
        except LLMUnavailableError as error:
            raise LLMUnavailableError(error.failure.saying(_as_before(same))) from error

    async def _known(self, same: str) -> Reading | None:
        """What the extractor read in a memory before, so that there is nothing to ask it; None where it has not read it."""
        counts = await self.read_before(same)
        return Reading(counts=counts) if counts else None

    async def read_before(self, memory_id: str) -> tuple[int, int] | None:
        """How many entities and relations the extractor has read in a memory; None where it has not read it."""
        return await self.graph.reading(self.workspace, memory_id, self._parts.extractor.name)

    async def _add(
        self, text: str, metadata: Mapping[str, Any], replaces: str | None, reading: Reading
    ) -> MemoryResult:
        from zapomni_core.adding import attended, prepare

        async def add(embedder: "Embedder") -> "Added":
            memory = await prepare(text, metadata, embedder, replaces=replaces, reading=reading, by=self.by)
            writing = self._parts.store.add(self.workspace, [memory])
            with timed("store"):
                (added,) = await attended(writing, len(memory.chunks) + 2, "writing")
                return added

        added = await self._parts.embedding(self.workspace, add)
        if added.job_ids:
            self.look_for_jobs()
        return MemoryResult(
            added.memory_id,
            added.chunks,
            preview(text),
            added.outcome,
            replaced=None if replaces == added.memory_id else replaces,
            status=reading.status,
            entities_extracted=reading.counts[0] if reading.counts else None,
            relationships_extracted=reading.counts[1] if reading.counts else None,
            job_id=added.job_ids[0] if reading.status == "queued" else None,
            left_out=reading.extraction.left_out if reading.extraction else 0,
            facts_moved=added.facts_moved,
            facts_dropped=added.facts_dropped,
        )

    async def reprocess(self, memory_ids: "Sequence[str] | None" = None, limit: int = 100) -> Reprocessing:
        """Queue the reading of memories: those named, else the oldest that the extractor has not read and no job is for."""
        from zapomni_core.reprocessing import queue_named, queue_unread

        if memory_ids is not None:
            return await queue_named(self, memory_ids)
        return await queue_unread(self, self._parts.extractor.name, limit)

    async def list_unread(
        self, limit: int = 100, memory_ids: "Sequence[str] | None" = None
    ) -> tuple[list[UnreadMemory], int]:
        """The oldest memories that the extractor has not read, of those named if any are, and how many there are in all."""
        from zapomni_core.reprocessing import list_unread

        return await list_unread(self, self._parts.extractor.name, limit, memory_ids)

    async def search_memory(
        self,
        query: str,
        limit: int = 10,
        filters: Mapping[str, Any] | Filter | None = None,
        *,
        max_tokens: int | None = None,
    ) -> SearchResult:
        """The memories that answer a question, by words and by meaning. Filters are a caller's, or parsed already."""
        from zapomni_core.search.search import SearchRequest, search

        with self.telemetry.span("memory.search_memory") as span:
            request = SearchRequest(
                query=_check_query(query),
                limit=_check_limit(limit),
                wanted=filters if isinstance(filters, Filter) else parse_filter(filters),
                max_tokens=max_tokens,
            )
            span.set(limit=limit, filter_count=request.wanted.parts)
            started = time.perf_counter()
            result = await self._parts.embedding(
                self.workspace, lambda embedder: search(self._parts.store, embedder, self.workspace, request)
            )
            seconds = time.perf_counter() - started
            self._parts.count_search(seconds)
            if result.chunks_without_vector:
                self._parts.workplace.begin_later(self)
            span.set(
                result_count=len(result.hits), query_time_ms=round(seconds * 1000, 3), degraded=bool(result.degraded)
            )
        return result

    async def get_memory(self, memory_id: str) -> "Memory":
        """A memory by its id, deleted and replaced ones too; MemoryNotFoundError where there is none."""
        return self._there(await self._parts.store.get(self.workspace, memory_id), memory_id)

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
        return await self._parts.store.list_memories(
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
        """Change a memory's metadata in place, without a new version. Nothing is written if nothing would change.

        InvalidInputError for `author`, `timestamp`, `conversation` and `language`, which are part of the search index: they
        change only with a new version (`add_memory` with `replaces`).
        """
        changes = clean_metadata(changes)
        _check_in_place([*changes, *remove])
        while True:  # until nobody else changes it in between
            memory = await self.get_memory(memory_id)
            metadata = _updated(memory, changes, remove, add_tags, remove_tags)
            if key_of("", metadata) == key_of("", memory.metadata):
                return memory
            particulars = _reader(memory.kind)(metadata)
            change = Change(
                metadata=metadata, instead_of=memory.metadata, tags=particulars.tags, source=particulars.source
            )
            if changed := await self._parts.store.change(self.workspace, memory_id, change, by=self.by):
                return changed

    async def history(self, memory_id: str) -> "list[Event]":
        """The events of a memory, oldest first: when, what, and by which client or command."""
        events = await self._parts.store.history(self.workspace, memory_id)
        if not events:
            await self.get_memory(memory_id)
        return list(events)

    async def delete_memory(self, memory_id: str) -> "Memory":
        """Hide a memory from every search; it can be restored until `purge` removes it."""
        memory = await self._parts.store.change(self.workspace, memory_id, Change(deleted=True), by=self.by)
        if memory is None:
            there = await self.get_memory(memory_id)
            raise MemoryNotFoundError(f"memory {there.id} is deleted already, and can be restored")
        return memory

    async def restore_memory(self, memory_id: str) -> "Memory":
        """Bring a deleted memory back, or one that was replaced by a memory that is deleted; the one that is there now."""
        memory = await self._parts.store.change(self.workspace, memory_id, Change(deleted=False), by=self.by)
        there = None if memory else await self._parts.store.get(self.workspace, memory_id)
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
        """Remove for good what was deleted more than so many days ago, only those named if any are; how many are gone."""
        chosen = await self.list_deleted(days=days)
        if memory_ids is not None:
            chosen = [memory_id for memory_id in chosen if memory_id in memory_ids]
        return await self._parts.store.purge(self.workspace, chosen)

    async def health(self) -> list[str]:
        """What keeps the store from being read and written now, a sentence each; quick."""
        return await self._parts.store.health()

    async def check(self) -> list[str]:
        """What is wrong with what the store keeps, a sentence each; every text and vector is looked at, so it takes a while."""
        return await self._file_store.check()

    async def backup(self, target: Path) -> None:
        """Write a copy of the whole store, all workspaces, while others go on writing."""
        await self._file_store.backup(target)

    async def restore_backup(self, source: Path) -> Path | None:
        """Let a backup be the store, before this engine has used it; where the store before is now, if there was one."""
        return await self._file_store.restore_backup(source)

    @property
    def _file_store(self) -> "FileStore":
        store: Any = self._parts.store
        if not hasattr(store, "restore_backup"):
            raise ConfigurationError(
                f"the store '{self._parts.store_name}' is no file; back it up and check it with its own tools"
            )
        return cast("FileStore", store)

    async def reindex(self, embedder_name: str | None = None, on_progress: "OnBatch | None" = None) -> int:
        """Give the workspace the vectors of another embedder, and use that one; how many chunks were embedded.

        The old vectors serve until then. A call that failed or was cancelled is gone on with by the next one. Without a
        name, it is the embedder in the settings, else the one that made the vectors.
        """
        return await self._parts.reindex(self.workspace, embedder_name, on_progress)

    async def with_embedder(self, work: "Callable[[Embedder], Awaitable[T]]") -> T:
        """The result of work with the workspace's embedder, which need not be loaded for it."""
        return await self._parts.embedding(self.workspace, work)

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
            avg_query_latency_ms=self._parts.search_milliseconds,
            plugins=host.plugins,
            calls=host.calls,
            jobs=await self._parts.job_counts(self.workspace),
            llm=self.llm_state,
            unread_memories=await self._unread_memories(),
        )

    async def _unread_memories(self) -> int | None:
        """How many memories the language model has not read; None where none is asked, or its settings are wrong."""
        if not self.asks_llm or self.extractor_problem:
            return None
        return (await self.graph.unread(self.workspace, self._parts.extractor.name, 0))[1]

    async def extract(self, text: str, *, timestamp: datetime | None = None) -> "Extraction":
        """What a text speaks of, by the extractor that the settings name, else by `names` of the plugin graph.

        `timestamp` is when the text was true. LLMUnavailableError where the extractor needs a language model that is away.
        """
        return await self._parts.extractor.extract(text, timestamp=timestamp)

    async def embed(self, texts: list[str]) -> "list[Vector]":
        """Vectors of texts by the workspace's embedder, for plugins."""
        return list(await (await self._parts.embedder(self.workspace)).embed(texts))

    def _there(self, memory: "Memory | None", memory_id: str, what: str = "memory") -> "Memory":
        if memory is None:
            raise MemoryNotFoundError(f"there is no {what} {memory_id[:100]} in workspace '{self.workspace}'")
        return memory


def _as_before(same: "Memory | None") -> str:
    """What to say where nothing was stored: that the same memory is there, if it is."""
    if same is None or same.deleted_at:
        return "Nothing was stored."
    return f"Nothing was changed: the same memory was stored before and stays as it is, not read. ID: {same.id}"


def _updated(
    memory: "Memory",
    changes: Mapping[str, Any],
    remove: Sequence[str],
    add_tags: Sequence[str],
    remove_tags: Sequence[str],
) -> dict[str, Any]:
    """The metadata of a memory after some changes; empty tags are left out."""
    metadata = {key: value for key, value in memory.metadata.items() if key not in remove} | dict(changes)
    if add_tags or remove_tags:
        kept = [tag for tag in _reader(memory.kind)(metadata).tags if tag not in remove_tags]
        metadata["tags"] = list(dict.fromkeys([*kept, *add_tags]))
    return clean_metadata({key: value for key, value in metadata.items() if key != "tags" or value})


def _check_in_place(keys: Sequence[str]) -> None:
    for key in keys:
        if key in INDEXED:
            raise InvalidInputError(
                f"metadata.{key} cannot be changed in place; add the memory again with the new {key} and its ID as replaces"
            )


def _reader(kind: str) -> "Callable[[Mapping[str, Any]], Particulars]":
    """How metadata of a kind is read: that of messages and documents may be anything."""
    from zapomni_core.sessions.keeping import particulars_of

    return read_particulars if kind == "memory" else particulars_of


def _users_settings() -> Settings:
    from zapomni_core.config import load

    return load().settings


def _check_query(query: str) -> str:
    query = query.strip()
    if not query:
        raise InvalidInputError("query cannot be empty or whitespace-only")
    if len(query) > LONGEST_QUERY:
        raise InvalidInputError(f"query exceeds maximum length ({LONGEST_QUERY:,} characters)")
    check_encodable("query", query)
    return query


def _check_limit(limit: int) -> int:
    if not 1 <= limit <= MOST_HITS:
        raise InvalidInputError(f"limit must be from 1 to {MOST_HITS}")
    return limit
