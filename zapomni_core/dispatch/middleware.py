"""Middleware around every call: observers look on, transforms rewrite, guards decide whether the tool runs."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, get_args

from zapomni_core.dispatch.call import Call, call_context
from zapomni_core.errors import ContractError

log = logging.getLogger("zapomni.middleware")

Result = dict[str, Any]
CallNext = Callable[[Call], Awaitable[Result]]
Stage = Literal["observe", "transform", "guard"]
STAGES: tuple[str, ...] = get_args(Stage)
OBSERVER_SECONDS = 5.0


class Middleware(Protocol):
    """An async callable around a call.

    `observe` sees every call and its outcome, and changes neither. `transform` may pass on another call, change the result
    or answer by itself. `guard` comes right before the tool and may refuse with `ToolError`. A call fails if a transform or
    guard raises, and every call is refused if the lifespan of a transform's or guard's plugin failed.
    """

    stage: Stage

    async def __call__(self, call: Call, call_next: CallNext) -> Result: ...


@dataclass(frozen=True, slots=True)
class Link:
    """One plugin's middleware in the chain around every call."""

    plugin: str
    stage: Stage
    middleware: Middleware

    def __str__(self) -> str:
        return f"plugin '{self.plugin}', which {self.stage}s every call"


def around(link: Link, call_next: CallNext) -> CallNext:
    """The chain `call_next` with a transform or guard around it."""
    is_guard = link.stage == "guard"

    async def chain(call: Call) -> Result:
        async def go_on(passed: Call) -> Result:
            if not isinstance(passed, Call):
                raise ContractError(f"call_next got {type(passed).__name__} instead of a call; write call_next(call)")
            if is_guard and passed != call:
                raise ContractError("a guard must pass on its call unchanged; to change calls, write a transform")
            return await call_next(call if is_guard else passed)

        try:
            result = await link.middleware(_copy(call) if is_guard else call, go_on)
        except BaseException as error:
            note_origin(error, link)
            raise
        if isinstance(result, dict):
            return result
        mistake = ContractError(f"middleware must return a result, got {type(result).__name__}")
        note_origin(mistake, link)
        raise mistake

    return chain


def note_origin(error: BaseException, link: Link | None) -> None:
    """Remember where an error of the current call was first seen: in this middleware, or, if None, in the tool."""
    context = call_context.get()
    if context is not None and (context.raised is None or context.raised[0] is not error):
        context.raised = (error, link)


def origin_of(error: BaseException) -> Link | None:
    """The middleware that raised an error of the current call; None for the tool."""
    context = call_context.get()
    raised = context.raised if context is not None else None
    return raised[1] if raised is not None and raised[0] is error else None


def observed(observer: Link, call_next: CallNext) -> CallNext:
    """The chain `call_next` with an observer beside it: it delays a call by seconds at most and cannot change or fail it."""

    async def chain(call: Call) -> Result:
        observation = _Observation(observer, call)
        try:
            await observation.started()
            observation.result = await call_next(call)
        except BaseException as error:
            observation.error = error
            raise
        finally:
            await observation.finished()
        return observation.result

    return chain


class _Observation:
    """One observer's task for one call."""

    def __init__(self, observer: Link, call: Call) -> None:
        self.result: Result = {}
        self.error: BaseException | None = None
        self._observer = observer
        self._call = call
        self._has_begun = asyncio.Event()
        self._has_outcome = asyncio.Event()
        self._is_late = False
        self._task = asyncio.create_task(self._observe())

    async def started(self) -> None:
        """Wait until the observer waits for the outcome or has ended."""
        await self._wait(self._has_begun.wait())

    async def finished(self) -> None:
        """Give the outcome to the observer and wait until it has ended."""
        self._has_outcome.set()
        try:
            if not self._task.done() and not self._is_late:
                await self._wait(asyncio.wait([self._task]))
        finally:
            self._task.cancel()

    async def _wait(self, event: Awaitable[object]) -> None:
        timer = asyncio.timeout(OBSERVER_SECONDS)
        try:
            async with timer:
                await event
        except TimeoutError:
            self._is_late = True
            log.warning("observer_is_late", extra=self._about() | {"seconds": OBSERVER_SECONDS})

    async def _observe(self) -> None:
        try:
            with isolated(self._log_failure):
                await self._observer.middleware(_copy(self._call), self._outcome)
        finally:
            self._has_begun.set()

    async def _outcome(self, _call: Call) -> Result:
        self._has_begun.set()
        await self._has_outcome.wait()
        if self.error is not None:
            raise self.error
        return deepcopy(self.result)

    def _log_failure(self, error: BaseException) -> None:
        if error is not self.error:
            log.error("observer_failed", exc_info=error, extra=self._about())

    def _about(self) -> dict[str, str]:
        observer = type(self._observer.middleware).__qualname__
        return {"plugin": self._observer.plugin, "observer": observer, "tool": self._call.name}


def _copy(call: Call) -> Call:
    return replace(call, arguments=deepcopy(call.arguments))


@contextmanager
def isolated(report: Callable[[BaseException], None]) -> Iterator[None]:
    """Report what a plugin's code raises instead of raising it; only a real cancellation of this task is raised.

    This includes SystemExit and KeyboardInterrupt, which would end the event loop. A user's Ctrl-C does not arrive here:
    while the loop runs, it is handled as a signal.
    """
    try:
        yield
    except BaseException as error:
        if is_cancellation(error):
            raise
        report(error)


def is_cancellation(error: BaseException) -> bool:
    """Whether this task is really being cancelled; any code can raise CancelledError."""
    task = asyncio.current_task()
    return isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling() > 0
