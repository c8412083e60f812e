"""What a client may know of a failure: all of one that is meant for it, nothing but the kind of any other. One table for all."""

import re
from typing import Any, NamedTuple

from zapomni_core.errors import ConfigurationError, DatabaseError, LLMUnavailableError, ProcessingError, ToolError
from zapomni_core.masking import without_paths
from zapomni_core.responses import ErrorResponse, ErrorType
from zapomni_db.errors import (
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

RETRY = "Database temporarily unavailable. Please retry in a few seconds."
RETRY_SECONDS = 5
_SURROGATES = re.compile("[\ud800-\udfff]")


class _Kind(NamedTuple):
    """How a failure is told. Its own message is, without the places on this machine, unless there is another one."""

    error_type: ErrorType
    error_code: str
    status_code: int
    recoverable: bool = False
    retry_after_seconds: float | None = None
    message: str | None = None


# Their messages are safe to show: they name a field and a rule, an id that the caller sent, a setting, or what to do.
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


def describe_failure(error: BaseException, generic: str) -> ErrorResponse:
    """What to tell of an exception, whatever it carries; the generic sentence of one that is not meant for the client."""
    try:
        return _described(error, generic)
    except Exception:  # noqa: BLE001 (the seam: a stranger's exception may not even be able to say what it is)
        return _response(_Kind("internal", "INTERNAL_ERROR", 500), generic)


def flaw_of(error: BaseException) -> str | None:
    """What is wrong with what a ToolError carries; None if nothing is. Never quotes it."""
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
    """A text that can be sent: a name of a file that is no UTF-8, for one, has lone surrogates."""
    return _SURROGATES.sub("\N{REPLACEMENT CHARACTER}", text)


def _described(error: BaseException, generic: str) -> ErrorResponse:
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


def _response(kind: _Kind, message: str, suggestion: Any = None) -> ErrorResponse:
    told = writable(kind.message or message)
    advice = writable(suggestion) if isinstance(suggestion, str) else None
    return ErrorResponse(**kind._asdict() | {"message": told, "suggestion": advice})
