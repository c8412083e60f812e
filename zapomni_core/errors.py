"""Errors above the store, and the part of each that a client may see.

Exception
├── DatabaseError            (from zapomni_db) the store cannot be reached, or refused what was asked of it
└── ZapomniError
    ├── ConfigurationError   a setting is wrong, or names something that no plugin offers
    ├── ProcessingError      text could not be chunked, embedded or searched
    │   └── EmbedderMissingError  (a ConfigurationError too) no plugin offers the embedder that made the store's vectors
    ├── ProviderUnavailableError  a provider on the network gave no answer; `failure` says why
    │   ├── LLMUnavailableError       the language model
    │   └── EmbedderUnavailableError  (a ProcessingError too) the embedder
    ├── ToolError            a tool refuses on purpose; its message is meant for the client
    ├── UnknownToolError     no tool has that name
    ├── PluginError          a plugin cannot be loaded; names its stage and the next step
    └── ContractError        a plugin author's mistake, raised where it was made
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from zapomni_db.errors import (
    DatabaseError,
    EmbedderMismatchError,
    InvalidInputError,
    JobNotFoundError,
    MemoryNotFoundError,
    StoreDamagedError,
    StoreFullError,
    StoreReplacedError,
    StoreTooNewError,
    StoreUnavailableError,
)

if TYPE_CHECKING:
    from zapomni_core.http import ProviderFailure
    from zapomni_core.responses import ErrorResponse, ErrorType

__all__ = [
    "ConfigurationError",
    "ContractError",
    "DatabaseError",
    "EmbedderMissingError",
    "EmbedderUnavailableError",
    "LLMUnavailableError",
    "PluginError",
    "ProcessingError",
    "ProviderUnavailableError",
    "ToolError",
    "UnknownToolError",
    "ZapomniError",
]


class ZapomniError(Exception):
    """The root of everything that is raised on purpose above the store."""


class ConfigurationError(ZapomniError):
    """A setting is wrong, or names something that no plugin offers."""


class ProcessingError(ZapomniError):
    """Text could not be chunked, embedded or searched."""


class EmbedderMissingError(ConfigurationError, ProcessingError):
    """No plugin offers the embedder that made the store's vectors. The message says what to do."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"the store's vectors were made by embedder '{name}', which no enabled plugin offers; "
            "install or enable the plugin that brings it, or make new vectors by another: "
            "zapomni reindex --embedder default"
        )


def embedder_too_slow(name: str, seconds: float) -> ProcessingError:
    """The failure of an embedder that a search or a memory does not wait for any longer."""
    return ProcessingError(f"The embedder '{name}' took longer than {seconds:g} seconds")


class ProviderUnavailableError(ZapomniError):
    """A provider gave no answer. `failure` has the code, and what to do next; all of it may be shown."""

    def __init__(self, failure: "ProviderFailure") -> None:
        super().__init__(failure.message)
        self.failure = failure

    @property
    def root_cause(self) -> str | None:
        """The cause for the log, such as a certificate that is not trusted; None if the provider itself refused."""
        error: Exception = self
        while isinstance(error.__cause__, Exception):
            error = error.__cause__
        return None if isinstance(error, ProviderUnavailableError) else f"{type(error).__name__}: {error}".rstrip(": ")


class LLMUnavailableError(ProviderUnavailableError):
    """The language model gave no answer."""


class EmbedderUnavailableError(ProviderUnavailableError, ProcessingError):
    """The provider of the embedder gave no vectors. The message also says what to do."""

    def __str__(self) -> str:
        return f"{self.failure.message} {self.failure.suggestion}"


class ToolError(ZapomniError):
    """A tool refuses on purpose. The message reaches the client: say what to do about it."""

    def __init__(self, message: str, *, suggestion: str | None = None, recoverable: bool = True) -> None:
        super().__init__(message)
        self.suggestion = suggestion
        self.recoverable = recoverable


class UnknownToolError(ZapomniError):
    """No tool has that name; `nearest` are the ones that come close."""

    def __init__(self, name: str, nearest: Sequence[str] = ()) -> None:
        hint = f"; did you mean {' or '.join(nearest)}?" if nearest else ""
        super().__init__(f"Unknown tool: {name}{hint}")
        self.name = name
        self.nearest = tuple(nearest)


class PluginError(ZapomniError):
    """A plugin cannot be loaded. `stage` says where it failed, `fix` what to do next.

    `public_cause` is the part of the cause that clients may see: all of it, unless it quotes an exception.
    """

    def __init__(self, stage: str, cause: str, fix: str, *, public_cause: str | None = None) -> None:
        super().__init__(cause)
        self.stage = stage
        self.fix = fix
        self.public_cause = cause if public_cause is None else public_cause


class ContractError(ZapomniError):
    """A plugin author's mistake in something the author wrote: a signature, a hook, a settings model."""


