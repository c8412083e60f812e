"""One call of a tool: what it is for, and what the tool may ask for while it runs."""

import asyncio
import math
import os
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from zapomni_core.beats import Beats

BEAT_SECONDS = 1.0
STILL_WORKING = "still working"
BEAT = 0.001
"""What a beat adds to the progress that was told: less than any step of the work."""

ReportProgress = Callable[[float, float | None, str | None], Awaitable[None]]


async def ignore_progress(_done: float, _total: float | None, _message: str | None) -> None:
    """Takes progress where no client asked for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of one tool, as middleware sees it. `plugin` owns the tool; it is empty for an unknown tool."""

    id: str
    name: str
    arguments: Mapping[str, Any]
    plugin: str = ""
    client: str = ""


@dataclass(slots=True, kw_only=True)
class CallContext:
    """What a running tool may ask for: who called, and a way to tell how far it has come."""

    call: Call
    started: float = field(default_factory=time.perf_counter)
    on_progress: ReportProgress = ignore_progress
    extend: Callable[[], None] = lambda: None
    _told: float = 0.0
    _done: float = 0.0
    _before: float = 0.0
    _told_at: float = 0.0
    _loop: asyncio.AbstractEventLoop | None = None

    @property
    def seconds(self) -> float:
        """How long the call has been going on."""
        return time.perf_counter() - self.started

    @property
    def client(self) -> str:
        """The client's name as it gave it, or an empty string."""
        return self.call.client

    async def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Tell the client how far the work is; the tool's time limit starts anew.

        What clients hear must grow: work that counts from the start again is told as what comes after the rest. What is
        no number, such as a share of nothing, is a sign of progress and no more.

        A thread of the call's may have an event loop of its own: what it tells is handed over, and not waited for.
        """
        if self._loop not in (None, asyncio.get_running_loop()):
            asyncio.run_coroutine_threadsafe(self.progress(done, total, message), self._loop)
            return
        self.extend()
        if not math.isfinite(done):
            return
        if total is not None and not math.isfinite(total):
            total = None
        is_after_a_beat = self._told > self._done
        if self._before + done < self._done:
            self._before = self._told
        self._done = self._before + done
        heard = max(self._done, self._told + BEAT) if is_after_a_beat else self._done
        await self._tell(heard, None if total is None else self._before + total, message)

    @contextmanager
    def beating(self) -> Iterator[None]:
        """Let the client hear once a second that the call goes on, whenever the tool tells nothing itself.

        That is no sign of progress: the tool's time limit goes on.
        """
        self._loop = asyncio.get_running_loop()
        self._told_at = self._loop.time()
        beats = Beats(BEAT_SECONDS, lambda: self._told_at, self._beat)
        try:
            yield
        finally:
            beats.end()

    async def _beat(self) -> None:
        """What was told is looked at here: the tool may have told something since the beat was due."""
        await self._tell(self._told + BEAT, None, STILL_WORKING)

    async def _tell(self, heard: float, total: float | None, message: str | None) -> None:
        self._told, self._told_at = heard, asyncio.get_running_loop().time()
        await self.on_progress(heard, total, message)


call_context: ContextVar[CallContext | None] = ContextVar("zapomni_call", default=None)


# Set by who serves each request in a task of its own: what is logged there after the call is still about it.
request_id: ContextVar[str | None] = ContextVar("zapomni_request", default=None)


def new_call_id() -> str:
    """An id for a call."""
    return os.urandom(6).hex()


def current_call() -> CallContext:
    """The call that is being served here; an error outside of one."""
    context = call_context.get()
    if context is None:
        raise RuntimeError("current_call() was asked outside of a tool call")
    return context


async def report_progress(done: float, total: float | None = None, message: str | None = None) -> None:
    """Tell whoever called how far the work is; nothing outside of a call."""
    context = call_context.get()
    if context is not None:
        await context.progress(done, total, message)


def current_call_id() -> str | None:
    """The id of the call that is being served here, or was, in a task that serves no other; for the log."""
    context = call_context.get()
    return context.call.id if context else request_id.get()
