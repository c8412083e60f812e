"""Notices when a tool, a middleware, a lifespan or a job blocks the event loop, and says whose it is and where.

A blocking body cannot be cut short from outside. What can be done is to name it: a thread watches a heart that beats on
the loop while calls are running, or other work of plugins', and logs the stack when it stops. Nothing running: no beat, no
waking, no cost.
"""

import asyncio
import logging
import sys
import threading
import time
import traceback
from collections.abc import Awaitable, Callable
from types import FrameType
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from zapomni_core.host.validation import CheckedTool
from zapomni_core.middleware import Link, Step

log = logging.getLogger("zapomni.watchdog")

T = TypeVar("T")

BEAT_SECONDS = 0.5
PATIENCE_SECONDS = 2.0
_ASKS = Link.ask.__code__
_GOES_ON = Step.go_on.__code__


class Watchdog:
    """Watches one event loop while something of plugins' is running, from a thread that lives no longer than that does."""

    def __init__(self) -> None:
        self._running: dict[str, CheckedTool] = {}
        self._surrounded: set[str] = set()
        self._other_work = 0
        self._idle: threading.Event | None = None
        self._loop_thread = 0
        self._last_beat = 0.0

    def enter(self, call_id: str, tool: CheckedTool) -> None:
        """A call begins; must be called on the loop."""
        self._running[call_id] = tool
        if self._idle is None:
            self._start()

    def leave(self, call_id: str) -> None:
        """A call has ended."""
        self._running.pop(call_id, None)

    def surround(self, call_id: str) -> None:
        """A call begins that has middleware around it; must be called on the loop."""
        self._surrounded.add(call_id)
        if self._idle is None:
            self._start()

    def part(self, call_id: str) -> None:
        """A call and all that was around it have ended."""
        self._surrounded.discard(call_id)

    def begin(self) -> None:
        """Work that is no call begins; must be called on the loop."""
        self._other_work += 1
        if self._idle is None:
            self._start()

    def end(self) -> None:
        """Such work has ended."""
        self._other_work -= 1

    @property
    def running(self) -> list[str]:
        """The names of the tools that are running."""
        return sorted({tool.name for tool in self._running.values()})

    @property
    def _is_needed(self) -> bool:
        return bool(self._running or self._surrounded or self._other_work)

    def _start(self) -> None:
        self._idle = threading.Event()
        self._loop_thread = threading.get_ident()
        loop = asyncio.get_running_loop()
        self._beat(loop)
        threading.Thread(target=self._watch, args=(self._idle, loop), name="zapomni-watchdog", daemon=True).start()

    def _beat(self, loop: asyncio.AbstractEventLoop) -> None:
        self._last_beat = time.monotonic()
        if self._is_needed:
            loop.call_later(BEAT_SECONDS, self._beat, loop)
        elif self._idle is not None:
            self._idle.set()
            self._idle = None

    def _watch(self, idle: threading.Event, loop: asyncio.AbstractEventLoop) -> None:
        reported = 0.0
        while not idle.wait(BEAT_SECONDS) and not loop.is_closed():
            beat = self._last_beat
            if self._is_needed and beat != reported and time.monotonic() - beat > PATIENCE_SECONDS:
                reported = beat
                self._report()

    def _report(self) -> None:
        frame = sys._current_frames().get(self._loop_thread)  # noqa: SLF001 (the only way to another thread's stack)
        if frame is None:
            return
        what, whose = self._blocker(frame)
        log.warning(
            "%s_blocks_the_server",
            what,
            extra=whose
            | {
                "stack": "".join(traceback.format_stack(frame)[-8:]),
                "fix": "move the blocking work to a thread: await asyncio.to_thread(...)",
            },
        )

    def _blocker(self, frame: FrameType | None) -> tuple[str, dict[str, str | None]]:
        """Whose code is on the stack: the tool that runs, the middleware that has not gone on to the next, other work."""
        running = list(self._running.items())
        while frame is not None and frame.f_code is not _GOES_ON:
            if frame.f_code is _ASKS:
                return "middleware", _middleware_in(frame.f_locals)
            if frame.f_code is _WATCHES:
                return frame.f_locals["what"], dict(frame.f_locals["whose"])
            for call_id, tool in running:
                if _is_body_of(frame, tool):
                    return "tool", {"request_id": call_id, "tool": tool.name, "plugin": tool.plugin}
            frame = frame.f_back
        return "tool", {"request_id": None, "tool": None, "plugin": None}


_watchdogs: WeakKeyDictionary[asyncio.AbstractEventLoop, Watchdog] = WeakKeyDictionary()


def watchdog() -> Watchdog:
    """The one that watches the running event loop."""
    loop = asyncio.get_running_loop()
    if loop not in _watchdogs:
        _watchdogs[loop] = Watchdog()
    return _watchdogs[loop]


async def watched(
    work: Callable[[], Awaitable[T]],
    what: str,  # noqa: ARG001 (it is read on the stack)
    **whose: str | None,  # noqa: ARG001 (so is this)
) -> T:
    """The result of a plugin's work that is no call; the one place where it is awaited, by which it is known on the stack."""
    dog = watchdog()
    dog.begin()
    try:
        return await work()
    finally:
        dog.end()


_WATCHES = watched.__code__


def _middleware_in(asked: dict[str, Any]) -> dict[str, str | None]:
    link, call = asked["self"], asked["call"]
    return {"request_id": call.id, "tool": call.name, "plugin": link.plugin, "stage": link.stage}


def _is_body_of(frame: FrameType, tool: CheckedTool) -> bool:
    owner = getattr(tool.execute, "__self__", None)
    return frame.f_code is getattr(tool.execute, "__code__", None) and owner in (None, frame.f_locals.get("self"))
