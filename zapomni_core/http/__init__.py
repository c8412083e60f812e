"""Calls to providers on the network: limits, classified failures, retries and a circuit breaker. Loads no HTTP library."""

from zapomni_core.http.breaker import BreakerState, CircuitBreaker
from zapomni_core.http.calls import Calls, call_limit
from zapomni_core.http.classifier import (
    ErrorClassifier,
    FailureCode,
    MalformedAnswerError,
    ProviderFailure,
    WebPageError,
    circuit_open,
    utc_now,
)
from zapomni_core.http.client import HTTPClient
from zapomni_core.http.endpoint import Endpoint, Limits

__all__ = [
    "BreakerState",
    "Calls",
    "CircuitBreaker",
    "Endpoint",
    "ErrorClassifier",
    "FailureCode",
    "HTTPClient",
    "Limits",
    "MalformedAnswerError",
    "ProviderFailure",
    "WebPageError",
    "call_limit",
    "circuit_open",
    "utc_now",
]
