"""Lets observers look at calls from beside: no call waits long for one, none is changed by one, none fails by one.

Each observer looks in a task of its own and at copies. What it raises is logged.
"""

import asyncio
import logging

from zapomni_core.call import Call
from zapomni_core.middleware import CallNext, Link, Result, copied, sealed
from zapomni_core.strangers import failing_alone

log = logging.getLogger("zapomni.middleware")

OBSERVER_SECONDS = 5.0


def observed(observer: Link, call_next: CallNext) -> CallNext:
    """The chain `call_next` with an observer beside it."""

    async def chain(call: Call) -> Result:
        look = _Look(observer, call)
        try:
            await look.begun()
            look.result = await call_next(call)
        except BaseException as error:
            look.raised = error
            raise
        finally:
            await look.finished()
        return look.result

    return chain


class _Look:
    """One observer's look at one call."""

    def __init__(self, observer: Link, call: Call) -> None:
        self.result: Result = {}
        self.raised: BaseException | None = None
        self._observer = observer
        self._call = call
        self._is_late = False
        self._loop = asyncio.get_running_loop()
        self._awaited = self._loop.create_future()
        self._settled = asyncio.Event()
        self._task = self._loop.create_task(self._observe())
        self._task.add_done_callback(self._let_go)

    async def begun(self) -> None:
        """Wait until the observer asks for the call, or has ended without, or its time is over."""
        await self._wait()

    async def finished(self) -> None:
        """Show what came of the call, and wait until the observer has seen it, or its time is over."""
        self._settled.set()
        try:
            if not self._task.done() and not self._is_late:
                self._awaited = self._loop.create_future()
                await self._wait()
        finally:
            self._task.cancel()

    async def _wait(self) -> None:
        """Wait to be let go. A timer is cheaper than `asyncio.wait`, and this is done twice a call."""
        timer = self._loop.call_later(OBSERVER_SECONDS, self._give_up)
        try:
            await self._awaited
        finally:
            timer.cancel()

    async def _observe(self) -> None:
        with failing_alone(self._tell):
            await self._observer.ask(sealed(self._call), self._call_next)

    async def _call_next(self, _call: Call) -> Result:
        if not self._settled.is_set():
            self._let_go()
            await self._settled.wait()
        if self.raised is not None:
            raise self.raised
        return dict(copied(self.result))

    def _let_go(self, _task: object = None) -> None:
        if not self._awaited.done():
            self._awaited.set_result(None)

    def _give_up(self) -> None:
        self._is_late = True
        log.warning("observer_is_late", extra=self._whose() | {"seconds": OBSERVER_SECONDS})
        self._let_go()

    def _tell(self, error: BaseException) -> None:
        if error is not self.raised:
            log.error("observer_failed", exc_info=error, extra=self._whose())

    def _whose(self) -> dict[str, str]:
        observer = type(self._observer.middleware).__qualname__
        return {"plugin": self._observer.plugin, "observer": observer, "tool": self._call.name}
