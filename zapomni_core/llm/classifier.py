"""Failures of the language model: a message and suggestion for people, a code for programs."""

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Literal, Self

from zapomni_core.llm.answers import MalformedAnswerError, WebPageError
from zapomni_core.llm.endpoint import Endpoint
from zapomni_core.text.plural import counted

if TYPE_CHECKING:
    import httpx

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
_REQUEST_CODES = {"MALFORMED_ANSWER", "REQUEST_REFUSED"}
_LONGEST_SECONDS = 86_400.0
_SECONDS = re.compile(r"\s*\d{1,99}(\.\d{1,9})?\s*", re.ASCII)
_BAD_REQUEST = 400
_WRONG_ADDRESS = frozenset({404, 405, 410})
"""Statuses of a server that is not the provider or has another path for it; so are redirects."""


@dataclass(frozen=True, slots=True)
class LLMFailure:
    """Why the language model gave no answer.

    Nothing in it comes from the provider, the prompt or the key, so all of it may be shown and logged. `recoverable` says
    whether the same call can succeed later without any change, `transient` whether that can be soon.
    """

    code: FailureCode
    message: str
    recoverable: bool
    suggestion: str
    retry_after_seconds: float | None = None
    transient: bool = False
    misdirected: bool = False
    """Whether another server than the provider answered."""

    @property
    def concerns_provider(self) -> bool:
        """Whether other requests would fail as well, and not this one alone."""
        return self.misdirected or self.code not in _REQUEST_CODES

    def saying(self, more: str) -> Self:
        """The same failure, with a sentence about its effect on the request."""
        return replace(self, message=f"{self.message} {more}")

    def after(self, seconds: float) -> Self:
        """The same failure, with the time to wait before a retry."""
        message = rate_limit_message(seconds) if self.code == "RATE_LIMIT" else self.message
        return replace(self, retry_after_seconds=_tenths(seconds), message=message)


def rate_limit_message(seconds: float | None) -> str:
    """The message of a rate limit, whether or not the provider said how long it lasts."""
    when = "later" if seconds is None else f"in {counted(math.ceil(seconds), 'second')}"
    return f"LLM rate limit exceeded. Retry {when}."


def circuit_open(cause: LLMFailure, seconds: float) -> LLMFailure:
    """The failure of a call that was not made, because calls are paused after failures."""
    return LLMFailure(
        "CIRCUIT_OPEN",
        f"LLM calls are paused for {counted(math.ceil(seconds), 'second')} after failures ({cause.code}).",
        recoverable=cause.recoverable,
        suggestion=cause.suggestion,
        retry_after_seconds=_tenths(seconds),
        transient=cause.transient,
    )


def _tenths(seconds: float) -> float:
    """Round seconds up to tenths, so that a retry after them is not too early."""
    return math.ceil(round(seconds * 10, 3)) / 10


def utc_now() -> datetime:
    return datetime.now(UTC)


