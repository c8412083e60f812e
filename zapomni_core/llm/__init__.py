"""Asks a language model for JSON, and knows when asking is of no use. Importing this loads no HTTP library."""

from zapomni_core.llm.breaker import CircuitBreaker
from zapomni_core.llm.classifier import LLMErrorClassifier
from zapomni_core.llm.client import LLMClient
from zapomni_core.llm.endpoint import Endpoint
from zapomni_core.llm.failure import FailureCode, LLMFailure
from zapomni_core.llm.limits import Limits
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
