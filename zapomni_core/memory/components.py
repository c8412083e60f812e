"""Store, embedder, extractor and job runner of one process."""

import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from operator import index
from typing import TYPE_CHECKING, Any, TypeVar

from zapomni_core.errors import ConfigurationError, EmbedderMissingError, ProcessingError, ZapomniError
from zapomni_core.jobs.kinds import DEFAULT_EXTRACTOR, EMBED, Kinds
from zapomni_core.jobs.runner import JobRunner
from zapomni_core.models import HostStats
from zapomni_core.providers import Providers, close_component
from zapomni_core.settings import Settings
from zapomni_core.telemetry import Telemetry, telemetry_for
from zapomni_db.errors import DatabaseError, EmbedderMismatchError, InvalidInputError
from zapomni_db.records import Extraction

if TYPE_CHECKING:
    from zapomni_core.embedding import Embedder, OnBatch, Profile
    from zapomni_core.extraction import Extractor
    from zapomni_core.memory.reindex import OnPlan
    from zapomni_db.arrays import Vector
    from zapomni_db.records import EmbedderIdentity, JobCounts
    from zapomni_db.store import JobStore, MemoryStore

T = TypeVar("T")

FINISH_SECONDS = 5.0
DEFAULT_STORE = "sqlite"
DEFAULT_EMBEDDER = "default"


