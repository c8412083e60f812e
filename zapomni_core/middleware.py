"""What goes around a call: observers see it, transforms rewrite it, guards decide whether it runs.

Each is a stranger's. A call leaves a trail, so that what one of them raises or spoils is told as its plugin's failure.
"""

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, get_args

from zapomni_core.call import Call
from zapomni_core.errors import ContractError, UnknownToolError

Result = dict[str, Any]
CallNext = Callable[[Call], Awaitable[Result]]
Stage = Literal["observe", "transform", "guard"]
STAGES: tuple[str, ...] = get_args(Stage)


class Middleware(Protocol):
    """An async callable around a call.

    `observe` sees every call and its outcome, and changes neither; `transform` may pass on another call or answer
    itself; `guard` stands next to the tool and may refuse with `ToolError`. A transform or guard that fails, fails the call;
    one whose plugin's lifespan failed refuses every call.
    """

    stage: Stage

    async def __call__(self, call: Call, call_next: CallNext) -> Result: ...


@dataclass(frozen=True, slots=True)
class Link:
    """One plugin's middleware in the chain around every call."""

    plugin: str
    stage: Stage
    middleware: Middleware

    async def ask(self, call: Call, call_next: CallNext) -> Result:
        """Its result; the one place where middleware is called, by which the watchdog knows it on the stack."""
        return await self.middleware(call, call_next)

    def __str__(self) -> str:
        return f"plugin '{self.plugin}', which {self.stage}s every call"


@dataclass(slots=True)
class Trail:
    """The transforms and guards that one call went through, the innermost first; `is_good` judges what they are given."""

    is_good: Callable[[Any], bool]
    steps: "list[Step]" = field(default_factory=list)

    def raiser(self, error: BaseException) -> Link | None:
        """Whose exception it is; None where it came from the tool."""
        return next((step.link for step in self.steps if step.raised is error), None)

    def spoiler(self) -> Link | None:
        """Who made a bad result: the last who had a good one, or none; None where it was bad from the tool on."""
        return next((step.link for step in reversed(self.steps) if step.was_good), None)


current_trail: ContextVar[Trail | None] = ContextVar("zapomni_trail", default=None)


def around(link: Link, call_next: CallNext) -> CallNext:
    """The chain `call_next` with a transform or guard around it."""

    async def chain(call: Call) -> Result:
        return await Step(link, call, call_next).take()

    return chain


class Step:
    """One call's way through one transform or guard. A guard looks at a copy: what was validated is what runs."""

    __slots__ = ("_call", "_call_next", "_from_within", "_trail", "link", "raised", "was_good")

    def __init__(self, link: Link, call: Call, call_next: CallNext) -> None:
        self.link = link
        self.raised: BaseException | None = None
        self.was_good = True
        self._call = call
        self._call_next = call_next
        self._from_within: list[BaseException] = []
        self._trail = current_trail.get()

    async def take(self) -> Result:
        """What the middleware makes of the call; an exception that did not come from within is its own."""
        try:
            return await self.link.ask(sealed(self._call) if self._is_guard else self._call, self.go_on)
        except BaseException as error:
            if not any(error is one for one in self._from_within):
                self.raised = error
            raise
        finally:
            if self._trail is not None:
                self._trail.steps.append(self)

    async def go_on(self, call: Call) -> Result:
        """What comes next, as the middleware calls it."""
        if mistake := self._mistake_in(call):
            raise ContractError(mistake)
        try:
            result = await self._call_next(self._call if self._is_guard else call)
        except BaseException as error:
            is_own = isinstance(error, UnknownToolError) and call.name != self._call.name
            if not is_own:
                self._from_within.append(error)
            raise
        self.was_good = self._trail is None or self._trail.is_good(result)
        return result

    def _mistake_in(self, passed: Call) -> str | None:
        if not isinstance(passed, Call):
            return f"it passed on {type(passed).__name__}, not a call; write call_next(call)"
        if self._is_guard and passed != self._call:
            change = "a guard passes its call on as it is, or raises ToolError; to change calls, write a transform"
            return f"it passed on another call than it was given: {change}"
        return None

    @property
    def _is_guard(self) -> bool:
        return self.link.stage == "guard"


def sealed(call: Call) -> Call:
    """The call with arguments of its own, which nobody else can change."""
    return replace(call, arguments=copied(call.arguments))


def copied(value: Any) -> Any:
    """A copy of JSON, to its depth."""
    if isinstance(value, dict):
        return {key: copied(part) for key, part in value.items()}
    return [copied(part) for part in value] if isinstance(value, list) else value
