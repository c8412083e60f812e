"""What engines of several workspaces share: store, embedder, extractor, worker, and what is counted of their work."""

import threading
from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from zapomni_core.errors import ConfigurationError, EmbedderMissingError
from zapomni_core.jobs.kinds import DEFAULT_EXTRACTOR, Kinds
from zapomni_core.jobs.workplace import Workplace
from zapomni_core.provider import Providers, close_part
from zapomni_core.settings import Settings
from zapomni_core.telemetry import telemetry_for
from zapomni_db.errors import EmbedderMismatchError

if TYPE_CHECKING:
    from zapomni_core.embedding import Embedder, OnBatch
    from zapomni_core.extraction import Extractor
    from zapomni_db.records import EmbedderIdentity, JobCounts
    from zapomni_db.store import JobStore, MemoryStore

T = TypeVar("T")

DEFAULT_STORE = "sqlite"
DEFAULT_EMBEDDER = "default"


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
        self._given_embedder: Embedder | None = _guarded(embedder) if embedder else None
        self._embedders: dict[str, Embedder] = {}
        self._built: list[Embedder] = [self._given_embedder] if self._given_embedder else []
        self._extractor: Extractor | None = _guarded_extractor(extractor) if extractor else None
        self._extractor_is_given = extractor is not None
        self._choosing = threading.Lock()  # event loops of several threads may share an engine
        self._searches = 0
        self._search_seconds = 0.0
        self._queued: int | None = None
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
            self._store = self.providers.make("store", self.store_name, self._settings)
        self.workplace.note_use()
        return self._store

    @property
    def jobs(self) -> "JobStore | None":
        """The store's queue, where it has one."""
        return self.store.jobs

    @cached_property
    def workplace(self) -> Workplace:
        """The worker of this process."""
        return Workplace(self._kinds)

    @cached_property
    def _kinds(self) -> Kinds:
        return Kinds(self.providers, self._settings, self.extractor_name)

    def offers_jobs(self, kind: str) -> bool:
        """Whether jobs of a kind are done here."""
        return self._kinds.does(kind)

    @property
    def has_guest_kinds(self) -> bool:
        """Whether anybody but us offers a kind of job."""
        from zapomni_core.providers import BUILT_IN

        return any(one not in BUILT_IN for one in self.providers.of_kind("job"))

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
        offered = [one for one in self.providers.of_kind("extractor") if one.name == named]
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
        """The extractor that the settings name, else `names`; built here, connected by its first use."""
        if self._extractor is None:
            if not self._settings.extractor and not self.providers.offers("extractor", DEFAULT_EXTRACTOR):
                raise ConfigurationError(
                    f"no extractor is set, and the plugin that offers '{DEFAULT_EXTRACTOR}' is not there; "
                    "enable the plugin 'graph', or set extractor"
                )
            self._extractor = _guarded_extractor(self.providers.make("extractor", self.extractor_name, self._settings))
        return self._extractor

    async def embedder(self, workspace: str) -> "Embedder":
        """The embedder that made a workspace's vectors; for a new workspace the one that the settings name.

        A stand-in where nobody offers it. That one is not kept: the workspace may have other vectors the next time.
        """
        if self._given_embedder is not None:
            return self._given_embedder
        if workspace in self._embedders:
            return self._embedders[workspace]
        kept = await self.store.embedder(workspace)
        if kept and self._is_missing(kept):
            return _stand_in(kept)
        with self._choosing:
            return self._embedders.setdefault(workspace, self._choose(workspace, kept))

    async def embedder_problem(self, workspace: str) -> str | None:
        """Why nothing can be embedded for a workspace, as far as its records and the settings tell; None where it can."""
        kept = await self.store.embedder(workspace)
        if kept and self._is_missing(kept):
            return str(EmbedderMissingError(kept.name))
        try:
            await self.embedder(workspace)
        except (ConfigurationError, EmbedderMismatchError) as error:
            return str(error)
        return None

    def _is_missing(self, kept: "EmbedderIdentity") -> bool:
        """Whether the store, and not the user, asks for an embedder that nobody offers."""
        is_chosen = self._given_embedder is not None or self._settings.embedder
        return not is_chosen and not self.providers.offers("embedder", kept.name)

    async def embedding(self, workspace: str, work: "Callable[[Embedder], Awaitable[T]]") -> T:
        """The result of work with a workspace's embedder; with the new one where another process made new vectors."""
        embedder = await self.embedder(workspace)
        try:
            return await work(embedder)
        except EmbedderMismatchError:
            if self._given_embedder is not None or await self.store.embedder(workspace) == embedder.identity:
                raise
            self._embedders.pop(workspace, None)
            return await work(await self.embedder(workspace))

    def _choose(self, workspace: str, kept: "EmbedderIdentity | None") -> "Embedder":
        wanted = self._settings.embedder
        if kept is not None and wanted not in (None, kept.name):
            raise EmbedderMismatchError(
                f"the vectors of workspace '{workspace}' were made by embedder '{kept.name}', the settings ask for "
                f"'{wanted}'; run: zapomni reindex --embedder {wanted}"
            )
        name = kept.name if kept else wanted or DEFAULT_EMBEDDER
        embedder = next((one for one in self._built if one.identity.name == name), None) or self._build_embedder(name)
        if kept not in (None, embedder.identity):
            raise EmbedderMismatchError(
                f"the vectors of workspace '{workspace}' were made by another model of embedder '{name}'; "
                f"run: zapomni reindex --embedder {name}"
            )
        return embedder

    def _build_embedder(self, name: str) -> "Embedder":
        self._built.append(_guarded(self.providers.make("embedder", name, self._settings)))
        return self._built[-1]

    async def reindex(self, workspace: str, name: str | None, on_progress: "OnBatch | None") -> int:
        """Vectors of a workspace by another embedder, which is used from then on."""
        from zapomni_core.reindexing import reindex

        kept = await self.store.embedder(workspace)
        wanted = name or self._settings.embedder
        if kept and not wanted and self._is_missing(kept):
            raise EmbedderMissingError(kept.name)
        wanted = wanted or (kept.name if kept else DEFAULT_EMBEDDER)
        known = next((one for one in self._built if one.identity.name == wanted), None)
        embedder = known or self._build_embedder(wanted)
        made = await reindex(self.store, workspace, embedder, on_progress)
        self._embedders[workspace] = embedder
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
            await self.workplace.close()
            if self._store is not None:
                await close_part(self._store)
            for embedder in self._built:
                await embedder.close()
            if self._extractor is not None:
                await self._extractor.close()
        finally:
            await self.telemetry.close()

    @property
    def providers(self) -> Providers:
        """What is offered here; the built-in parts unless others were given."""
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
