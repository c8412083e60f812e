"""Opens what plugins must have open, in the background and each within a limit; closes it in reverse order."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager

log = logging.getLogger("zapomni.lifespans")

CLOSE_SECONDS = 10.0
WARN_AFTER = 1 / 3


class _Held:
    """One plugin's lifespan, entered and left in one task of its own, as task groups inside it demand."""

    def __init__(self, plugin: str, lifespan: AbstractAsyncContextManager[None], limit: float) -> None:
        self.plugin = plugin
        self.failure: str | None = None
        self.settled = asyncio.Event()
        self._lifespan = lifespan
        self._limit = limit
        self._leave = asyncio.Event()
        self._task = asyncio.create_task(self._hold(), name=f"lifespan {plugin}")

    async def close(self) -> None:
        self._leave.set()
        if not self.settled.is_set():
            self._task.cancel()
        await asyncio.wait([self._task], timeout=CLOSE_SECONDS + 1)

    async def _hold(self) -> None:
        if not await self._enter():
            return
        await self._leave.wait()
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._lifespan.__aexit__(None, None, None)
        except Exception:
            log.exception("lifespan_did_not_close", extra={"plugin": self.plugin})

    async def _enter(self) -> bool:
        loop = asyncio.get_running_loop()
        slow = loop.call_later(self._limit * WARN_AFTER, self._warn)
        try:
            async with asyncio.timeout(self._limit):
                await self._lifespan.__aenter__()
        except TimeoutError:
            self.failure = f"its lifespan was not ready after {self._limit:g} s"
        except asyncio.CancelledError:
            self.failure = "the server ended before its lifespan was ready"
            raise
        except BaseException as error:
            log.exception("lifespan_failed", extra={"plugin": self.plugin})
            self.failure = f"its lifespan raised {type(error).__name__}: {error}"
        finally:
            slow.cancel()
            self.settled.set()
        return self.failure is None

    def _warn(self) -> None:
        log.warning("lifespan_is_slow", extra={"plugin": self.plugin, "limit_seconds": self._limit})


class Lifespans:
    """All plugins' lifespans. Nothing is opened before `start`."""

    def __init__(self, lifespans: Mapping[str, AbstractAsyncContextManager[None]], limit_seconds: float) -> None:
        self._lifespans = lifespans
        self._limit = limit_seconds
        self._held: dict[str, _Held] = {}
        self._watching: asyncio.Task[None] | None = None

    def start(self, on_failure: Callable[[str, str], None]) -> None:
        """Enter all of them in the background; `on_failure` gets the plugin and the reason. Starting twice is starting once."""
        if self._watching is not None:
            return
        self._held = {plugin: _Held(plugin, one, self._limit) for plugin, one in self._lifespans.items()}
        self._watching = asyncio.create_task(self._watch(on_failure), name="lifespans")

    async def ready(self, plugin: str) -> str | None:
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

    async def close(self) -> None:
        """Leave all of them, the last one first; one that was not open yet has not failed."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.wait([self._watching])
        for held in reversed(self._held.values()):
            await held.close()

    async def _watch(self, on_failure: Callable[[str, str], None]) -> None:
        async def follow(held: _Held) -> None:
            await held.settled.wait()
            if held.failure:
                on_failure(held.plugin, held.failure)

        async with asyncio.TaskGroup() as group:
            for held in self._held.values():
                group.create_task(follow(held))
