"""Failures of providers: a message and suggestion for people, a code for programs."""

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from zapomni_core.errors import ProviderUnavailableError
from zapomni_core.http.endpoint import Endpoint
from zapomni_core.text.plural import waiting

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
    "WRONG_DIMENSION",
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


class MalformedAnswerError(ValueError):
    """The answer is not what was asked for. The message never quotes the answer."""


class WebPageError(MalformedAnswerError):
    """The reply is a web page, from a proxy that asks for a login or from another server."""


@dataclass(frozen=True, slots=True)
class ProviderFailure:
    """Why a provider gave no answer.

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
    subject: str = "LLM"

    @property
    def concerns_provider(self) -> bool:
        """Whether other requests would fail as well, and not this one alone."""
        return self.misdirected or self.code not in _REQUEST_CODES

    def saying(self, more: str) -> Self:
        """The same failure, with a sentence about its effect on the request."""
        return replace(self, message=f"{self.message} {more}")

    def after(self, seconds: float) -> Self:
        """The same failure, with the time to wait before a retry."""
        message = rate_limit_message(seconds, self.subject) if self.code == "RATE_LIMIT" else self.message
        return replace(self, retry_after_seconds=_tenths(seconds), message=message)


def rate_limit_message(seconds: float | None, subject: str) -> str:
    """The message of a rate limit, whether or not the provider said how long it lasts."""
    when = "later" if seconds is None else f"in {waiting(seconds)}"
    return f"{subject} rate limit exceeded. Retry {when}."


def circuit_open(cause: ProviderFailure, seconds: float) -> ProviderFailure:
    """The failure of a call that was not made, because calls are paused after failures."""
    return ProviderFailure(
        "CIRCUIT_OPEN",
        f"{cause.subject} calls are paused for {waiting(seconds)} after failures ({cause.code}).",
        recoverable=cause.recoverable,
        suggestion=cause.suggestion,
        retry_after_seconds=_tenths(seconds),
        transient=cause.transient,
        subject=cause.subject,
    )


def _tenths(seconds: float) -> float:
    """Round seconds up to tenths, so that a retry after them is not too early."""
    return math.ceil(round(seconds * 10, 3)) / 10


def utc_now() -> datetime:
    return datetime.now(UTC)


class ErrorClassifier:
    """Maps the statuses and errors of one provider to failures.

    The body of a reply is read only for codes that refine a status; none of it is repeated.
    """

    subject: ClassVar[str]
    """The name of the service, with which messages begin."""
    error: ClassVar[type[ProviderUnavailableError]]
    """The exception for a failure."""

    def __init__(self, endpoint: Endpoint, *, now: Callable[[], datetime] = utc_now) -> None:
        self._endpoint = endpoint
        self._now = now

    def classify(self, problem: "httpx.Response | Exception") -> ProviderFailure:
        """Classify a reply with an error status, or an exception: httpx's, TimeoutError or MalformedAnswerError."""
        return self._of_error(problem) if isinstance(problem, Exception) else self._of_response(problem)

    def missing_key(self) -> ProviderFailure:
        """The failure of a call that was not made, because there is no usable key."""
        variable = self._endpoint.variable("api_key")
        names = f"OPENAI_API_KEY or {variable}" if self._takes_usual_key else variable
        return self._invalid_key(f"Set {names}: there is no usable key yet.")

    def unusable_environment(self) -> ProviderFailure:
        """The failure of a call that was not made, because the environment's proxy or certificate settings are unusable."""
        return self._failure(
            "NETWORK",
            f"Cannot reach {self._provider}. Check the proxy and certificate settings of the environment.",
            "Check HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY, without SOCKS, and that SSL_CERT_FILE names an "
            "existing file; or list the provider's host in NO_PROXY.",
        )

    @property
    def _provider(self) -> str:
        """The provider in the middle of a sentence."""
        return f"{self.subject} provider"

    @property
    def _takes_usual_key(self) -> bool:
        """Whether OPENAI_API_KEY is its key."""
        return self._endpoint.provider == "openai"

    def _failure(
        self,
        code: FailureCode,
        message: str,
        suggestion: str,
        *,
        transient: bool = False,
        wait: float | None = None,
        misdirected: bool = False,
    ) -> ProviderFailure:
        """A failure of this subject; those that pass by themselves are transient."""
        return ProviderFailure(
            code,
            message,
            recoverable=transient,
            suggestion=suggestion,
            retry_after_seconds=wait,
            transient=transient,
            misdirected=misdirected,
            subject=self.subject,
        )

    def _of_error(self, error: Exception) -> ProviderFailure:
        import httpx

        if isinstance(error, MalformedAnswerError | httpx.DecodingError):
            return self._malformed(misdirected=isinstance(error, WebPageError))
        if isinstance(error, TimeoutError | httpx.ReadTimeout | httpx.WriteTimeout):
            return self._timeout()
        return self._network()

    def _of_response(self, response: "httpx.Response") -> ProviderFailure:
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
        return f"Set {self._endpoint.variable('api_key')} to a key that {self._endpoint.origin} accepts."

    def _invalid_key(self, suggestion: str) -> ProviderFailure:
        variable = "OPENAI_API_KEY" if self._takes_usual_key else self._endpoint.variable("api_key")
        return self._failure(
            "INVALID_API_KEY", f"{self.subject} API key is invalid. Check your {variable}.", suggestion
        )

    def _rate_limit(self, wait: float | None) -> ProviderFailure:
        message = rate_limit_message(wait, self.subject)
        suggestion = "Wait and try again, or ask the provider for a higher limit."
        return self._failure("RATE_LIMIT", message, suggestion, transient=True, wait=wait)

    def _quota(self) -> ProviderFailure:
        usual = self._endpoint.provider == "openai" and self._endpoint.is_usual
        where = "https://platform.openai.com/account/billing" if usual else self._endpoint.origin
        message = f"{self.subject} quota exceeded. Check billing at {where}."
        suggestion = "Add credit or raise the limit of the account, then try again."
        return self._failure("QUOTA_EXCEEDED", message, suggestion)

    def _network(self) -> ProviderFailure:
        return self._failure(
            "NETWORK",
            f"Cannot reach {self._provider}. Check network connection.",
            f"Check that {self._endpoint.origin} is running and reachable; {self._endpoint.variable('base_url')} sets another address.",
            transient=True,
        )

    def _model_missing(self) -> ProviderFailure:
        model = self._endpoint.model
        ollama = self._endpoint.provider == "ollama"
        suggestion = f"Run `ollama pull {model}`, or name" if ollama else "Name"
        return self._failure(
            "MODEL_MISSING",
            f"{self.subject} provider has no model {model}. Check your {self._endpoint.variable('model')}.",
            f"{suggestion} a model that the provider has.",
        )

    def _timeout(self) -> ProviderFailure:
        message = f"{self.subject} did not answer in time. Try again later."
        return self._failure("TIMEOUT", message, self._faster(), transient=True)

    def _faster(self) -> str:
        """The next step for a model that is too slow."""
        return f"Use a faster model, or raise {self._endpoint.variable('timeout_seconds')}."

    def _malformed(self, *, misdirected: bool) -> ProviderFailure:
        message, suggestion = self._other_answer()
        return self._failure("MALFORMED_ANSWER", message, suggestion, transient=True, misdirected=misdirected)

    def _other_answer(self) -> tuple[str, str]:
        """Message and suggestion for an answer that is not what was asked for."""
        raise NotImplementedError

    def _server_error(self, status: int, wait: float | None) -> ProviderFailure:
        message = f"{self.subject} provider failed (HTTP {status}). Try again later."
        suggestion = "Wait and try again; the provider's log or status page may say more."
        return self._failure("SERVER_ERROR", message, suggestion, transient=True, wait=wait)

    def _refused(self, status: int) -> ProviderFailure:
        url, model = self._endpoint.variable("base_url"), self._endpoint.variable("model")
        message = f"{self.subject} provider refused the request (HTTP {status}). Check your {url} and {model}."
        misdirected = status < _BAD_REQUEST or status in _WRONG_ADDRESS
        return self._failure("REQUEST_REFUSED", message, self._fitting(), misdirected=misdirected)

    def _fitting(self) -> str:
        """The next step for a request that is refused."""
        raise NotImplementedError


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
