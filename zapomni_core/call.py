"""One call of a tool: what it is for, and what the tool may ask for while it runs."""

import time
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

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
    _before: float = 0.0

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

        What clients hear must grow: work that counts from the start again is told as what comes after the rest.
        """
        self.extend()
        if self._before + done < self._told:
            self._before = self._told
        self._told = self._before + done
        await self.on_progress(self._told, None if total is None else self._before + total, message)


call_context: ContextVar[CallContext | None] = ContextVar("zapomni_call", default=None)


# Set by who serves each request in a task of its own: what is logged there after the call is still about it.
request_id: ContextVar[str | None] = ContextVar("zapomni_request", default=None)


def new_call_id() -> str:
    """An id for a call."""
    return uuid4().hex[:12]


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
