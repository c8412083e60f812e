"""The address, the protocol and the limits of the language model."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self
from urllib.parse import urlsplit

from zapomni_core.errors import ConfigurationError
from zapomni_core.settings import LLMSettings

Schema = Mapping[str, Any]

USUAL_URLS = {"openai": "https://api.openai.com/v1", "ollama": "http://localhost:11434"}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A provider's address, its model, and the key for it."""

    provider: Literal["openai", "ollama"]
    model: str
    base_url: str = field(repr=False)
    api_key: str | None = field(default=None, repr=False)

    @classmethod
    def of(cls, settings: LLMSettings) -> Self:
        """Build the endpoint that the settings name; raise ConfigurationError if something is missing."""
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


def _unset(name: str, example: str) -> ConfigurationError:
    return ConfigurationError(
        f"llm.{name} is not set, and the language model needs it: "
        f"set llm.{name} in zapomni.toml or ZAPOMNI_LLM__{name.upper()} to {example}"
    )


def _check_url(url: str) -> None:
    if not _is_http(url):
        raise ConfigurationError(
            "llm.base_url is not a URL: set llm.base_url in zapomni.toml or ZAPOMNI_LLM__BASE_URL to a URL "
            "that starts with http:// or https://, such as http://localhost:11434"
        )


def _is_http(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0 and url.isprintable()
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one question, and of retries with a provider that fails."""

    total_seconds: float = 60.0
    connect_seconds: float = 5.0
    retries: int = 2
    backoff_seconds: float = 0.5
    longest_backoff_seconds: float = 8.0
    # The caller may be waiting: a failure that takes longer to pass is reported instead of waited for.
    waiting_seconds: float = 5.0
    open_after_failures: int = 5
    open_seconds: float = 30.0
    # A provider that says "in a year" by mistake must not switch the language model off until the next start.
    longest_open_seconds: float = 3600.0

    def backoff(self, attempt: int) -> float:
        """The longest wait after this attempt, counted from 0."""
        return min(self.backoff_seconds * 2.0**attempt, self.longest_backoff_seconds)


@dataclass(frozen=True, slots=True)
class Question:
    """A question: the model, the prompts, and the JSON Schema of the answer."""

    model: str
    system: str
    prompt: str
    schema: Schema

    @property
    def messages(self) -> list[dict[str, str]]:
        return [{"role": "system", "content": self.system}, {"role": "user", "content": self.prompt}]


@dataclass(frozen=True, slots=True)
class ChatProtocol:
    """The format of a provider's requests, and the place of the answer's text in its replies.

    `text_of` raises LookupError or TypeError if a reply does not follow the protocol.
    """

    path: str
    body: Callable[[Question], dict[str, Any]]
    text_of: Callable[[Any], Any]


def _ollama_body(question: Question) -> dict[str, Any]:
    return {
        "model": question.model,
        "messages": question.messages,
        "stream": False,
        "format": question.schema,
        "options": {"temperature": 0},
    }


def _openai_body(question: Question) -> dict[str, Any]:
    # No temperature: reasoning models refuse a request that sets it.
    form = {"name": "answer", "schema": question.schema, "strict": is_closed(question.schema)}
    return {
        "model": question.model,
        "messages": question.messages,
        "response_format": {"type": "json_schema", "json_schema": form},
    }


def is_closed(schema: Any) -> bool:
    """Whether every object in the schema lists and requires all its properties; OpenAI refuses `strict` otherwise."""
    if isinstance(schema, list):
        return all(map(is_closed, schema))
    if not isinstance(schema, dict):
        return True
    if "properties" in schema or schema.get("type") == "object":
        if schema.get("additionalProperties") is not False:
            return False
        if set(schema.get("required", ())) != set(schema.get("properties", {})):
            return False
    return all(map(is_closed, schema.values()))


OLLAMA = ChatProtocol("/api/chat", _ollama_body, lambda reply: reply["message"]["content"])
OPENAI = ChatProtocol("/chat/completions", _openai_body, lambda reply: reply["choices"][0]["message"]["content"])
PROTOCOLS = {"ollama": OLLAMA, "openai": OPENAI}