class Components:
    """Store, embedders, extractor and job runner of one process, shared by the engines of all workspaces.

    Each is built when it is first needed and closed by `close`; building one connects to nothing. Background work begins with
    `open` or when jobs are queued, and never because a property is read.
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
        self.program = ""
        self.host_stats: Callable[[], HostStats] = HostStats
        self.runner = JobRunner(self)
        self._given_settings = settings
        self._ollama: dict[str, str] = {}
        self._providers = providers
        self._store = store
        self._given_embedder: Embedder | None = CheckedEmbedder(embedder) if embedder else None
        self._embedders: dict[str, Embedder] = {}
        self._built: list[Embedder] = [self._given_embedder] if self._given_embedder else []
        self._extractor: Extractor | None = CheckedExtractor(extractor) if extractor else None
        self._extractor_is_given = extractor is not None
        self._choosing = threading.Lock()  # event loops of several threads may share the components
        self._searches = 0
        self._search_seconds = 0.0
        self._queued: int | None = None

    @cached_property
    def settings(self) -> Settings:
        """The settings that were given, else the user's; ConfigurationError if those are wrong."""
        if self._given_settings is None:
            from zapomni_core.config import load

            return _with_ollama(load().settings, self._ollama)
        return _with_ollama(self._given_settings, self._ollama)

    def choose_ollama(self, host: str | None, model: str | None) -> None:
        """Use the embedder `ollama`, with this host and model, instead of the one in the settings; nothing if both are None."""
        if host:
            from zapomni_core.config.shared_variables import ollama_url

            self._ollama["base_url"] = ollama_url(host)
        if model:
            self._ollama["model"] = model

    @cached_property
    def telemetry(self) -> Telemetry:
        """Traces and metrics of operations."""
        telemetry = telemetry_for(self.settings.telemetry, self.store_name)
        telemetry.gauge("zapomni.queue.depth", lambda: self._queued)
        return telemetry

    async def open(self) -> None:
        """Start the job worker if this process serves jobs. Only the first call does; the store connects on first use."""
        self.runner.start()

    async def close(self) -> None:
        """Close everything that was opened, after `finish_embedding` unless this process serves jobs."""
        try:
            if not self.runner.is_serving:
                await self.finish_embedding()
        finally:
            await self._close()

    async def _close(self) -> None:
        try:
            await self.runner.close()
            if self._store is not None:
                await close_component(self._store)
            for embedder in self._built:
                await embedder.close()
            if self._extractor is not None:
                await self._extractor.close()
        finally:
            if "telemetry" in self.__dict__:
                await self.telemetry.close()

    async def finish_embedding(self) -> bool:
        """Run the embedding jobs of what was stored or found here, for at most five seconds; whether none is left."""
        return await self.runner.finish(EMBED, FINISH_SECONDS)

    @property
    def store_name(self) -> str:
        """The store's name in the settings."""
        if self._store is not None:
            return type(self._store).__name__.removesuffix("Store").lower()
        return self.settings.store.partition("://")[0] if self.settings.store else DEFAULT_STORE

    @property
    def store(self) -> "MemoryStore":
        """The store in the settings; it connects on first use."""
        if self._store is None:
            self._store = self.providers.make("store", self.store_name, self.settings)
        return self._store

    @property
    def jobs(self) -> "JobStore | None":
        """The store's job queue; None if it has none."""
        return self.store.jobs

    @cached_property
    def kinds(self) -> Kinds:
        """The kinds of jobs that are run here."""
        return Kinds(self.providers, self.settings, self.extractor_name)

    @property
    def has_plugin_kinds(self) -> bool:
        """Whether a plugin offers a kind of job."""
        from zapomni_core.providers import BUILT_IN

        return any(one not in BUILT_IN for one in self.providers.of_kind("job"))

    async def job_counts(self, workspace: str) -> "JobCounts | None":
        """The number of jobs of a workspace, by state; None if it never had one."""
        counts = await self.jobs.counts(workspace) if self.jobs is not None else None
        self._queued = counts.queued + counts.running if counts else None
        return counts if counts and counts != type(counts)() else None

    @property
    def extracts(self) -> bool:
        """Whether adding a memory extracts from it."""
        return self.settings.extractor is not None or self._extractor_is_given

    @property
    def extractor_name(self) -> str:
        """The extractor's name; the extractor is not built for it."""
        if self._extractor_is_given and self._extractor is not None:
            return self._extractor.name
        return self.settings.extractor or DEFAULT_EXTRACTOR

    @property
    def asks_llm(self) -> bool:
        """Whether adding a memory asks an extractor that may need a language model."""
        if self._extractor_is_given:
            return bool(getattr(self._extractor, "asks_llm", True))
        named = self.settings.extractor
        offered = [one for one in self.providers.of_kind("extractor") if one.name == named]
        return named is not None and all(one.asks_llm for one in offered)

    @property
    def extractor_problem(self) -> str | None:
        """Why the extractor in the settings cannot be built; None if it can."""
        try:
            self.extractor  # noqa: B018 (reading it builds it)
        except ConfigurationError as error:
            return str(error)
        return None

    @property
    def llm_state(self) -> Mapping[str, Any] | None:
        """The state of the extractor's language model, if it has one."""
        if not self.extracts:
            return None
        if problem := self.extractor_problem:
            llm = self.settings.llm
            return {"provider": llm.provider, "model": llm.model, "available": False, "problem": problem}
        return getattr(self.extractor, "state", None)

    @property
    def extractor(self) -> "Extractor":
        """The extractor in the settings, else `names`; it connects on first use."""
        if self._extractor is None:
            if not self.settings.extractor and not self.providers.offers("extractor", DEFAULT_EXTRACTOR):
                raise ConfigurationError(
                    f"no extractor is set, and the plugin that offers '{DEFAULT_EXTRACTOR}' is not there; "
                    "enable the plugin 'graph', or set extractor"
                )
            self._extractor = CheckedExtractor(self.providers.make("extractor", self.extractor_name, self.settings))
        return self._extractor

    async def embedder(self, workspace: str) -> "Embedder":
        """The embedder that made a workspace's vectors; for a new workspace the one that the settings name.

        A MissingEmbedder if no plugin offers it; that one is not cached, since the workspace may have other vectors next time.
        """
        if self._given_embedder is not None:
            return self._given_embedder
        if workspace in self._embedders:
            return self._embedders[workspace]
        kept = await self.store.embedder(workspace)
        if kept and self._is_missing(kept):
            return MissingEmbedder(kept)
        with self._choosing:
            if workspace not in self._embedders:
                self._embedders[workspace] = self._choose(workspace, kept)
            return self._embedders[workspace]

    async def embedder_problem(self, workspace: str) -> str | None:
        """Why a workspace's embedder cannot be used, judging by the store and the settings; None if it can."""
        kept = await self.store.embedder(workspace)
        if kept and self._is_missing(kept):
            return str(EmbedderMissingError(kept.name))
        try:
            await self.embedder(workspace)
        except (ConfigurationError, EmbedderMismatchError) as error:
            return str(error)
        return None

    def _is_missing(self, kept: "EmbedderIdentity") -> bool:
        """Whether the store, and not the user, asks for an embedder that no plugin offers."""
        is_chosen = self._given_embedder is not None or self.settings.embedder
        return not is_chosen and not self.providers.offers("embedder", kept.name)

    async def with_embedder(self, workspace: str, work: "Callable[[Embedder], Awaitable[T]]") -> T:
        """The result of work with a workspace's embedder; repeated with the new one if another process has re-embedded the workspace."""
        embedder = await self.embedder(workspace)
        try:
            return await work(embedder)
        except EmbedderMismatchError:
            if self._given_embedder is not None or await self.store.embedder(workspace) == embedder.identity:
                raise
            self._embedders.pop(workspace, None)
            return await work(await self.embedder(workspace))

    def _choose(self, workspace: str, kept: "EmbedderIdentity | None") -> "Embedder":
        wanted = self.settings.embedder
        if kept is not None and wanted not in (None, kept.name):
            raise EmbedderMismatchError(
                f"the vectors of workspace '{workspace}' were made by embedder '{kept.name}', the settings ask for "
                f"'{wanted}'; run: zapomni reindex --embedder {wanted}"
            )
        name = kept.name if kept else wanted or DEFAULT_EMBEDDER
        embedder = self._built_embedder(name, kept)
        if kept not in (None, embedder.identity):
            raise EmbedderMismatchError(
                f"the vectors of workspace '{workspace}' were made by another model of embedder '{name}'; "
                f"run: zapomni reindex --embedder {name}"
            )
        return embedder

    def _built_embedder(self, name: str, recorded: "EmbedderIdentity | None") -> "Embedder":
        """The embedder of that name for a recorded identity, or for a new workspace; equal ones are shared."""
        if found := next((one for one in self._built if one.identity == recorded), None):
            return found
        made = CheckedEmbedder(self.providers.make("embedder", name, self.settings, recorded))
        if found := next((one for one in self._built if _serves(one.identity, made.identity)), None):
            return found
        self._built.append(made)
        return made

    async def reindex(
        self, workspace: str, name: str | None, on_progress: "OnBatch | None", on_plan: "OnPlan | None" = None
    ) -> int:
        """Re-embed a workspace with another embedder, and use that one; how many chunks were embedded."""
        from zapomni_core.memory.reindex import reindex

        kept = await self.store.embedder(workspace)
        wanted = name or self.settings.embedder
        if kept and not wanted and self._is_missing(kept):
            raise EmbedderMissingError(kept.name)
        wanted = wanted or (kept.name if kept else DEFAULT_EMBEDDER)
        # Its model stays unless the settings name another one; its dimension may have changed.
        embedder = self._built_embedder(wanted, replace(kept, dimension=0) if kept and kept.name == wanted else None)
        made = await reindex(self.store, workspace, embedder, on_progress, on_plan)
        self._embedders[workspace] = embedder
        return made

    def count_search(self, seconds: float) -> None:
        """Count a search."""
        self._searches += 1
        self._search_seconds += seconds

    @property
    def search_milliseconds(self) -> float | None:
        """The mean duration of a search."""
        return round(self._search_seconds / self._searches * 1000, 3) if self._searches else None

    @property
    def providers(self) -> Providers:
        """The stores, embedders, extractors and kinds of jobs that can be chosen: the built-in ones, unless others were given."""
        if self._providers is None:
            from zapomni_core.providers import BUILT_IN

            self._providers = Providers(BUILT_IN)
        return self._providers


