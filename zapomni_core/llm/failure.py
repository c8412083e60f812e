"""What can be wrong with the language model, in words for a person and a code for programs."""

import math
from dataclasses import dataclass, replace
from typing import Literal, Self

FailureCode = Literal[
    "INVALID_API_KEY",
    "RATE_LIMIT",
    "QUOTA_EXCEEDED",
    "NETWORK",
    "MODEL_MISSING",
    "TIMEOUT",
    "MALFORMED_ANSWER",
    "REQUEST_REFUSED",
    "SERVER_ERROR",
    "CIRCUIT_OPEN",
]
_ABOUT_THE_REQUEST = {"MALFORMED_ANSWER", "REQUEST_REFUSED"}


@dataclass(frozen=True, slots=True)
class LLMFailure:
    """Why the language model gave no answer.

    Nothing in it comes from the provider, the prompt or the key: all of it may be shown and logged. `recoverable` says
    whether the same call can succeed later without anybody changing something, `transient` whether that can be soon.
    """

    code: FailureCode
    message: str
    recoverable: bool
    suggestion: str
    retry_after_seconds: float | None = None
    transient: bool = False
    misdirected: bool = False
    """Whether somebody else answered than the provider."""

    @property
    def concerns_provider(self) -> bool:
        """Whether other requests would fail as well; else the provider is there, and this one request was the trouble."""
        return self.misdirected or self.code not in _ABOUT_THE_REQUEST

    def saying(self, more: str) -> Self:
        """The same failure, with what it did to the request that met it."""
        return replace(self, message=f"{self.message} {more}")

    def after(self, seconds: float) -> Self:
        """The same failure, with the time after which to try again."""
        message = rate_limit_message(seconds) if self.code == "RATE_LIMIT" else self.message
        return replace(self, retry_after_seconds=_tenths(seconds), message=message)


def rate_limit_message(seconds: float | None) -> str:
    """What to tell about a rate limit, whether or not the provider said how long it lasts."""
    when = "later" if seconds is None else f"in {math.ceil(seconds)} seconds"
    return f"LLM rate limit exceeded. Retry {when}."


def circuit_open(cause: LLMFailure, seconds: float) -> LLMFailure:
    """No call was made: the ones before it failed, and the time to try again has not come."""
    return LLMFailure(
        "CIRCUIT_OPEN",
        f"LLM calls are paused for {math.ceil(seconds)} seconds after failures ({cause.code}).",
        recoverable=cause.recoverable,
        suggestion=cause.suggestion,
        retry_after_seconds=_tenths(seconds),
        transient=cause.transient,
    )


def _tenths(seconds: float) -> float:
    """The time to read, rounded up: whoever waits that long does not come too early."""
    return math.ceil(round(seconds * 10, 3)) / 10