RETRY = "Database temporarily unavailable. Please retry in a few seconds."
RETRY_SECONDS = 5
_SURROGATES = re.compile("[\ud800-\udfff]")


class _Kind(NamedTuple):
    """The report of a failure. Without a message here, the exception's own is used, with paths masked."""

    error_type: "ErrorType"
    error_code: str
    status_code: int
    recoverable: bool = False
    retry_after_seconds: float | None = None
    message: str | None = None


# Their messages are safe to show: they name a field and a rule, an ID that the caller sent, a setting, or what to do.
KINDS: dict[type[Exception], _Kind] = {
    InvalidInputError: _Kind("validation", "INVALID_ARGUMENTS", 400, recoverable=True),
    MemoryNotFoundError: _Kind("not_found", "MEMORY_NOT_FOUND", 404, recoverable=True),
    JobNotFoundError: _Kind("not_found", "JOB_NOT_FOUND", 404, recoverable=True),
    EmbedderMismatchError: _Kind("database", "EMBEDDER_MISMATCH", 503),
    StoreDamagedError: _Kind("database", "STORE_DAMAGED", 503),
    StoreTooNewError: _Kind("database", "STORE_TOO_NEW", 503),
    StoreReplacedError: _Kind("database", "STORE_REPLACED", 503),
    StoreFullError: _Kind("database", "STORE_FULL", 503, recoverable=True),
    StoreUnavailableError: _Kind("database", "STORE_UNAVAILABLE", 503, True, RETRY_SECONDS),
    DatabaseError: _Kind("database", "DATABASE_UNAVAILABLE", 503, True, RETRY_SECONDS, RETRY),
    ConfigurationError: _Kind("internal", "CONFIGURATION", 503),
}


def describe_failure(error: BaseException, generic: str) -> "ErrorResponse":
    """The response for an exception; with the generic message unless its own is meant for the client."""
    try:
        return _described(error, generic)
    except Exception:  # noqa: BLE001 (a plugin's exception may fail even in __str__)
        return _response(_Kind("internal", "INTERNAL_ERROR", 500), generic)


def flaw_of(error: BaseException) -> str | None:
    """The flaw in a ToolError's fields, or None. Never quotes them."""
    if not isinstance(error, ToolError):
        return None
    suggestion, recoverable = getattr(error, "suggestion", None), getattr(error, "recoverable", True)
    if not isinstance(suggestion, str | None):
        return f"the suggestion of its ToolError is {type(suggestion).__name__}, not text, and was left out"
    if not isinstance(recoverable, bool):
        return f"'recoverable' of its ToolError is {type(recoverable).__name__}, neither True nor False"
    if _SURROGATES.search(f"{error}{suggestion}"):
        return "the text of its ToolError has characters that cannot be sent, and they were replaced"
    return None


def writable(text: str) -> str:
    """The text with lone surrogates replaced, which cannot be sent; file names that are not UTF-8 have them."""
    return _SURROGATES.sub("\N{REPLACEMENT CHARACTER}", text)


def _described(error: BaseException, generic: str) -> "ErrorResponse":
    if isinstance(error, ToolError):
        kind = _Kind("refused", "REFUSED", 400, bool(getattr(error, "recoverable", True)))
        return _response(kind, str(error), getattr(error, "suggestion", None))
    if isinstance(error, LLMUnavailableError):
        failure = error.failure
        kind = _Kind("llm_unavailable", failure.code, 503, failure.recoverable, failure.retry_after_seconds)
        return _response(kind, failure.message, failure.suggestion)
    for cls, kind in KINDS.items():
        if isinstance(error, cls):
            return _response(kind, without_paths(str(error)))
    ours: ErrorType = "processing" if isinstance(error, ProcessingError) else "internal"
    return _response(_Kind(ours, f"{ours.upper()}_ERROR", 500), generic)


def _response(kind: _Kind, message: str, suggestion: Any = None) -> "ErrorResponse":
    from zapomni_core.responses import ErrorResponse

    shown = writable(kind.message or message)
    advice = writable(suggestion) if isinstance(suggestion, str) else None
    return ErrorResponse(**kind._asdict() | {"message": shown, "suggestion": advice})


# Zapomni's messages quote paths with blanks as a shell does.
_QUOTED = r"""(?<!\w)'[^'\n/\\]*[/\\][^'\n]*'(?:"'"'[^'\n]*')*(?!\w)"""
_WEB = r"(?P<web>https?://(?![^\s'\",;]*[@?])[^\s'\",;]+)"  # not a path, and without a secret
_PLAIN = r"(?<![\w.])(?:[A-Za-z]:)?[/\\][^\s'\",;]*[^\s'\",;.:)]"
_PATH = re.compile(f"{_WEB}|{_QUOTED}|{_PLAIN}")


def without_paths(text: str) -> str:
    """The text with paths masked; the log has them."""
    return _PATH.sub(lambda found: found["web"] or "…", text)
