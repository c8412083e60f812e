"""Where the language model is, and what it is called: the settings, checked."""

from dataclasses import dataclass, field
from typing import Literal, Self
from urllib.parse import urlsplit

from zapomni_core.errors import ConfigurationError
from zapomni_core.settings import LLMSettings

USUAL_URLS = {"openai": "https://api.openai.com/v1", "ollama": "http://localhost:11434"}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A provider's address, a model there, and the key for it."""

    provider: Literal["openai", "ollama"]
    model: str
    base_url: str = field(repr=False)
    api_key: str | None = field(default=None, repr=False)

    @classmethod
    def of(cls, settings: LLMSettings) -> Self:
        """The endpoint that the settings name; ConfigurationError where they leave something out."""
        if settings.provider is None:
            raise _unset("provider", "openai or ollama")
        if not settings.model or not settings.model.strip():
            raise _unset("model", "a model that the provider has")
        base_url = (settings.base_url or USUAL_URLS[settings.provider]).strip().rstrip("/")
        _check_url(base_url)
        key = settings.api_key.get_secret_value().strip() if settings.api_key else None
        return cls(settings.provider, settings.model.strip(), base_url, key or None)

    @property
    def is_usual(self) -> bool:
        """Whether this is the provider's own address, and not a server that speaks like it."""
        return self.base_url == USUAL_URLS[self.provider]

    @property
    def origin(self) -> str:
        """The address without path and password, to show."""
        parts = urlsplit(self.base_url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"

    @property
    def lacks_key(self) -> bool:
        """Whether a call is pointless: there is no key where one is certainly needed, or it cannot be sent."""
        if self.api_key is None:
            return self.provider == "openai" and self.is_usual
        return not (self.api_key.isascii() and self.api_key.isprintable())


def _unset(name: str, example: str) -> ConfigurationError:
    return ConfigurationError(
        f"llm.{name} is not set, and the language model needs it: "
        f"set llm.{name} in zapomni.toml or ZAPOMNI_LLM__{name.upper()} to {example}"
    )


def _check_url(url: str) -> None:
    if not _is_http(url):
        raise ConfigurationError(
            "llm.base_url is no address: set llm.base_url in zapomni.toml or ZAPOMNI_LLM__BASE_URL to a URL "
            "that starts with http:// or https://, such as http://localhost:11434"
        )


def _is_http(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0 and url.isprintable()
    except ValueError:
        return False