def _with_ollama(settings: Settings, given: Mapping[str, str]) -> Settings:
    """The settings with the embedder `ollama` and these settings of it, if there are any."""
    if not given:
        return settings
    ollama = settings.embedding.ollama.model_copy(update=given)
    embedding = settings.embedding.model_copy(update={"ollama": ollama})
    return settings.model_copy(update={"embedder": "ollama", "embedding": embedding})


def _serves(known: "EmbedderIdentity", wanted: "EmbedderIdentity") -> bool:
    """Whether two identities are the same embedder; the dimension of the new one may not be known yet."""
    same_model = (known.name, known.model) == (wanted.name, wanted.model)
    return same_model and wanted.dimension in (0, known.dimension)


class CheckedEmbedder:
    """Wraps an embedder: other exceptions, and results that are not the vectors asked for, become a ProcessingError that names it."""

    def __init__(self, inner: "Embedder") -> None:
        self._inner = inner

    @property
    def identity(self) -> "EmbedderIdentity":
        return self._inner.identity

    @property
    def profile(self) -> "Profile":
        return self._inner.profile

    async def embed(self, texts: Sequence[str], *, query: bool = False, on_batch: "OnBatch | None" = None) -> "Vector":
        """The vectors. Messages of other exceptions may hold secrets: they go to the log alone."""
        with self._failures_named():
            made = await self._inner.embed(texts, query=query, on_batch=on_batch)
            return _checked_vectors(made, len(texts), self.identity)

    def tokens(self, text: str) -> int:
        try:
            return index(self._inner.tokens(text))
        except Exception as error:
            raise self._failed(error) from error

    async def close(self) -> None:
        await close_component(self._inner)

    @contextmanager
    def _failures_named(self) -> Iterator[None]:
        try:
            yield
        except ZapomniError:
            raise
        except Exception as error:
            raise self._failed(error) from error

    def _failed(self, error: Exception) -> ProcessingError:
        name = self._inner.identity.name
        return ProcessingError(f"The embedder '{name}' failed ({type(error).__name__}); the log has the cause")


