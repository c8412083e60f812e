"""What goes around a call: observers see it, transforms rewrite it, guards decide whether it runs."""

import logging
from collections.abc import Awaitable, Callable
from typing import Any, Literal, Protocol, get_args

from zapomni_core.call import Call

Result = dict[str, Any]
CallNext = Callable[[Call], Awaitable[Result]]
Stage = Literal["observe", "transform", "guard"]
STAGES: tuple[str, ...] = get_args(Stage)

log = logging.getLogger("zapomni.middleware")


class Middleware(Protocol):
    """An async callable around a call.

    `observe` sees every call and its outcome, and changes neither; `transform` may pass on another call or answer
    itself; `guard` stands next to the tool and may refuse with `ToolError`. A transform or guard that fails, fails the call.
    """

    stage: Stage

    async def __call__(self, call: Call, call_next: CallNext) -> Result: ...


def around(middleware: Middleware, call_next: CallNext) -> CallNext:
    """The chain `call_next` with one more middleware around it."""
    wrap = _observed if middleware.stage == "observe" else _applied
    return wrap(middleware, call_next)


def _applied(middleware: Middleware, call_next: CallNext) -> CallNext:
    async def chain(call: Call) -> Result:
        return await middleware(call, call_next)

    return chain


def _observed(middleware: Middleware, call_next: CallNext) -> CallNext:
    """An observer's failure is logged; what the call itself gave or raised stands."""

    async def chain(call: Call) -> Result:
        outcome: list[Result] = []
        raised: list[BaseException] = []

        async def watched(_: Call) -> Result:
            if not (outcome or raised):
                try:
                    outcome.append(await call_next(call))
                except BaseException as error:
                    raised.append(error)
                    raise
            return _settled(outcome, raised)

        try:
            await middleware(call, watched)
        except Exception as error:
            if error not in raised:
                log.exception("observer_failed", extra={"observer": type(middleware).__qualname__, "tool": call.name})
        if not (outcome or raised):
            return await call_next(call)
        return _settled(outcome, raised)

    return chain


def _settled(outcome: list[Result], raised: list[BaseException]) -> Result:
    if raised:
        raise raised[0]
    return outcome[0]
