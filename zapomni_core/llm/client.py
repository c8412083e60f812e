"""Sends one question to the provider, and returns the JSON that was asked for or raises a classified failure."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from zapomni_core.errors import LLMUnavailableError, ProcessingError
from zapomni_core.llm.answers import MalformedAnswerError, answer_of
from zapomni_core.llm.classifier import LLMErrorClassifier
from zapomni_core.llm.endpoint import PROTOCOLS, Endpoint, Limits, Question

if TYPE_CHECKING:
    import httpx

_OK = 200
_KEPT_HEADERS = (b"retry-after",)
"""Those of the body describe it before it was decoded."""
_CLOSED = "The language model is closed"
LONGEST_REPLY = 1024 * 1024
"""Bytes of a reply. Our answers have a few thousand; a reply may also hold the model's thoughts."""


class LLMClient:
    """Speaks the endpoint's protocol. Every call is one request, without retries."""

    def __init__(
        self, endpoint: Endpoint, limits: Limits | None = None, *, classifier: LLMErrorClassifier | None = None
    ) -> None:
        self._endpoint = endpoint
        self._protocol = PROTOCOLS[endpoint.provider]
        self._limits = limits or Limits()
        self._classifier = classifier or LLMErrorClassifier(endpoint)
        self._connections: dict[asyncio.AbstractEventLoop, _Connections] = {}
        self._closed = False

    async def ask(
        self, prompt: str, *, system: str, schema: Mapping[str, Any], limit_seconds: float | None = None
    ) -> dict[str, Any]:
        """Return one JSON object that satisfies the schema, or raise LLMUnavailableError with the reason."""
        import httpx

        if self._endpoint.lacks_key:
            raise LLMUnavailableError(self._classifier.missing_key())
        question = Question(self._endpoint.model, system, prompt, schema)
        connections = self._open_connections()
        try:
            async with connections.call(self._limits.total_seconds if limit_seconds is None else limit_seconds):
                response = await self._post(connections, question)
            return await asyncio.to_thread(self._read, response, schema)
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError, MalformedAnswerError) as error:
            if self._closed:
                raise ProcessingError(_CLOSED) from None
            raise LLMUnavailableError(self._classifier.classify(error)) from error

    async def close(self) -> None:
        """Close the connections of the running loop, for good; a call in progress ends with ProcessingError.

        Other loops close their own.
        """
        self._closed = True
        if connections := self._connections.pop(asyncio.get_running_loop(), None):
            await connections.close()

    async def _post(self, connections: "_Connections", question: Question) -> "httpx.Response":
        # JSON escapes let a prompt with a lone surrogate be sent as UTF-8.
        content = json.dumps(self._protocol.body(question)).encode()
        address = self._endpoint.base_url + self._protocol.path
        async with connections.http.stream("POST", address, content=content) as response:
            return await _whole(response)

    def _read(self, response: "httpx.Response", schema: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer in a reply. Runs in a thread: parsing and validating a long reply takes time."""
        if response.status_code != _OK:
            raise LLMUnavailableError(self._classifier.classify(response))
        return answer_of(response.content, self._protocol, schema)

    def _open_connections(self) -> "_Connections":
        """Return the connections of the running loop; drop those of closed loops."""
        import httpx

        if self._closed:
            raise ProcessingError(_CLOSED)
        loop = asyncio.get_running_loop()
        if loop not in self._connections:
            self._connections = {other: kept for other, kept in self._connections.items() if not other.is_closed()}
            # The whole call has its own limit; only connecting has a shorter one.
            timeout = httpx.Timeout(None, connect=self._limits.connect_seconds)
            try:
                http = httpx.AsyncClient(headers=self._headers(), timeout=timeout)
            except (ImportError, OSError, ValueError, httpx.InvalidURL) as error:  # from reading the environment
                raise LLMUnavailableError(self._classifier.unusable_environment()) from error
            self._connections[loop] = _Connections(http)
        return self._connections[loop]

    def _headers(self) -> dict[str, str]:
        key = self._endpoint.api_key
        return {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})


async def _whole(response: "httpx.Response") -> "httpx.Response":
    """Read the body of a reply, up to a limit."""
    import httpx

    body = bytearray()
    async for some in response.aiter_bytes():
        body += some
        if len(body) > LONGEST_REPLY:
            raise MalformedAnswerError("the reply is too long")
    headers = [(name, value) for name, value in response.headers.raw if name.lower() in _KEPT_HEADERS]
    return httpx.Response(response.status_code, headers=headers, content=bytes(body))


class _Connections:
    """The connections of one event loop, and the calls that use them."""

    def __init__(self, http: "httpx.AsyncClient") -> None:
        self.http = http
        self._calls: set[asyncio.Timeout] = set()

    @asynccontextmanager
    async def call(self, seconds: float) -> AsyncIterator[None]:
        """Limit a call: it ends with TimeoutError at its limit, or when the connections are closed."""
        async with asyncio.timeout(seconds) as limit:
            self._calls.add(limit)
            try:
                yield
            finally:
                self._calls.discard(limit)

    async def close(self) -> None:
        # A call that is still connecting would not notice that the client is closed.
        for limit in self._calls:
            if not limit.expired():
                limit.reschedule(asyncio.get_running_loop().time())
        await self.http.aclose()
