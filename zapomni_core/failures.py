"""What a client may know of a failure: all of one that is meant for it, nothing but the kind of any other. One table for all."""

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
    """What to tell of an exception; the generic sentence of one that is not meant for the client."""
    if isinstance(error, ToolError):
        more = {"recoverable": error.recoverable, "suggestion": error.suggestion}
        return _response(_Kind("refused", "REFUSED", 400), str(error), **more)
    if isinstance(error, LLMUnavailableError):
        failure = error.failure
        kind = _Kind("llm_unavailable", failure.code, 503, failure.recoverable, failure.retry_after_seconds)
        return _response(kind, failure.message, suggestion=failure.suggestion)
    for cls, kind in KINDS.items():
        if isinstance(error, cls):
            return _response(kind, without_paths(str(error)))
    ours: ErrorType = "processing" if isinstance(error, ProcessingError) else "internal"
    return _response(_Kind(ours, f"{ours.upper()}_ERROR", 500), generic)


def _response(kind: _Kind, message: str, **more: Any) -> ErrorResponse:
    return ErrorResponse(**(kind._asdict() | {"message": kind.message or message} | more))
