"""Sends one question to the provider, and returns the JSON that was asked for or raises a classified failure."""

from collections.abc import Mapping
from typing import Any

from zapomni_core.errors import LLMUnavailableError
from zapomni_core.http import Endpoint, ErrorClassifier, HTTPClient, Limits
from zapomni_core.llm.answers import answer_of
from zapomni_core.llm.chat import PROTOCOLS, Question


class LLMErrorClassifier(ErrorClassifier):
    """Maps the failures of a language model to messages."""

    subject = "LLM"
    error = LLMUnavailableError

    def _faster(self) -> str:
        return (
            "Use a faster model, or raise ZAPOMNI_LLM__TIMEOUT_SECONDS, and ZAPOMNI_LLM__WAIT_SECONDS if memories "
            "are stored when the model fails."
        )

    def _other_answer(self) -> tuple[str, str]:
        return (
            "LLM answer is not the JSON that was asked for. Try again, or use another model.",
            "Use a model that supports structured output; check that ZAPOMNI_LLM__BASE_URL is the provider's address.",
        )

    def _fitting(self) -> str:
        return "Use a model that supports structured output and long enough texts."


class LLMClient:
    """Speaks the endpoint's protocol. Every call is one request, without retries."""

    def __init__(
        self, endpoint: Endpoint, limits: Limits | None = None, *, classifier: ErrorClassifier | None = None
    ) -> None:
        self._endpoint = endpoint
        self._protocol = PROTOCOLS[endpoint.provider]
        self._http = HTTPClient(endpoint, limits or Limits(), classifier or LLMErrorClassifier(endpoint))

    async def ask(
        self, prompt: str, *, system: str, schema: Mapping[str, Any], limit_seconds: float | None = None
    ) -> dict[str, Any]:
        """Return one JSON object that satisfies the schema, or raise LLMUnavailableError with the reason."""
        body = self._protocol.body(Question(self._endpoint.model, system, prompt, schema))
        return await self._http.post(
            self._protocol.path,
            body,
            lambda reply: answer_of(reply, self._protocol, schema),
            limit_seconds=limit_seconds,
        )

    async def close(self) -> None:
        """Close the connections of the running loop, for good; a call in progress ends with ProcessingError.

        Other loops close their own.
        """
        await self._http.close()
