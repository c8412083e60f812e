"""One call to the provider: a question goes out, the JSON that was asked for or a classified failure comes back."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from zapomni_core.errors import LLMUnavailableError, ProcessingError
from zapomni_core.llm.answers import MalformedAnswerError, answer_of
from zapomni_core.llm.classifier import LLMErrorClassifier
from zapomni_core.llm.dialects import DIALECTS, Question
from zapomni_core.llm.endpoint import Endpoint
from zapomni_core.llm.limits import Limits

if TYPE_CHECKING:
    import httpx

_OK = 200
_TOLD = (b"retry-after",)
"""Headers that say something; those of the body speak of it as it came."""
_CLOSED = "The language model is closed"
LONGEST_REPLY = 1024 * 1024
"""Bytes of a reply. The answers to our questions have a few thousand; a reply may also hold what the model thought."""


class LLMClient:
    """Speaks the endpoint's protocol. Every call is one request: nothing is tried twice here."""

    def __init__(
        self, endpoint: Endpoint, limits: Limits | None = None, *, classifier: LLMErrorClassifier | None = None
    ) -> None:
        self._endpoint = endpoint
        self._dialect = DIALECTS[endpoint.provider]
        self._limits = limits or Limits()
        self._classifier = classifier or LLMErrorClassifier(endpoint)
        self._lines: dict[asyncio.AbstractEventLoop, _Line] = {}
        self._closed = False

    async def ask(
        self, prompt: str, *, system: str, schema: Mapping[str, Any], limit_seconds: float | None = None
    ) -> dict[str, Any]:
        """One JSON object that satisfies the schema; LLMUnavailableError says why there is none."""
        import httpx

        if self._endpoint.lacks_key:
            raise LLMUnavailableError(self._classifier.missing_key())
        question = Question(self._endpoint.model, system, prompt, schema)
        line = self._line()
        try:
            async with line.call(self._limits.total_seconds if limit_seconds is None else limit_seconds):
                response = await self._post(line, question)
            return await asyncio.to_thread(self._read, response, schema)
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError, MalformedAnswerError) as error:
            if self._closed:
                raise ProcessingError(_CLOSED) from None
            raise LLMUnavailableError(self._classifier.classify(error)) from error

    async def close(self) -> None:
        """Close the connections of the running loop, and make no more; a call under way ends with ProcessingError.

        Where there were other loops, each closes its own.
        """
        self._closed = True
        if line := self._lines.pop(asyncio.get_running_loop(), None):
            await line.close()

    async def _post(self, line: "_Line", question: Question) -> "httpx.Response":
        # The prompt is escaped, because half a surrogate pair in it could not be sent as UTF-8.
        content = json.dumps(self._dialect.body(question)).encode()
        address = self._endpoint.base_url + self._dialect.path
        async with line.http.stream("POST", address, content=content) as response:
            return await _whole(response)

    def _read(self, response: "httpx.Response", schema: Mapping[str, Any]) -> dict[str, Any]:
        """The answer in a reply. Runs in a thread: parsing and validating a long reply takes time."""
        if response.status_code != _OK:
            raise LLMUnavailableError(self._classifier.classify(response))
        return answer_of(response.content, self._dialect, schema)

    def _line(self) -> "_Line":
        """The line of the running loop; those of loops that have ended are forgotten."""
        import httpx

        if self._closed:
            raise ProcessingError(_CLOSED)
        loop = asyncio.get_running_loop()
        if loop not in self._lines:
            self._lines = {other: line for other, line in self._lines.items() if not other.is_closed()}
            # The whole call has a limit of its own; only connecting is given up earlier.
            patience = httpx.Timeout(None, connect=self._limits.connect_seconds)
            try:
                http = httpx.AsyncClient(headers=self._headers(), timeout=patience)
            except (ImportError, OSError, ValueError, httpx.InvalidURL) as error:  # it reads the environment
                raise LLMUnavailableError(self._classifier.unusable_environment()) from error
            self._lines[loop] = _Line(http)
        return self._lines[loop]

    def _headers(self) -> dict[str, str]:
        key = self._endpoint.api_key
        return {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})


async def _whole(response: "httpx.Response") -> "httpx.Response":
    """A reply with its body, which has been read and is not too long."""
    import httpx

    body = bytearray()
    async for some in response.aiter_bytes():
        body += some
        if len(body) > LONGEST_REPLY:
            raise MalformedAnswerError("the reply is too long")
    told = [(name, value) for name, value in response.headers.raw if name.lower() in _TOLD]
    return httpx.Response(response.status_code, headers=told, content=bytes(body))


class _Line:
    """The connections of one event loop, and the calls that use them."""

    def __init__(self, http: "httpx.AsyncClient") -> None:
        self.http = http
        self._calls: set[asyncio.Timeout] = set()

    @asynccontextmanager
    async def call(self, seconds: float) -> AsyncIterator[None]:
        """A call that ends with TimeoutError at its limit, or when the line is closed."""
        async with asyncio.timeout(seconds) as limit:
            self._calls.add(limit)
            try:
                yield
            finally:
                self._calls.discard(limit)

    async def close(self) -> None:
        # A call that is still connecting would not notice that the connections are closed.
        for limit in self._calls:
            if not limit.expired():
                limit.reschedule(asyncio.get_running_loop().time())
        await self.http.aclose()
