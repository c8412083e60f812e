"""The language model: questions with retries, within limits, and behind a circuit breaker."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, TypedDict

from zapomni_core.errors import ConfigurationError
from zapomni_core.http import BreakerState, Calls, Endpoint, Limits, ProviderFailure, utc_now
from zapomni_core.llm.client import LLMClient, LLMErrorClassifier
from zapomni_core.settings import LLMSettings


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


def endpoint_of(settings: LLMSettings) -> Endpoint:
    """The endpoint that the settings name; ConfigurationError if something is missing."""
    if settings.provider is None:
        raise _unset("provider", "openai or ollama")
    if not settings.model or not settings.model.strip():
        raise _unset("model", "a model that the provider has")
    model = settings.model.strip()
    return Endpoint.of("llm", settings.provider, model=model, base_url=settings.base_url, key=settings.api_key)


def _unset(name: str, example: str) -> ConfigurationError:
    return ConfigurationError(
        f"llm.{name} is not set, and the language model needs it: "
        f"set llm.{name} in zapomni.toml or ZAPOMNI_LLM__{name.upper()} to {example}"
    )


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
        self._endpoint = endpoint_of(settings)
        limits = limits or replace(Limits(), total_seconds=settings.timeout_seconds)
        classifier = LLMErrorClassifier(self._endpoint, now=now)
        self._client = LLMClient(self._endpoint, limits, classifier=classifier)
        self._calls = Calls(self._endpoint, classifier, limits, clock=clock, sleep=sleep)

    @property
    def unavailable(self) -> ProviderFailure | None:
        """Why a call would fail at once; None if it would be made."""
        return self._calls.unavailable

    @property
    def available(self) -> bool:
        """Whether a call would be made now."""
        return self.unavailable is None

    @property
    def state(self) -> LLMState:
        """Which model is asked, and the outcome of recent calls."""
        breaker, unavailable = self._calls.breaker, self.unavailable
        refusal = breaker.refusal
        failure = self._calls.last_failure or unavailable
        return {
            "provider": self._endpoint.provider,
            "model": self._endpoint.model,
            "state": breaker.state,
            "failures": breaker.failures,
            "retry_after_seconds": refusal.retry_after_seconds if refusal else None,
            "available": unavailable is None,
            "asked": self._calls.count,
            "problem": unavailable.message if unavailable else None,
            "error_code": failure.code if failure else None,
            "suggestion": failure.suggestion if failure else None,
        }

    async def ask(self, prompt: str, *, system: str, schema: Mapping[str, Any]) -> dict[str, Any]:
        """Return one JSON object that satisfies the schema, or raise LLMUnavailableError with the reason."""
        return await self._calls.make(
            lambda left: self._client.ask(prompt, system=system, schema=schema, limit_seconds=left)
        )

    async def close(self) -> None:
        """Close the connections of the running loop, for good."""
        await self._client.close()
