"""One call of a tool, the context that the tool sees while it runs, and progress."""

import asyncio
import math
import os
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zapomni_core.dispatch.middleware import Link

BEAT_SECONDS = 1.0
STILL_WORKING = "still working"
BEAT = 0.001
"""The progress that a heartbeat adds: less than any step of the work."""

ReportProgress = Callable[[float, float | None, str | None], Awaitable[None]]


async def ignore_progress(_done: float, _total: float | None, _message: str | None) -> None:
    """Ignore progress: no client asked for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of one tool, as middleware sees it. `plugin` is the owner of the tool, empty for an unknown tool."""

    id: str
    name: str
    arguments: Mapping[str, Any]
    plugin: str = ""
    client: str = ""


@dataclass(slots=True, kw_only=True)
class CallContext:
    """The context of a running tool: its call, its client, its workspace, and a way to report progress.

    An empty workspace is the one in the settings.
    """

    call: Call
    workspace: str = ""
    started: float = field(default_factory=time.perf_counter)
    on_progress: ReportProgress = ignore_progress
    extend: Callable[[], None] = lambda: None
    raised: "tuple[BaseException, Link | None] | None" = None
    _sent: float = 0.0
    _done: float = 0.0
    _before: float = 0.0
    _sent_at: float = 0.0
    _loop: asyncio.AbstractEventLoop | None = None

    @property
    def seconds(self) -> float:
        """Seconds since the call began."""
        return time.perf_counter() - self.started

    @property
    def client(self) -> str:
        """The client's name as it gave it, or an empty string."""
        return self.call.client

    async def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Tell the client how far the work is, and restart the tool's time limit.

        Progress must grow for the client: if `done` falls, the new count is added to what was reported before. A number
        that is not finite only restarts the limit.

        May be called from an event loop in another thread; it does not wait for the client then.
        """
        if self._loop not in (None, asyncio.get_running_loop()):
            asyncio.run_coroutine_threadsafe(self.progress(done, total, message), self._loop)
            return
        self.extend()
        if not math.isfinite(done):
            return
        if total is not None and not math.isfinite(total):
            total = None
        is_after_heartbeat = self._sent > self._done
        if self._before + done < self._done:
            self._before = self._sent
        self._done = self._before + done
        value = max(self._done, self._sent + BEAT) if is_after_heartbeat else self._done
        await self._send(value, None if total is None else self._before + total, message)

    @contextmanager
    def heartbeat(self) -> Iterator[None]:
        """Tell the client once a second that the call goes on, while the tool reports nothing itself.

        This does not restart the tool's time limit.
        """
        self._loop = asyncio.get_running_loop()
        self._sent_at = self._loop.time()
        heartbeat = Heartbeat(BEAT_SECONDS, lambda: self._sent_at, self._send_heartbeat)
        try:
            yield
        finally:
            heartbeat.stop()

    async def _send_heartbeat(self) -> None:
        await self._send(self._sent + BEAT, None, STILL_WORKING)

    async def _send(self, value: float, total: float | None, message: str | None) -> None:
        self._sent, self._sent_at = value, asyncio.get_running_loop().time()
        await self.on_progress(value, total, message)


class Heartbeat:
    """Calls `send` whenever nothing was sent for some seconds, until it is stopped."""

    def __init__(
        self, seconds: float, last_sent: Callable[[], float], send: Callable[[], Coroutine[Any, Any, None]]
    ) -> None:
        """`last_sent` returns when something was sent last, by the clock of the event loop."""
        self._seconds = seconds
        self._last_sent = last_sent
        self._send = send
        self._sending: asyncio.Task[None] | None = None
        self._loop = asyncio.get_running_loop()
        self._timer = self._loop.call_later(seconds, self._check)

    def stop(self) -> None:
        """Send nothing more."""
        self._timer.cancel()
        if self._sending is not None:
            self._sending.cancel()

    def _check(self) -> None:
        rest = self._last_sent() + self._seconds - self._loop.time()
        if rest <= 0 and (self._sending is None or self._sending.done()):
            self._sending = self._loop.create_task(self._send())
            self._sending.add_done_callback(_ignore_failure)
        self._timer = self._loop.call_later(rest if rest > 0 else self._seconds, self._check)


def _ignore_failure(sending: "asyncio.Task[None]") -> None:
    """The client may be gone; the transport notices that when it sends the result."""
    if not sending.cancelled():
        sending.exception()


call_context: ContextVar[CallContext | None] = ContextVar("zapomni_call", default=None)


# Set by a server that handles each request in a task of its own, for log lines after the call has ended.
request_id: ContextVar[str | None] = ContextVar("zapomni_request", default=None)


def new_call_id() -> str:
    """A random id for a call."""
    return os.urandom(6).hex()


def current_call() -> CallContext:
    """The context of the current call. Raises RuntimeError outside of a call."""
    context = call_context.get()
    if context is None:
        raise RuntimeError("current_call() was asked outside of a tool call")
    return context


async def report_progress(done: float, total: float | None = None, message: str | None = None) -> None:
    """Report progress of the current call; does nothing outside of a call."""
    context = call_context.get()
    if context is not None:
        await context.progress(done, total, message)


def current_call_id() -> str | None:
    """The id of the call that this task serves or has served, for the log."""
    context = call_context.get()
    return context.call.id if context else request_id.get()
