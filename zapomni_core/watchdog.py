"""Notices when a tool or a middleware blocks the event loop, and says whose it is and where.

A blocking body cannot be cut short from outside. What can be done is to name it: a thread watches a heart that beats on
the loop while calls are running, and logs the stack when it stops. No call running: no beat, no waking, no cost.
"""

import asyncio
import logging
import sys
import threading
import time
import traceback
from types import FrameType
from typing import Any

from zapomni_core.host.validation import CheckedTool
from zapomni_core.middleware import Link, Step

log = logging.getLogger("zapomni.watchdog")

BEAT_SECONDS = 0.5
_ASKS = Link.ask.__code__
_GOES_ON = Step.go_on.__code__


class Watchdog:
    """Watches the loop while calls are running, from a thread that lives no longer than they do."""

    def __init__(self, patience_seconds: float = 2.0) -> None:
        self._patience = patience_seconds
        self._running: dict[str, CheckedTool] = {}
        self._surrounded: set[str] = set()
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

    @property
    def running(self) -> list[str]:
        """The names of the tools that are running."""
        return sorted({tool.name for tool in self._running.values()})

    @property
    def _is_needed(self) -> bool:
        return bool(self._running or self._surrounded)

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
            if self._is_needed and beat != reported and time.monotonic() - beat > self._patience:
                reported = beat
                self._report()

    def _report(self) -> None:
        frame = sys._current_frames().get(self._loop_thread)  # noqa: SLF001 (the only way to another thread's stack)
        if frame is None:
            return
        whose = self._blocker(frame)
        log.warning(
            "middleware_blocks_the_server" if "stage" in whose else "tool_blocks_the_server",
            extra=whose
            | {
                "stack": "".join(traceback.format_stack(frame)[-8:]),
                "fix": "move the blocking work to a thread: await asyncio.to_thread(...)",
            },
        )

    def _blocker(self, frame: FrameType | None) -> dict[str, str | None]:
        """Whose code is on the stack: the tool that runs, or the middleware that has not gone on to the next."""
        running = list(self._running.items())
        while frame is not None and frame.f_code is not _GOES_ON:
            if frame.f_code is _ASKS:
                return _middleware_in(frame.f_locals)
            for call_id, tool in running:
                if _is_body_of(frame, tool):
                    return {"request_id": call_id, "tool": tool.name, "plugin": tool.plugin}
            frame = frame.f_back
        return {"request_id": None, "tool": None, "plugin": None}


def _middleware_in(asked: dict[str, Any]) -> dict[str, str | None]:
    link, call = asked["self"], asked["call"]
    return {"request_id": call.id, "tool": call.name, "plugin": link.plugin, "stage": link.stage}


def _is_body_of(frame: FrameType, tool: CheckedTool) -> bool:
    owner = getattr(tool.execute, "__self__", None)
    return frame.f_code is getattr(tool.execute, "__code__", None) and owner in (None, frame.f_locals.get("self"))
