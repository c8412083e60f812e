"""The address of a provider, its key, and the limits of calls."""

from dataclasses import dataclass, field
from typing import Literal, Self
from urllib.parse import urlsplit

from pydantic import SecretStr

from zapomni_core.errors import ConfigurationError

ProviderKind = Literal["openai", "ollama"]

USUAL_URLS = {"openai": "https://api.openai.com/v1", "ollama": "http://localhost:11434"}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A provider's address, its model, and the key for it. `table` is that of its settings: "llm", "embedding.ollama"."""

    provider: ProviderKind
    model: str
    base_url: str = field(repr=False)
    api_key: str | None = field(default=None, repr=False)
    table: str = "llm"

    @classmethod
    def of(
        cls,
        table: str,
        provider: ProviderKind,
        *,
        model: str,
        base_url: str | None = None,
        key: SecretStr | None = None,
    ) -> Self:
        """Build the endpoint of some settings; raise ConfigurationError if the address is not a URL."""
        url = (base_url or USUAL_URLS[provider]).strip().rstrip("/")
        if not _is_http(url):
            raise ConfigurationError(
                f"{table}.base_url is not a URL: set {table}.base_url in zapomni.toml or {variable(table, 'base_url')} to a "
                f"URL that starts with http:// or https://, such as {USUAL_URLS['ollama']}"
            )
        secret = key.get_secret_value().strip() if key else None
        return cls(provider, model, url, secret or None, table)

    def variable(self, name: str) -> str:
        """The environment variable of one of its settings."""
        return variable(self.table, name)

    @property
    def is_usual(self) -> bool:
        """Whether this is the provider's own address, not another server with the same protocol."""
        return self.base_url == USUAL_URLS[self.provider]

    @property
    def origin(self) -> str:
        """The address to show, without path and password."""
        parts = urlsplit(self.base_url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"

    @property
    def lacks_key(self) -> bool:
        """Whether a call cannot succeed: a key is certainly needed and missing, or it cannot be sent in a header."""
        if self.api_key is None:
            return self.provider == "openai" and self.is_usual
        return not (self.api_key.isascii() and self.api_key.isprintable())


def variable(table: str, name: str) -> str:
    """The environment variable of a setting."""
    return f"ZAPOMNI_{table}__{name}".replace(".", "__").upper()


def _is_http(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0 and url.isprintable()
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one call, and of retries with a provider that fails."""

    total_seconds: float = 60.0
    connect_seconds: float = 5.0
    retries: int = 2
    backoff_seconds: float = 0.5
    longest_backoff_seconds: float = 8.0
    # The caller may be waiting: a failure that takes longer to pass is reported instead of waited for.
    waiting_seconds: float = 5.0
    open_after_failures: int = 5
    open_seconds: float = 30.0
    # A provider that says "in a year" by mistake must not switch it off until the next start.
    longest_open_seconds: float = 3600.0

    def backoff(self, attempt: int) -> float:
        """The longest wait after this attempt, counted from 0."""
        return min(self.backoff_seconds * 2.0**attempt, self.longest_backoff_seconds)
