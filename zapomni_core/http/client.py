"""Sends requests to a provider; what goes wrong is a classified failure."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from zapomni_core.errors import ProcessingError
from zapomni_core.http.classifier import ErrorClassifier, MalformedAnswerError, WebPageError
from zapomni_core.http.endpoint import Endpoint, Limits

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")

_OK = 200
_KEPT_HEADERS = (b"retry-after",)
"""Those of the body describe it before it was decoded."""
_PAGE_START = 100
LONGEST_REPLY = 1024 * 1024
"""Bytes of a reply. The answers of language models have a few thousand; a reply may also hold the model's thoughts."""


class HTTPClient:
    """Posts JSON to one endpoint. Every call is one request, without retries; redirects, which could take the key
    elsewhere, are not followed.
    """

    def __init__(
        self, endpoint: Endpoint, limits: Limits, classifier: ErrorClassifier, *, longest_reply: int = LONGEST_REPLY
    ) -> None:
        self._endpoint = endpoint
        self._limits = limits
        self._classifier = classifier
        self._longest_reply = longest_reply
        self._connections: dict[asyncio.AbstractEventLoop, _Connections] = {}
        self._closed = False

    async def post(
        self, path: str, body: Mapping[str, Any], read: Callable[[bytes], T], *, limit_seconds: float | None = None
    ) -> T:
        """Return what `read` makes of the reply, in a thread; raise the classifier's error with the reason otherwise.

        `read` raises MalformedAnswerError for a reply that is not what was asked for.
        """
        import httpx

        if self._endpoint.lacks_key:
            raise self._classifier.error(self._classifier.missing_key())
        connections = self._open_connections()
        try:
            async with connections.call(self._limits.total_seconds if limit_seconds is None else limit_seconds):
                response = await self._post(connections, path, body)
            return await asyncio.to_thread(self._read, response, read)
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError, MalformedAnswerError) as error:
            if self._closed:
                raise ProcessingError(self._closed_message) from None
            raise self._classifier.error(self._classifier.classify(error)) from error

    @property
    def _closed_message(self) -> str:
        return f"{self._classifier.subject} connections are closed"

    async def close(self) -> None:
        """Close the connections of the running loop, for good; a call in progress ends with ProcessingError.

        Other loops close their own.
        """
        self._closed = True
        if connections := self._connections.pop(asyncio.get_running_loop(), None):
            await connections.close()

    async def _post(self, connections: "_Connections", path: str, body: Mapping[str, Any]) -> "httpx.Response":
        # JSON escapes let a text with a lone surrogate be sent as UTF-8.
        content = json.dumps(body).encode()
        async with connections.http.stream("POST", self._endpoint.base_url + path, content=content) as response:
            return await _whole(response, self._longest_reply)

    def _read(self, response: "httpx.Response", read: Callable[[bytes], T]) -> T:
        """Read a reply. Runs in a thread: parsing and checking a long one takes time."""
        if response.status_code != _OK:
            raise self._classifier.error(self._classifier.classify(response))
        if response.content[:_PAGE_START].lstrip().startswith(b"<"):
            raise WebPageError("the reply is a web page")
        return read(response.content)

    def _open_connections(self) -> "_Connections":
        """Return the connections of the running loop; drop those of closed loops."""
        import httpx

        if self._closed:
            raise ProcessingError(self._closed_message)
        loop = asyncio.get_running_loop()
        if loop not in self._connections:
            self._connections = {other: kept for other, kept in self._connections.items() if not other.is_closed()}
            # The whole call has its own limit; only connecting has a shorter one.
            timeout = httpx.Timeout(None, connect=self._limits.connect_seconds)
            try:
                http = httpx.AsyncClient(headers=self._headers(), timeout=timeout)
            except (ImportError, OSError, ValueError, httpx.InvalidURL) as error:  # from reading the environment
                raise self._classifier.error(self._classifier.unusable_environment()) from error
            self._connections[loop] = _Connections(http)
        return self._connections[loop]

    def _headers(self) -> dict[str, str]:
        key = self._endpoint.api_key
        return {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})


async def _whole(response: "httpx.Response", longest: int) -> "httpx.Response":
    """Read the body of a reply, up to a limit."""
    import httpx

    body = bytearray()
    async for some in response.aiter_bytes():
        body += some
        if len(body) > longest:
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
