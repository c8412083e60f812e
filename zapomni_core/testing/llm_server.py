"""An HTTP server with the protocols of Ollama and OpenAI, for questions and for embeddings; a test chooses its answers and
failures.

```python
with LLMServer(answer({"entities": []})) as server:
    server.then(refuse(429, retry_after="7"), cut())  # for the next two requests
    ...  # ask server.url (Ollama) or server.url + "/v1" (OpenAI)
    assert server.count == 3
```

`LLMServer(vectors(64))` stands in for an embedder; the failures are the same.

It runs in a thread of its own, for tests that are async and tests that are not, and for other processes.
"""

import asyncio
import json
import socket
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal, Self

_HOST = "127.0.0.1"
_WAIT_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class LLMRequest:
    """A request: `body` is the JSON, the names of `headers` are in lower case."""

    path: str
    headers: dict[str, str]
    body: Any

    @property
    def protocol(self) -> Literal["ollama", "openai"]:
        """The protocol of the request."""
        return "ollama" if self.path.startswith("/api/") else "openai"

    @property
    def texts(self) -> list[str]:
        """The texts to embed."""
        return list(self.body["input"])

    @property
    def prompt(self) -> str:
        """The text of the last message, or the texts to embed."""
        return str(self.body["messages"][-1]["content"]) if "messages" in self.body else "\n".join(self.texts)


@dataclass(frozen=True, slots=True)
class LLMReply:
    """A reply: sent whole, cut before the headers or inside the body, or held back until `release`."""

    status: int = 200
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=dict)
    fate: Literal["whole", "cut_before", "cut_inside", "stalled"] = "whole"


Behaviour = Callable[[LLMRequest], LLMReply]


def answer(value: Any) -> Behaviour:
    """The model answers with this JSON, or with the result of a function of the request."""
    return lambda request: _said(request, json.dumps(value(request) if callable(value) else value))


def say(text: str | None) -> Behaviour:
    """The model answers with this text, which need not be JSON."""
    return lambda request: _said(request, text)


def refuse(status: int, *, retry_after: str | None = None, code: str | None = None) -> Behaviour:
    """The provider refuses with this status; `code` is OpenAI's error code."""
    headers = {} if retry_after is None else {"Retry-After": retry_after}
    return lambda request: LLMReply(status, _error(request, code), headers)


def model_missing() -> Behaviour:
    """The provider does not have the model."""
    return refuse(404, code="model_not_found")


def reply(body: bytes, status: int = 200) -> Behaviour:
    """The reply has these bytes as its body."""
    return lambda _: LLMReply(status, body)


def stall(then: Behaviour | None = None) -> Behaviour:
    """The reply waits for `release`; it is that of `then`, or an empty object."""

    def behaviour(request: LLMRequest) -> LLMReply:
        late = (then or answer({}))(request)
        return LLMReply(late.status, late.body, late.headers, "stalled")

    return behaviour


def cut(*, inside: bool = False) -> Behaviour:
    """The connection is cut before the reply, or `inside` it."""
    return lambda request: LLMReply(200, _said(request, "{}").body, fate="cut_inside" if inside else "cut_before")


def vectors(
    dimension: int, change: Callable[[list[list[float]]], list[list[float]]] = list, *, backwards: bool = False
) -> Behaviour:
    """The embedder answers with vectors in which shared words show, after a change; in OpenAI's protocol also `backwards`."""

    def behaviour(request: LLMRequest) -> LLMReply:
        from zapomni_core.testing.embedder import HashingEmbedder

        embedder = HashingEmbedder(request.body.get("dimensions", dimension))
        rows = change([embedder.vector(text).tolist() for text in request.texts])
        if request.protocol == "ollama":
            return LLMReply(200, json.dumps({"model": request.body["model"], "embeddings": rows}).encode())
        data = [{"object": "embedding", "index": number, "embedding": row} for number, row in enumerate(rows)]
        return LLMReply(200, json.dumps({"data": data[:: -1 if backwards else 1]}).encode())

    return behaviour


def refuse_beyond(behaviour: Behaviour, *, texts: int = 10_000, characters: int = 10_000_000) -> Behaviour:
    """The provider refuses requests with more texts, or with a longer one."""

    def limited(request: LLMRequest) -> LLMReply:
        too_large = len(request.texts) > texts or max(map(len, request.texts)) > characters
        return refuse(400)(request) if too_large else behaviour(request)

    return limited


