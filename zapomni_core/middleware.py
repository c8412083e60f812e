"""What goes around a call: observers see it, transforms rewrite it, guards decide whether it runs."""

from collections.abc import Awaitable, Callable
from typing import Any, Literal, Protocol, get_args

from zapomni_core.call import Call

Result = dict[str, Any]
CallNext = Callable[[Call], Awaitable[Result]]
Stage = Literal["observe", "transform", "guard"]
STAGES: tuple[str, ...] = get_args(Stage)


class Middleware(Protocol):
    """An async callable around a call.

    `observe` sees every call and its outcome, and changes neither; `transform` may pass on another call or answer
    itself; `guard` stands next to the tool and may refuse with `ToolError`. A transform or guard that fails, fails the call.
    """

    stage: Stage

    async def __call__(self, call: Call, call_next: CallNext) -> Result: ...


def around(middleware: Middleware, call_next: CallNext) -> CallNext:
    """The chain `call_next` with a transform or guard around it."""

    async def chain(call: Call) -> Result:
        return await middleware(call, call_next)

    return chain
