"""Enters the lifespans of plugins in the background, each with a time limit, and leaves them in reverse order."""

import asyncio
import logging
from collections.abc import Callable, Container, Mapping
from contextlib import AbstractAsyncContextManager
from types import TracebackType

from zapomni_core.dispatch.middleware import isolated
from zapomni_core.dispatch.watchdog import watched
from zapomni_core.errors import PluginError
from zapomni_core.host.tracebacks import quoted

OnFailure = Callable[[str, PluginError], None]

log = logging.getLogger("zapomni.lifespans")

CLOSE_SECONDS = 10.0
CANCEL_SECONDS = 1.0
"""The time limit for a cancelled lifespan to end."""
WARN_AFTER = 1 / 3
"""The part of the limit after which a slow lifespan is logged."""


class _Lifespan:
    """One plugin's lifespan, entered and left in the same task, as task groups inside it require.

    The limits are enforced from outside the task: a lifespan that ignores its cancellation is left behind.
    """

    def __init__(self, plugin: str, lifespan: AbstractAsyncContextManager[None], limit: float) -> None:
        self.plugin = plugin
        self.failure: PluginError | None = None
        self.problem: str | None = None
        self.settled = asyncio.Event()
        self._lifespan = lifespan
        self._limit = limit
        self._leave = asyncio.Event()
        loop = asyncio.get_running_loop()
        self._timers = [loop.call_later(limit * WARN_AFTER, self._warn), loop.call_later(limit, self._give_up)]
        self._task = asyncio.create_task(self._run(), name=f"lifespan {plugin}")

    async def close(self) -> None:
        """Leave it; `problem` then says what went wrong, if anything."""
        self._leave.set()
        if not self.settled.is_set():
            self._settle("the server ended before its lifespan was ready")
            self._task.cancel()
        _, late = await asyncio.wait([self._task], timeout=CLOSE_SECONDS)
        if late:
            self._task.cancel()
            await asyncio.wait([self._task], timeout=CANCEL_SECONDS)
            self.problem = f"it was not done after {CLOSE_SECONDS:g} s"
            log.error("lifespan_did_not_close", extra={"plugin": self.plugin, "seconds": CLOSE_SECONDS})

    async def _run(self) -> None:
        is_open = False
        with isolated(self._opening_failed):
            with watched(f"lifespan of plugin '{self.plugin}'"):
                await self._lifespan.__aenter__()
            is_open = True
            self._settle(None)
        if is_open:
            with isolated(self._closing_failed):
                await self._wait_and_leave()

    async def _wait_and_leave(self) -> None:
        """Pass a cancellation on to the lifespan, as `async with` does: a task group in it cancels its task to report a failure."""
        try:
            if self.failure is None:  # else it was opened too late
                await self._leave.wait()
        except asyncio.CancelledError as error:
            if not await self._exit(type(error), error, error.__traceback__):
                raise
        else:
            await self._exit(None, None, None)

    async def _exit(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        with watched(f"lifespan of plugin '{self.plugin}'"):
            return await self._lifespan.__aexit__(kind, error, trace)

    def _settle(self, cause: str | None, public_cause: str | None = None) -> None:
        if not self.settled.is_set():
            if cause is not None:
                self.failure = PluginError("lifespan", cause, "see the log", public_cause=public_cause)
            self.settled.set()
            for timer in self._timers:
                timer.cancel()

    def _give_up(self) -> None:
        self._settle(f"its lifespan was not ready after {self._limit:g} s")
        self._task.cancel()

    def _opening_failed(self, error: BaseException) -> None:
        log.error("lifespan_failed", exc_info=error, extra={"plugin": self.plugin})
        public_cause = f"its lifespan raised {type(error).__name__}"
        self._settle(f"its lifespan raised {quoted(error)}", public_cause)

    def _closing_failed(self, error: BaseException) -> None:
        log.error("lifespan_did_not_close", exc_info=error, extra={"plugin": self.plugin})
        self.problem = f"it raised {quoted(error)}"

    def _warn(self) -> None:
        log.warning("lifespan_is_slow", extra={"plugin": self.plugin, "limit_seconds": self._limit})


class Lifespans:
    """The lifespans of all plugins. Nothing is entered before `start`."""

    def __init__(self, lifespans: Mapping[str, AbstractAsyncContextManager[None]], limit_seconds: float) -> None:
        self._lifespans = lifespans
        self._limit = limit_seconds
        self._started: dict[str, _Lifespan] = {}
        self._watching: asyncio.Task[None] | None = None

    def start(self, on_failure: OnFailure, left_out: Container[str] = ()) -> None:
        """Enter them in the background; `on_failure` is called for each that fails. A second call has no effect."""
        if self._watching is not None:
            return
        chosen = {plugin: one for plugin, one in self._lifespans.items() if plugin not in left_out}
        self._started = {plugin: _Lifespan(plugin, one, self._limit) for plugin, one in chosen.items()}
        self._watching = asyncio.create_task(self._watch(on_failure), name="lifespans")

    async def ready(self, plugin: str) -> PluginError | None:
        """Wait until a plugin's lifespan is open; the error if it failed."""
        lifespan = self._started.get(plugin)
        if lifespan is None:
            return None
        await lifespan.settled.wait()
        return lifespan.failure

    async def settled(self) -> None:
        """Wait until each is open or has failed and `on_failure` was called."""
        if self._watching is not None:
            await asyncio.wait([self._watching])

    async def close(self) -> dict[str, str]:
        """Leave them in reverse order; returns the problems by plugin. A lifespan that was still opening is cancelled."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.wait([self._watching])
        for lifespan in reversed(self._started.values()):
            await lifespan.close()
        return {lifespan.plugin: lifespan.problem for lifespan in self._started.values() if lifespan.problem}

    async def _watch(self, on_failure: OnFailure) -> None:
        async def follow(lifespan: _Lifespan) -> None:
            await lifespan.settled.wait()
            if lifespan.failure:
                on_failure(lifespan.plugin, lifespan.failure)

        async with asyncio.TaskGroup() as group:
            for lifespan in self._started.values():
                group.create_task(follow(lifespan))