class LLMErrorClassifier:
    """Maps the statuses and errors of one provider to failures.

    The body of a reply is read only for codes that refine a status; none of it is repeated.
    """

    def __init__(self, endpoint: Endpoint, *, now: Callable[[], datetime] = utc_now) -> None:
        self._endpoint = endpoint
        self._now = now

    def classify(self, problem: "httpx.Response | Exception") -> LLMFailure:
        """Classify a reply with an error status, or an exception: httpx's, TimeoutError or MalformedAnswerError."""
        return self._of_error(problem) if isinstance(problem, Exception) else self._of_response(problem)

    def missing_key(self) -> LLMFailure:
        """The failure of a call that was not made, because there is no usable key."""
        return self._invalid_key("Set OPENAI_API_KEY or ZAPOMNI_LLM__API_KEY: there is no usable key yet.")

    def unusable_environment(self) -> LLMFailure:
        """The failure of a call that was not made, because the environment's proxy or certificate settings are unusable."""
        return LLMFailure(
            "NETWORK",
            "Cannot reach LLM provider. Check the proxy and certificate settings of the environment.",
            recoverable=False,
            suggestion="Check HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY, without SOCKS, and that SSL_CERT_FILE names an "
            "existing file; or list the provider's host in NO_PROXY.",
        )

    def _of_error(self, error: Exception) -> LLMFailure:
        import httpx

        if isinstance(error, MalformedAnswerError | httpx.DecodingError):
            return self._malformed(misdirected=isinstance(error, WebPageError))
        if isinstance(error, TimeoutError | httpx.ReadTimeout | httpx.WriteTimeout):
            return self._timeout()
        return self._network()

    def _of_response(self, response: "httpx.Response") -> LLMFailure:
        status = response.status_code
        wait = self._wait_of(response)
        body = _object_in(response.content)
        match status, _code_in(body):
            case _, "model_not_found":
                return self._model_missing()
            case (402, _) | (429, "insufficient_quota"):
                return self._quota()
            case 401 | 403, _:
                return self._invalid_key(self._key_suggestion())
            case 429, _:
                return self._rate_limit(wait)
            case 404, _ if "error" in body:
                return self._model_missing()
            case 408, _:
                return self._timeout()
        return self._server_error(status, wait) if status >= 500 else self._refused(status)  # noqa: PLR2004 (HTTP's own number)

    def _wait_of(self, response: "httpx.Response") -> float | None:
        """The seconds that Retry-After asks for; None if it is missing or invalid."""
        text = response.headers.get("retry-after", "")
        if _SECONDS.fullmatch(text):
            return min(float(text), _LONGEST_SECONDS)
        try:
            moment = parsedate_to_datetime(text)
        except (ValueError, OverflowError):
            return None
        seconds = (moment.replace(tzinfo=moment.tzinfo or UTC) - self._now()).total_seconds()
        return min(max(seconds, 0.0), _LONGEST_SECONDS)

    def _key_suggestion(self) -> str:
        if self._endpoint.provider == "openai" and self._endpoint.is_usual:
            return "Verify the key at https://platform.openai.com/api-keys."
        return f"Set ZAPOMNI_LLM__API_KEY to a key that {self._endpoint.origin} accepts."

    def _invalid_key(self, suggestion: str) -> LLMFailure:
        variable = "OPENAI_API_KEY" if self._endpoint.provider == "openai" else "ZAPOMNI_LLM__API_KEY"
        message = f"LLM API key is invalid. Check your {variable}."
        return LLMFailure("INVALID_API_KEY", message, recoverable=False, suggestion=suggestion)

    def _rate_limit(self, wait: float | None) -> LLMFailure:
        return LLMFailure(
            "RATE_LIMIT",
            rate_limit_message(wait),
            recoverable=True,
            suggestion="Wait and try again, or ask the provider for a higher limit.",
            retry_after_seconds=wait,
            transient=True,
        )

    def _quota(self) -> LLMFailure:
        usual = self._endpoint.provider == "openai" and self._endpoint.is_usual
        where = "https://platform.openai.com/account/billing" if usual else self._endpoint.origin
        return LLMFailure(
            "QUOTA_EXCEEDED",
            f"LLM quota exceeded. Check billing at {where}.",
            recoverable=False,
            suggestion="Add credit or raise the limit of the account, then try again.",
        )

    def _network(self) -> LLMFailure:
        return LLMFailure(
            "NETWORK",
            "Cannot reach LLM provider. Check network connection.",
            recoverable=True,
            suggestion=f"Check that {self._endpoint.origin} is running and reachable; ZAPOMNI_LLM__BASE_URL sets another address.",
            transient=True,
        )

    def _model_missing(self) -> LLMFailure:
        model = self._endpoint.model
        ollama = self._endpoint.provider == "ollama"
        suggestion = f"Run `ollama pull {model}`, or name" if ollama else "Name"
        return LLMFailure(
            "MODEL_MISSING",
            f"LLM provider has no model {model}. Check your ZAPOMNI_LLM__MODEL.",
            recoverable=False,
            suggestion=f"{suggestion} a model that the provider has.",
        )

    def _timeout(self) -> LLMFailure:
        return LLMFailure(
            "TIMEOUT",
            "LLM did not answer in time. Try again later.",
            recoverable=True,
            suggestion="Use a faster model, or raise ZAPOMNI_LLM__TIMEOUT_SECONDS, and ZAPOMNI_LLM__WAIT_SECONDS if memories "
            "are stored when the model fails.",
            transient=True,
        )

    def _malformed(self, *, misdirected: bool) -> LLMFailure:
        return LLMFailure(
            "MALFORMED_ANSWER",
            "LLM answer is not the JSON that was asked for. Try again, or use another model.",
            recoverable=True,
            suggestion="Use a model that supports structured output; check that ZAPOMNI_LLM__BASE_URL is the provider's address.",
            transient=True,
            misdirected=misdirected,
        )

    def _server_error(self, status: int, wait: float | None) -> LLMFailure:
        return LLMFailure(
            "SERVER_ERROR",
            f"LLM provider failed (HTTP {status}). Try again later.",
            recoverable=True,
            suggestion="Wait and try again; the provider's log or status page may say more.",
            retry_after_seconds=wait,
            transient=True,
        )

    def _refused(self, status: int) -> LLMFailure:
        return LLMFailure(
            "REQUEST_REFUSED",
            f"LLM provider refused the request (HTTP {status}). Check your ZAPOMNI_LLM__BASE_URL and ZAPOMNI_LLM__MODEL.",
            recoverable=False,
            suggestion="Use a model that supports structured output and long enough texts.",
            misdirected=status < _BAD_REQUEST or status in _WRONG_ADDRESS,
        )


def _object_in(body: bytes) -> dict[str, Any]:
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return parsed if isinstance(parsed, dict) else {}


def _code_in(body: dict[str, Any]) -> str | None:
    """The provider's code, as OpenAI places it: `error.code`, or else `error.type`."""
    match body.get("error"):
        case {"code": str(code)} | {"type": str(code)}:
            return code
    return None
