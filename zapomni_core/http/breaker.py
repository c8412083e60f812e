"""Stops calls to a provider that fails, and finds out with a single call whether it works again.

closed     every call is made; several failures in a row open the breaker, and so does one failure that waiting will not cure,
           or one with a Retry-After longer than a call may wait
open       no call is made until the pause is over
half_open  one call, the probe, is made: its success closes the breaker, its failure opens it again
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

from zapomni_core.errors import ProviderUnavailableError
from zapomni_core.http.classifier import ProviderFailure, circuit_open
from zapomni_core.http.endpoint import Limits

log = logging.getLogger("zapomni.http")

BreakerState = Literal["closed", "open", "half_open"]
# How long the probe takes is unknown; other calls may be tried again soon.
_PROBE_SECONDS = 1.0


class CircuitBreaker:
    """Allows or refuses calls by the outcome of earlier ones. Not thread-safe."""

    def __init__(self, limits: Limits, *, error: type[ProviderUnavailableError], clock: Callable[[], float]) -> None:
        self._limits = limits
        self._error = error
        self._clock = clock
        self._failures = 0
        self._cause: ProviderFailure | None = None
        self._open_until = 0.0
        self._probing = False
        self._generation = 0

    @property
    def state(self) -> BreakerState:
        """The state now."""
        if self._cause is None:
            return "closed"
        return "open" if self._clock() < self._open_until else "half_open"

    @property
    def failures(self) -> int:
        """The number of calls in a row that failed."""
        return self._failures

    @property
    def refusal(self) -> ProviderFailure | None:
        """The failure that a call would get now; None if it would be made."""
        if self._cause is None:
            return None
        if self._probing:
            return circuit_open(self._cause, _PROBE_SECONDS)
        left = self._open_until - self._clock()
        return circuit_open(self._cause, left) if left > 0 else None

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Run one call and record its outcome; raise the error of the provider if it is refused.

        Cancelled calls do not count, nor calls that began before the breaker last opened or closed.
        """
        if refusal := self.refusal:
            raise self._error(refusal)
        generation = self._generation
        probe = self._probing = self._cause is not None
        try:
            yield
        except ProviderUnavailableError as error:
            self._record(generation, error.failure)
            raise
        else:
            self._record(generation, None)
        finally:
            if probe and generation == self._generation:
                self._probing = False

    def _record(self, generation: int, failure: ProviderFailure | None) -> None:
        if generation != self._generation:
            return
        if failure is None or not failure.concerns_provider:
            self._close()
            return
        self._failures += 1
        wait = min(failure.retry_after_seconds or 0.0, self._limits.longest_open_seconds)
        if self._cause or not failure.transient or self._failures >= self._limits.open_after_failures:
            self._open(failure, max(self._limits.open_seconds, wait))
        elif wait > self._limits.waiting_seconds:
            self._open(failure, wait)

    def _open(self, failure: ProviderFailure, seconds: float) -> None:
        self._cause = failure
        self._open_until = self._clock() + seconds
        self._start_generation()
        log.warning("%s calls are paused for %.0f seconds after failures: %s", failure.subject, seconds, failure.code)

    def _close(self) -> None:
        self._failures = 0
        if self._cause is not None:
            log.info("%s calls work again", self._cause.subject)
            self._cause = None
            self._start_generation()

    def _start_generation(self) -> None:
        self._generation += 1
        self._probing = False
