"""Asks a language model for JSON. Importing this loads no HTTP library."""

from zapomni_core.llm.breaker import CircuitBreaker
from zapomni_core.llm.classifier import FailureCode, LLMErrorClassifier, LLMFailure
from zapomni_core.llm.client import LLMClient
from zapomni_core.llm.endpoint import Endpoint, Limits
from zapomni_core.llm.llm import LLM, LLMState

__all__ = [
    "LLM",
    "CircuitBreaker",
    "Endpoint",
    "FailureCode",
    "LLMClient",
    "LLMErrorClassifier",
    "LLMFailure",
    "LLMState",
    "Limits",
]
