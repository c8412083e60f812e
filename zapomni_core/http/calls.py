"""Calls to one provider: with retries, within limits, and behind a circuit breaker."""

import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from zapomni_core.errors import ProviderUnavailableError
from zapomni_core.http.breaker import CircuitBreaker
from zapomni_core.http.classifier import ErrorClassifier, ProviderFailure
from zapomni_core.http.endpoint import Endpoint, Limits

T = TypeVar("T")

_call_seconds: ContextVar[float] = ContextVar("zapomni_call_seconds", default=math.inf)


class Calls:
    """Calls one endpoint. `clock` and `sleep` measure and pass the time between attempts."""

    def __init__(
        self,
        endpoint: Endpoint,
        classifier: ErrorClassifier,
        limits: Limits,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.breaker = CircuitBreaker(limits, error=classifier.error, clock=clock)
        self.count = 0
        self.last_failure: ProviderFailure | None = None
        self._endpoint = endpoint
        self._classifier = classifier
        self._limits = limits
        self._clock = clock
        self._sleep = sleep

    @property
    def unavailable(self) -> ProviderFailure | None:
        """Why a call would fail at once; None if it would be made."""
        return self._classifier.missing_key() if self._endpoint.lacks_key else self.breaker.refusal

    async def make(self, call: Callable[[float], Awaitable[T]]) -> T:
        """Return the result of a call, which gets the seconds that are left, or raise the error with the reason.

        Transient failures are retried, unless Retry-After asks for a longer wait than the limits allow.
        """
        if self._endpoint.lacks_key:
            raise self._classifier.error(self._classifier.missing_key())
        deadline = self._clock() + min(self._limits.total_seconds, _call_seconds.get())
        attempt, waited = 0, 0.0
        while True:
            try:
                with self.breaker.attempt():
                    self.count += 1
                    result = await call(deadline - self._clock())
            except ProviderUnavailableError as error:
                if error.failure.code != "CIRCUIT_OPEN":
                    self.last_failure = error.failure
                wait = self._wait(attempt, error.failure)
                waited += wait
                is_too_long = waited > self._limits.waiting_seconds or self._clock() + wait >= deadline
                if is_too_long or not self._can_retry(attempt, error.failure):
                    raise self._classifier.error(self._with_wait(error.failure, wait)) from error.__cause__
            else:
                self.last_failure = None
                return result
            await self._sleep(wait)
            attempt += 1

    def _can_retry(self, attempt: int, failure: ProviderFailure) -> bool:
        return failure.transient and attempt < self._limits.retries and self.breaker.refusal is None

    def _wait(self, attempt: int, failure: ProviderFailure) -> float:
        # Half of the wait is random, so that calls that failed together do not retry together.
        backoff = self._limits.backoff(attempt) * random.uniform(0.5, 1.0)  # noqa: S311 (no secret)
        return max(backoff, failure.retry_after_seconds or 0.0)

    def _with_wait(self, failure: ProviderFailure, wait: float) -> ProviderFailure:
        """The failure with the time to wait before a retry, if waiting can help."""
        if not failure.transient:
            return failure
        known = [failure, self.breaker.refusal]
        return failure.after(max(one.retry_after_seconds or 0.0 for one in known if one) or wait)


@contextmanager
def call_limit(seconds: float) -> Iterator[None]:
    """Limit how long each call in this context may take; what makes the calls need not know of it."""
    token = _call_seconds.set(seconds)
    try:
        yield
    finally:
        _call_seconds.reset(token)
