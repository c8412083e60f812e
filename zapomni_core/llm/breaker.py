"""Stops calls to a provider that fails, and finds out with a single call whether it is back.

closed     every call goes through; too many failures in a row open it, and one that waiting will not cure does at once, or one
           for which the provider names a longer time than anybody waits here: it is asked again after that time
open       no call is made until the cool-down is over
half_open  one call, the probe, goes through: its success closes the breaker, its failure opens it again
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

from zapomni_core.errors import LLMUnavailableError
from zapomni_core.llm.failure import LLMFailure, circuit_open
from zapomni_core.llm.limits import Limits

log = logging.getLogger("zapomni.llm")

BreakerState = Literal["closed", "open", "half_open"]
# Nobody knows how long the probe will take; whoever comes meanwhile may ask again soon.
_PROBE_SECONDS = 1.0


class CircuitBreaker:
    """Lets calls through or refuses them, by what became of the ones before. For the tasks of one thread."""

    def __init__(self, limits: Limits, *, clock: Callable[[], float]) -> None:
        self._limits = limits
        self._clock = clock
        self._failures = 0
        self._cause: LLMFailure | None = None
        self._open_until = 0.0
        self._probing = False
        self._era = 0

    @property
    def state(self) -> BreakerState:
        """Where the breaker stands now."""
        if self._cause is None:
            return "closed"
        return "open" if self._clock() < self._open_until else "half_open"

    @property
    def failures(self) -> int:
        """How many calls in a row have failed."""
        return self._failures

    @property
    def refusal(self) -> LLMFailure | None:
        """What a call would be told now instead of being made; None where it would be made."""
        if self._cause is None:
            return None
        if self._probing:
            return circuit_open(self._cause, _PROBE_SECONDS)
        left = self._open_until - self._clock()
        return circuit_open(self._cause, left) if left > 0 else None

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """The place of one call, which the breaker learns from; LLMUnavailableError where there is none.

        A call that began before the breaker last opened or closed teaches nothing, and neither does a cancelled one.
        """
        if refusal := self.refusal:
            raise LLMUnavailableError(refusal)
        era = self._era
        probe = self._probing = self._cause is not None
        try:
            yield
        except LLMUnavailableError as error:
            self._learn(era, error.failure)
            raise
        else:
            self._learn(era, None)
        finally:
            if probe and era == self._era:
                self._probing = False

    def _learn(self, era: int, failure: LLMFailure | None) -> None:
        if era != self._era:
            return
        if failure is None or not failure.concerns_provider:
            self._close()
            return
        self._failures += 1
        asked = min(failure.retry_after_seconds or 0.0, self._limits.longest_open_seconds)
        if self._cause or not failure.transient or self._failures >= self._limits.open_after_failures:
            self._open(failure, max(self._limits.open_seconds, asked))
        elif asked > self._limits.waiting_seconds:
            self._open(failure, asked)

    def _open(self, failure: LLMFailure, seconds: float) -> None:
        self._cause = failure
        self._open_until = self._clock() + seconds
        self._turn()
        log.warning("the language model is not asked for %.0f seconds after failures: %s", seconds, failure.code)

    def _close(self) -> None:
        self._failures = 0
        if self._cause is not None:
            self._cause = None
            self._turn()
            log.info("the language model answers again")

    def _turn(self) -> None:
        self._era += 1
        self._probing = False
