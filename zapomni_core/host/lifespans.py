"""Opens what plugins must have open, in the background and each within a limit; closes it in reverse order."""

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
HEED_SECONDS = 1.0
WARN_AFTER = 1 / 3


class _Held:
    """One plugin's lifespan, entered and left in one task of its own, as task groups inside it demand.

    Its limits are kept from outside: one that ignores that it is cancelled is left behind.
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
        self._task = asyncio.create_task(self._hold(), name=f"lifespan {plugin}")

    async def close(self) -> None:
        """Leave it; `problem` says afterwards what went wrong with that."""
        self._leave.set()
        if not self.settled.is_set():
            self._settle("the server ended before its lifespan was ready")
            self._task.cancel()
        _, late = await asyncio.wait([self._task], timeout=CLOSE_SECONDS)
        if late:
            self._task.cancel()
            await asyncio.wait([self._task], timeout=HEED_SECONDS)
            self.problem = f"it was not done after {CLOSE_SECONDS:g} s"
            log.error("lifespan_did_not_close", extra={"plugin": self.plugin, "seconds": CLOSE_SECONDS})

    async def _hold(self) -> None:
        is_open = False
        with isolated(self._tell_of_opening):
            with watched(f"lifespan of plugin '{self.plugin}'"):
                await self._lifespan.__aenter__()
            is_open = True
            self._settle(None)
        if is_open:
            with isolated(self._tell_of_closing):
                await self._stay_and_leave()

    async def _stay_and_leave(self) -> None:
        """A cancellation meanwhile is for the lifespan to judge: a task group inside it may tell of a failure so."""
        try:
            if self.failure is None:  # else it has opened too late
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

    def _settle(self, cause: str | None, told: str | None = None) -> None:
        if not self.settled.is_set():
            if cause is not None:
                self.failure = PluginError("lifespan", cause, "see the log", told=told)
            self.settled.set()
            for timer in self._timers:
                timer.cancel()

    def _give_up(self) -> None:
        self._settle(f"its lifespan was not ready after {self._limit:g} s")
        self._task.cancel()

    def _tell_of_opening(self, error: BaseException) -> None:
        log.error("lifespan_failed", exc_info=error, extra={"plugin": self.plugin})
        told = f"its lifespan raised {type(error).__name__}"
        self._settle(f"its lifespan raised {quoted(error)}", told)

    def _tell_of_closing(self, error: BaseException) -> None:
        log.error("lifespan_did_not_close", exc_info=error, extra={"plugin": self.plugin})
        self.problem = f"it raised {quoted(error)}"

    def _warn(self) -> None:
        log.warning("lifespan_is_slow", extra={"plugin": self.plugin, "limit_seconds": self._limit})


class Lifespans:
    """All plugins' lifespans. Nothing is opened before `start`."""

    def __init__(self, lifespans: Mapping[str, AbstractAsyncContextManager[None]], limit_seconds: float) -> None:
        self._lifespans = lifespans
        self._limit = limit_seconds
        self._held: dict[str, _Held] = {}
        self._watching: asyncio.Task[None] | None = None

    def start(self, on_failure: OnFailure, left_out: Container[str] = ()) -> None:
        """Enter all of them in the background; `on_failure` hears of those that fail. Starting twice is starting once."""
        if self._watching is not None:
            return
        chosen = {plugin: one for plugin, one in self._lifespans.items() if plugin not in left_out}
        self._held = {plugin: _Held(plugin, one, self._limit) for plugin, one in chosen.items()}
        self._watching = asyncio.create_task(self._watch(on_failure), name="lifespans")

    async def ready(self, plugin: str) -> PluginError | None:
        """Wait for a plugin's lifespan; returns why it failed, or None."""
        held = self._held.get(plugin)
        if held is None:
            return None
        await held.settled.wait()
        return held.failure

    async def settled(self) -> None:
        """Wait until each is open or has failed, and the failures were told."""
        if self._watching is not None:
            await asyncio.wait([self._watching])

    async def close(self) -> dict[str, str]:
        """Leave all of them, the last one first; what went wrong, by plugin. One that was not open yet has not failed."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.wait([self._watching])
        for held in reversed(self._held.values()):
            await held.close()
        return {held.plugin: held.problem for held in self._held.values() if held.problem}

    async def _watch(self, on_failure: OnFailure) -> None:
        async def follow(held: _Held) -> None:
            await held.settled.wait()
            if held.failure:
                on_failure(held.plugin, held.failure)

        async with asyncio.TaskGroup() as group:
            for held in self._held.values():
                group.create_task(follow(held))
