"""What engines of several workspaces share: store, embedder, extractor, worker, and what is counted of their work."""

import threading
from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from zapomni_core.errors import ConfigurationError, EmbedderMissingError
from zapomni_core.jobs.kinds import Kinds
from zapomni_core.jobs.workplace import Workplace
from zapomni_core.provider import Providers, close_part
from zapomni_core.settings import Settings
from zapomni_core.telemetry import telemetry_for
from zapomni_core.tidying import Tidying
from zapomni_db.errors import EmbedderMismatchError

if TYPE_CHECKING:
    from zapomni_core.embedding import Embedder, OnBatch
    from zapomni_core.extraction import Extractor
    from zapomni_db.records import EmbedderIdentity, JobCounts
    from zapomni_db.store import JobStore, MemoryStore

T = TypeVar("T")

DEFAULT_STORE = "sqlite"
DEFAULT_EMBEDDER = "default"
DEFAULT_EXTRACTOR = "rules"


class Parts:
    """The parts that the settings name, each built when it is first needed and closed once."""

    def __init__(
        self,
        settings: Settings,
        providers: Providers | None,
        store: "MemoryStore | None",
        embedder: "Embedder | None",
        extractor: "Extractor | None" = None,
    ) -> None:
        self._settings = settings
        self._providers = providers
        self._store = store
        self._embedder: Embedder | None = _guarded(embedder) if embedder else None
        self._embedder_is_given = embedder is not None
        self._extractor: Extractor | None = _guarded_extractor(extractor) if extractor else None
        self._extractor_is_given = extractor is not None
        self._choosing = threading.Lock()  # event loops of several threads may share an engine
        self._searches = 0
        self._search_seconds = 0.0
        self._queued: int | None = None
        self.tidying = Tidying()
        self.telemetry = telemetry_for(settings.telemetry, self.store_name)
        self.telemetry.gauge("zapomni.queue.depth", lambda: self._queued)

    @property
    def store_name(self) -> str:
        """What the store is called in the settings."""
        if self._store is not None:
            return type(self._store).__name__.removesuffix("Store").lower()
        return self._settings.store.partition("://")[0] if self._settings.store else DEFAULT_STORE

    @property
    def store(self) -> "MemoryStore":
        """The store that the settings name; built here, connected by its first use."""
        if self._store is None:
            self._store = self._offered.make("store", self.store_name, self._settings)
        self.workplace.note_use()
        self.tidying.note_use(self._store)
        return self._store

    @property
    def jobs(self) -> "JobStore | None":
        """The store's queue, where it has one."""
        return getattr(self.store, "jobs", None)

    @cached_property
    def workplace(self) -> Workplace:
        """The worker of this process."""
        return Workplace(self._kinds)

    @cached_property
    def _kinds(self) -> Kinds:
        return Kinds(self._offered, self._settings, self.extractor_name)

    def offers_jobs(self, kind: str) -> bool:
        """Whether jobs of a kind are done here."""
        return self._kinds.does(kind)

    @property
    def has_guest_kinds(self) -> bool:
        """Whether anybody but us offers a kind of job."""
        from zapomni_core.providers import BUILT_IN

        return any(one not in BUILT_IN for one in self._offered.of_kind("job"))

    async def job_counts(self, workspace: str) -> "JobCounts | None":
        """How many jobs there are; None where there was none yet."""
        counts = await self.jobs.counts(workspace) if self.jobs is not None else None
        self._queued = counts.queued + counts.running if counts else None
        return counts if counts and counts != type(counts)() else None

    @property
    def extracts(self) -> bool:
        """Whether memories are read for entities when they are added."""
        return self._settings.extractor is not None or self._extractor_is_given

    @property
    def extractor_name(self) -> str:
        """What the extractor is called, which is not built for it."""
        if self._extractor_is_given and self._extractor is not None:
            return self._extractor.name
        return self._settings.extractor or DEFAULT_EXTRACTOR

    @property
    def asks_llm(self) -> bool:
        """Whether memories are read, when they are added, by an extractor that may ask a language model."""
        if self._extractor_is_given:
            return bool(getattr(self._extractor, "asks_llm", True))
        named = self._settings.extractor
        offered = [one for one in self._offered.of_kind("extractor") if one.name == named]
        return named is not None and all(one.asks_llm for one in offered)

    @property
    def extractor_problem(self) -> str | None:
        """Why the extractor that the settings name cannot be built; None where it can, or where they name none."""
        try:
            self.extractor  # noqa: B018 (it is built by being asked for)
        except ConfigurationError as error:
            return str(error)
        return None

    @property
    def llm_state(self) -> Mapping[str, Any] | None:
        """How the extractor's language model is doing, where it has one."""
        if not self.extracts:
            return None
        if problem := self.extractor_problem:
            llm = self._settings.llm
            return {"provider": llm.provider, "model": llm.model, "available": False, "problem": problem}
        return getattr(self.extractor, "state", None)

    @property
    def extractor(self) -> "Extractor":
        """The extractor that the settings name, else the one by rules; built here, connected by its first use."""
        if self._extractor is None:
            self._extractor = _guarded_extractor(self._offered.make("extractor", self.extractor_name, self._settings))
        return self._extractor

    async def embedder(self) -> "Embedder":
        """The embedder that made the store's vectors; for a new store the one that the settings name.

        A stand-in where nobody offers it. That one is not kept: the store may have other vectors the next time.
        """
        if self._embedder is not None:
            return self._embedder
        kept = await self.store.embedder()
        if kept and self._is_missing(kept):
            return _stand_in(kept)
        with self._choosing:
            self._embedder = self._embedder or self._choose(kept)
            return self._embedder

    async def embedder_problem(self) -> str | None:
        """Why nothing can be embedded for the store, as far as its records and the settings tell; None where it can."""
        kept = await self.store.embedder()
        if kept and self._is_missing(kept):
            return str(EmbedderMissingError(kept.name))
        try:
            await self.embedder()
        except (ConfigurationError, EmbedderMismatchError) as error:
            return str(error)
        return None

    def _is_missing(self, kept: "EmbedderIdentity") -> bool:
        """Whether the store, and not the user, asks for an embedder that nobody offers."""
        is_chosen = self._embedder_is_given or self._settings.embedder
        return not is_chosen and not self._offered.offers("embedder", kept.name)

    async def embedding(self, work: "Callable[[Embedder], Awaitable[T]]") -> T:
        """The result of work with the store's embedder; with the new one where another process made new vectors."""
        embedder = self._embedder or await self.embedder()
        try:
            return await work(embedder)
        except EmbedderMismatchError:
            if self._embedder_is_given or await self.store.embedder() == embedder.identity:
                raise
            if self._embedder is embedder:
                self._embedder = None
            return await work(await self.embedder())

    def _choose(self, kept: "EmbedderIdentity | None") -> "Embedder":
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
        return _guarded(self._offered.make("embedder", name, self._settings))

    async def reindex(self, name: str | None, on_progress: "OnBatch | None") -> int:
        """Vectors by another embedder, which is used from then on."""
        from zapomni_core.reindexing import reindex

        kept = await self.store.embedder()
        wanted = name or self._settings.embedder
        if kept and not wanted and self._is_missing(kept):
            raise EmbedderMissingError(kept.name)
        embedder = self._make_embedder(wanted or (kept.name if kept else DEFAULT_EMBEDDER))
        unused: Embedder | None = embedder
        try:
            made = await reindex(self.store, embedder, on_progress)
            unused, self._embedder = self._embedder, embedder
        finally:
            if unused is not None:
                await unused.close()
        return made

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
        try:
            await self.tidying.close()
            await self.workplace.close()
            if self._store is not None:
                await close_part(self._store)
            if self._embedder is not None:
                await self._embedder.close()
            if self._extractor is not None:
                await self._extractor.close()
        finally:
            await self.telemetry.close()

    @property
    def _offered(self) -> Providers:
        if self._providers is None:
            from zapomni_core.providers import BUILT_IN

            self._providers = Providers(BUILT_IN)
        return self._providers


def _stand_in(kept: "EmbedderIdentity") -> "Embedder":
    from zapomni_core.guarding import AbsentEmbedder

    return AbsentEmbedder(kept)


def _guarded(embedder: "Embedder") -> "Embedder":
    from zapomni_core.guarding import GuardedEmbedder

    return GuardedEmbedder(embedder)


def _guarded_extractor(extractor: "Extractor") -> "Extractor":
    from zapomni_core.guarding import GuardedExtractor

    return GuardedExtractor(extractor)
