"""The language model: questions with retries, within limits, and behind a circuit breaker."""

import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from datetime import datetime
from typing import Any, TypedDict

from zapomni_core.errors import LLMUnavailableError
from zapomni_core.llm.breaker import BreakerState, CircuitBreaker
from zapomni_core.llm.classifier import LLMErrorClassifier, LLMFailure, utc_now
from zapomni_core.llm.client import LLMClient
from zapomni_core.llm.endpoint import Endpoint, Limits
from zapomni_core.settings import LLMSettings

_question_seconds: ContextVar[float] = ContextVar("zapomni_question_seconds", default=math.inf)


class LLMState(TypedDict):
    """The state that `get_stats` and `zapomni doctor` show."""

    provider: str
    model: str
    state: BreakerState
    failures: int
    retry_after_seconds: float | None
    available: bool
    asked: int
    problem: str | None
    error_code: str | None
    suggestion: str | None


class LLM:
    """Asks the model that the settings name.

    Building it makes no connection. `clock` and `sleep` measure and pass the time between attempts, `now` is for dates.
    """

    def __init__(
        self,
        settings: LLMSettings,
        *,
        limits: Limits | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._endpoint = Endpoint.of(settings)
        self._limits = limits or replace(Limits(), total_seconds=settings.timeout_seconds)
        self._clock = clock
        self._sleep = sleep
        self._classifier = LLMErrorClassifier(self._endpoint, now=now)
        self._client = LLMClient(self._endpoint, self._limits, classifier=self._classifier)
        self._breaker = CircuitBreaker(self._limits, clock=clock)
        self._asked = 0
        self._last_failure: LLMFailure | None = None

    @property
    def unavailable(self) -> LLMFailure | None:
        """Why a call would fail at once; None if it would be made."""
        return self._classifier.missing_key() if self._endpoint.lacks_key else self._breaker.refusal

    @property
    def available(self) -> bool:
        """Whether a call would be made now."""
        return self.unavailable is None

    @property
    def state(self) -> LLMState:
        """Which model is asked, and the outcome of recent calls."""
        refusal, unavailable = self._breaker.refusal, self.unavailable
        failure = self._last_failure or unavailable
        return {
            "provider": self._endpoint.provider,
            "model": self._endpoint.model,
            "state": self._breaker.state,
            "failures": self._breaker.failures,
            "retry_after_seconds": refusal.retry_after_seconds if refusal else None,
            "available": unavailable is None,
            "asked": self._asked,
            "problem": unavailable.message if unavailable else None,
            "error_code": failure.code if failure else None,
            "suggestion": failure.suggestion if failure else None,
        }

    async def ask(self, prompt: str, *, system: str, schema: Mapping[str, Any]) -> dict[str, Any]:
        """Return one JSON object that satisfies the schema, or raise LLMUnavailableError with the reason.

        Transient failures are retried, unless Retry-After asks for a longer wait than the limits allow.
        """
        if self._endpoint.lacks_key:
            raise LLMUnavailableError(self._classifier.missing_key())
        deadline = self._clock() + min(self._limits.total_seconds, _question_seconds.get())
        attempt, waited = 0, 0.0
        while True:
            try:
                with self._breaker.attempt():
                    self._asked += 1
                    left = deadline - self._clock()
                    answer = await self._client.ask(prompt, system=system, schema=schema, limit_seconds=left)
            except LLMUnavailableError as error:
                if error.failure.code != "CIRCUIT_OPEN":
                    self._last_failure = error.failure
                wait = self._wait(attempt, error.failure)
                waited += wait
                is_too_long = waited > self._limits.waiting_seconds or self._clock() + wait >= deadline
                if is_too_long or not self._can_retry(attempt, error.failure):
                    raise LLMUnavailableError(self._with_wait(error.failure, wait)) from error.__cause__
            else:
                self._last_failure = None
                return answer
            await self._sleep(wait)
            attempt += 1

    async def close(self) -> None:
        """Close the connections of the running loop, for good."""
        await self._client.close()

    def _can_retry(self, attempt: int, failure: LLMFailure) -> bool:
        return failure.transient and attempt < self._limits.retries and self._breaker.refusal is None

    def _wait(self, attempt: int, failure: LLMFailure) -> float:
        # Half of the wait is random, so that calls that failed together do not retry together.
        backoff = self._limits.backoff(attempt) * random.uniform(0.5, 1.0)  # noqa: S311 (no secret)
        return max(backoff, failure.retry_after_seconds or 0.0)

    def _with_wait(self, failure: LLMFailure, wait: float) -> LLMFailure:
        """The failure with the time to wait before a retry, if waiting can help."""
        if not failure.transient:
            return failure
        known = [failure, self._breaker.refusal]
        return failure.after(max(one.retry_after_seconds or 0.0 for one in known if one) or wait)


@contextmanager
def question_limit(seconds: float) -> Iterator[None]:
    """Limit how long each question in this context may take; extractors need not know of it."""
    token = _question_seconds.set(seconds)
    try:
        yield
    finally:
        _question_seconds.reset(token)