class LLMServer:
    """Listens on a port of 127.0.0.1 inside its `with` block. Its methods may be called from any thread."""

    def __init__(self, standing: Behaviour | None = None) -> None:
        self.requests: list[LLMRequest] = []
        self._standing = standing or answer({})
        self._next: deque[Behaviour] = deque()
        self._came = threading.Condition()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="llm-server", daemon=True)
        self._tasks: set[asyncio.Task[Any] | None] = set()
        self._released = asyncio.Event()
        self._server: asyncio.Server | None = None
        self._held: socket.socket | None = None
        self._port = 0

    def __enter__(self) -> Self:
        self._thread.start()
        self.up()
        return self

    def __exit__(self, *_: object) -> None:
        self.down()
        if self._held is not None:
            self._held.close()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_WAIT_SECONDS)
        self._loop.close()

    @property
    def url(self) -> str:
        """The URL for Ollama's protocol; add `/v1` for OpenAI's."""
        return f"http://{_HOST}:{self._port}"

    @property
    def count(self) -> int:
        """The number of requests so far."""
        return len(self.requests)

    @property
    def connections(self) -> int:
        """The number of open connections."""
        return len(self._tasks)

    def then(self, *behaviours: Behaviour) -> None:
        """Set the replies of the next requests, one each."""
        self._next.extend(behaviours)

    def always(self, behaviour: Behaviour) -> None:
        """Set the reply of all requests that `then` does not cover."""
        self._next.clear()
        self._standing = behaviour

    def release(self) -> None:
        """Send the replies of requests that wait now."""
        self._loop.call_soon_threadsafe(self._release)

    def wait_for(self, count: int) -> None:
        """Block until that many requests have come; TimeoutError after 30 seconds."""
        with self._came:
            if not self._came.wait_for(lambda: self.count >= count, _WAIT_SECONDS):
                raise TimeoutError(f"{self.count} of {count} requests came")

    def up(self) -> None:
        """Listen, on the same port as before."""
        self._run(self._up())

    def down(self) -> None:
        """Stop listening, and cut all connections."""
        self._run(self._down())

    def _run(self, work: Any) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(_WAIT_SECONDS)

    async def _up(self) -> None:
        if self._held is not None:
            self._held.close()
        self._server = await asyncio.start_server(self._serve, _HOST, self._port)
        self._port = self._server.sockets[0].getsockname()[1]

    async def _down(self) -> None:
        if self._server is None:
            return
        self._server.close()
        self._server = None
        # A socket that is bound and does not listen keeps the port from others, and refuses connections.
        self._held = socket.socket()
        self._held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._held.bind((_HOST, self._port))
        talking = [task for task in self._tasks if task]
        for task in talking:
            task.cancel()
        await asyncio.gather(*talking, return_exceptions=True)

    def _release(self) -> None:
        self._released.set()
        self._released = asyncio.Event()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        self._tasks.add(task)
        try:
            # A connection that `down` cancels has ended like any other; asyncio would report it as an error.
            with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                while await self._send(await self._replied(reader), writer):
                    pass
        finally:
            writer.transport.abort()
            self._tasks.discard(task)

    async def _replied(self, reader: asyncio.StreamReader) -> LLMReply:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        request = LLMRequest(head[0].split(" ")[1], headers, json.loads(body or b"null"))
        behaviour = self._next.popleft() if self._next else self._standing
        released = self._released
        with self._came:
            self.requests.append(request)
            self._came.notify_all()
        replied = behaviour(request)
        if replied.fate == "stalled":
            await self._stall(reader, released)
        return replied

    async def _stall(self, reader: asyncio.StreamReader, released: asyncio.Event) -> None:
        """Wait until the reply is released, or the client has gone."""
        waiting = [asyncio.ensure_future(reader.read(1)), asyncio.ensure_future(released.wait())]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in waiting:
                one.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    async def _send(self, replied: LLMReply, writer: asyncio.StreamWriter) -> bool:
        """Whether the connection goes on."""
        if replied.fate == "cut_before":
            return False
        headers = {"Content-Type": "application/json", "Content-Length": str(len(replied.body))} | replied.headers
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        inside = replied.fate == "cut_inside"
        body = replied.body[: len(replied.body) // 2] if inside else replied.body
        writer.write(f"HTTP/1.1 {replied.status} Reply\r\n{lines}\r\n".encode("latin-1") + body)
        await writer.drain()
        return not inside


def _said(request: LLMRequest, text: str | None) -> LLMReply:
    message = {"role": "assistant", "content": text}
    if request.protocol == "ollama":
        return LLMReply(200, json.dumps({"message": message, "done": True}).encode())
    return LLMReply(200, json.dumps({"choices": [{"index": 0, "message": message}]}).encode())


def _error(request: LLMRequest, code: str | None) -> bytes:
    """A refusal in the provider's form. It repeats the prompt, which must not reach clients or logs."""
    text = f"the provider's own words about {request.prompt}"
    if request.protocol == "ollama":
        return json.dumps({"error": text}).encode()
    return json.dumps({"error": {"message": text, "type": "error", "code": code}}).encode()
