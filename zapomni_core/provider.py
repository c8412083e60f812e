"""Parts that plugins offer, by name, and that are built when first needed: stores, embedders, extractors, kinds of jobs."""

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, get_args

from zapomni_core.errors import ConfigurationError
from zapomni_core.settings import Settings

Kind = Literal["store", "embedder", "extractor", "job"]
KINDS: tuple[str, ...] = get_args(Kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderContext:
    """What a factory is told: the user's settings, and for a store its URL, or None for the provider's default place."""

    settings: Settings
    url: str | None = None


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


class Providers:
    """What can be chosen, by kind and name."""

    def __init__(self, providers: Iterable[Provider] = ()) -> None:
        self._owned: dict[tuple[str, str], tuple[str, Provider]] = {}
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
