"""Asks a language model for JSON. Importing this loads no HTTP library."""

from zapomni_core.llm.client import LLMClient, LLMErrorClassifier
from zapomni_core.llm.llm import LLM, LLMState, endpoint_of

__all__ = ["LLM", "LLMClient", "LLMErrorClassifier", "LLMState", "endpoint_of"]