def _checked_vectors(made: Any, count: int, identity: "EmbedderIdentity") -> "Vector":
    """The vectors as an array; ProcessingError where their number, dimension or values are wrong."""
    rows = _finite_array(made)
    if rows is None or (count and rows.shape != (count, identity.dimension)):
        raise ProcessingError(
            f"The embedder '{identity.name}' did not return {count} vectors of {identity.dimension} numbers; "
            "choose another embedder in the settings, or ask its author"
        )
    return rows


def _finite_array(made: Any) -> "Vector | None":
    import numpy as np

    try:
        with np.errstate(over="ignore"):
            rows = np.asarray(made, np.float32)
    except (TypeError, ValueError):
        return None
    return rows if np.isfinite(rows).all() else None


class MissingEmbedder:
    """Replaces an embedder that no plugin offers: it has the identity of the store's vectors and refuses to embed."""

    def __init__(self, identity: "EmbedderIdentity") -> None:
        from zapomni_core.embedding import Profile

        self.identity = identity
        self.profile = Profile()

    def tokens(self, text: str) -> int:
        from zapomni_core.embedding import guess_tokens

        return guess_tokens(text)

    async def embed(
        self,
        texts: Sequence[str],  # noqa: ARG002 (the protocol's signature)
        *,
        query: bool = False,  # noqa: ARG002
        on_batch: "OnBatch | None" = None,  # noqa: ARG002
    ) -> "Vector":
        raise EmbedderMissingError(self.identity.name)

    async def close(self) -> None:
        """There is nothing to close."""


class CheckedExtractor:
    """Wraps an extractor: other exceptions, and results that are no Extraction, become a ProcessingError that names it."""

    def __init__(self, inner: "Extractor") -> None:
        self._inner = inner

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def asks_llm(self) -> bool:
        """Whether it may need a language model; assumed if it does not say."""
        return bool(getattr(self._inner, "asks_llm", True))

    @property
    def state(self) -> Mapping[str, Any] | None:
        """The state of its language model, if it has one."""
        state: Mapping[str, Any] | None = getattr(self._inner, "state", None)
        return state

    async def extract(self, text: str, *, timestamp: datetime | None = None) -> Extraction:
        """The entities and relations in a text."""
        try:
            found: Any = await self._inner.extract(text, timestamp=timestamp)
        except (ZapomniError, DatabaseError, InvalidInputError):
            raise
        except Exception as error:
            raise ProcessingError(
                f"The extractor '{self.name}' failed ({type(error).__name__}); the log has the cause"
            ) from error
        if not isinstance(found, Extraction):
            made = type(found).__name__
            raise ProcessingError(
                f"The extractor '{self.name}' returned {made}, not an Extraction; choose another extractor in the "
                "settings, or ask its author"
            )
        return found

    async def close(self) -> None:
        await close_component(self._inner)
