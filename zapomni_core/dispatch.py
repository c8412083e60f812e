"""The way of a call: observe, look up, transform, validate, guard, wait for a place, run within a limit, check the result.

Knows nothing of MCP. Whatever a tool does, a call ends in a result, in one of the errors that pass through on purpose,
or in cancellation.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from zapomni_core.arguments import ArgumentProblem, check_arguments, problem_of
from zapomni_core.call import Call, CallContext, ReportProgress, call_context, ignore_progress, new_call_id
from zapomni_core.content import content_problem
from zapomni_core.failures import describe_failure, flaw_of, writable
from zapomni_core.host.registry import ToolRegistry
from zapomni_core.host.validation import CheckedTool
from zapomni_core.middleware import STAGES, CallNext, Link, Result, Trail, around, current_trail, sealed
from zapomni_core.observing import observed
from zapomni_core.responses import ErrorResponse, ErrorType
from zapomni_core.results import ERROR_KEY, check_result, error_result
from zapomni_core.strangers import is_cancellation
from zapomni_core.watchdog import watchdog
from zapomni_db.errors import InvalidInputError

log = logging.getLogger("zapomni.dispatch")

TIMEOUT_SECONDS = 30.0
CONCURRENT_CALLS = 32

Gate = Callable[[CheckedTool], Awaitable[str | None]]
"""Waits until a tool may run; returns why it never will, or None."""

OnCall = Callable[[str, float, str | None], None]
"""Hears of every call: the tool's name, the seconds, and the kind of failure if it failed."""


async def _open_gate(_tool: CheckedTool) -> str | None:
    return None


def _ignore_call(_name: str, _seconds: float, _failure: str | None) -> None:
    return None


@dataclass(slots=True)
class CallCounts:
    """What became of the calls of one tool."""

    calls: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    total_seconds: float = 0.0
    slowest_seconds: float = 0.0

    def add(self, seconds: float, error: str | None) -> None:
        """Count one more call."""
        self.calls += 1
        self.total_seconds += seconds
        self.slowest_seconds = max(self.slowest_seconds, seconds)
        if error:
            self.errors[error] += 1

    def as_dict(self) -> dict[str, Any]:
        """The counts as JSON."""
        return {
            "calls": self.calls,
            "errors": dict(self.errors),
            "mean_ms": round(self.total_seconds / self.calls * 1000, 3) if self.calls else None,
            "slowest_ms": round(self.slowest_seconds * 1000, 3),
        }


class Dispatcher:
    """Calls tools of a registry, each through the whole way."""

    def __init__(
        self,
        registry: ToolRegistry,
        *,
        timeouts: Mapping[str, float] | None = None,
        gate: Gate = _open_gate,
        on_call: OnCall = _ignore_call,
        pass_through: tuple[type[Exception], ...] = (),
        concurrent_calls: int = CONCURRENT_CALLS,
    ) -> None:
        self.counts: dict[str, CallCounts] = {}
        self.pass_through = pass_through
        self._registry = registry
        self._timeouts = timeouts or {}
        self._gate = gate
        self._on_call = on_call
        self._places = asyncio.Semaphore(concurrent_calls)
        self._links: list[Link] = []
        self._compose()

    def use(self, links: Iterable[Link]) -> None:
        """Put middleware around every call."""
        self._links += links
        self._compose()

    def withdraw_observers(self, plugin: str) -> None:
        """Take a plugin's observers away. Transforms and guards stay: no call may pass without them."""
        self._links = [link for link in self._links if link.plugin != plugin or link.stage != "observe"]
        self._compose()

    @property
    def links(self) -> tuple[Link, ...]:
        """The middleware around every call."""
        return tuple(self._links)

    @property
    def running(self) -> list[str]:
        """The names of the tools that are running now, on this event loop."""
        return watchdog().running

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any],
        *,
        call_id: str = "",
        client: str = "",
        on_progress: ReportProgress = ignore_progress,
    ) -> Result:
        """The result of one call; UnknownToolError where no tool has that name."""
        owner = self._registry.owner(name)
        call = Call(id=call_id or new_call_id(), name=name, arguments=arguments, plugin=owner or "", client=client)
        context = CallContext(call=call, on_progress=on_progress)
        token = call_context.set(context)
        failure: str | None = "cancelled"
        is_surrounded = bool(self._links)
        try:
            if is_surrounded:
                watchdog().surround(call.id)
            with context.beating():
                result = await self._in_own_task(call)
            failure = _failure_of(result)
        except Exception as error:
            failure = type(error).__name__
            raise
        finally:
            if is_surrounded:
                watchdog().part(call.id)
            if owner is not None:
                seconds = context.seconds
                self.counts.setdefault(name, CallCounts()).add(seconds, failure)
                self._on_call(name, seconds, failure)
            call_context.reset(token)
        return result

    async def _in_own_task(self, call: Call) -> Result:
        """A tool may cancel its task: that ends its own call then, and not the task of whoever serves the client."""
        task = asyncio.ensure_future(self._observed(call))
        try:
            return await task
        except asyncio.CancelledError as error:
            if is_cancellation(error):
                raise
            return self._failed(error, self._registry.get(call.name), None)

    def _compose(self) -> None:
        """Build the chains once; a call only walks them."""
        stages: dict[str, list[Link]] = {stage: [] for stage in STAGES}
        for link in self._links:
            stages[link.stage].append(link)
        self._is_guarded = bool(stages["guard"])
        self._guarded = _chain(around, stages["guard"], self._run)
        self._transformed = _chain(around, stages["transform"], self._validate)
        self._observed = _chain(observed, stages["observe"], self._look_up)

    async def _look_up(self, call: Call) -> Result:
        tool = self._registry.get(call.name)
        if reason := await self._gate(tool):
            return _refusal(tool, "plugin", reason, "PLUGIN_UNAVAILABLE", 503)
        trail = token = None
        if self._links:
            trail = Trail(lambda result: _is_good(result, tool))
            token = current_trail.set(trail)
        try:
            return self._checked(await self._transformed(call), tool, trail)
        except BaseException as error:
            if is_cancellation(error) or isinstance(error, self.pass_through):
                raise
            return self._failed(error, tool, trail)
        finally:
            if token is not None:
                current_trail.reset(token)

    async def _validate(self, call: Call) -> Result:
        tool = self._registry.get(call.name)
        context = call_context.get()
        if context is not None and call.name != context.call.name:  # a transform has passed on a call of another tool
            call = replace(call, plugin=tool.plugin)
            if reason := await self._gate(tool):
                return _refusal(tool, "plugin", reason, "PLUGIN_UNAVAILABLE", 503)
        if problem := check_arguments(tool, call.arguments):
            _log_problem(problem, tool, None)
            return _refusal(tool, "validation", str(problem), "INVALID_ARGUMENTS", 400, recoverable=True)
        return await self._guarded(sealed(call) if self._is_guarded else call)

    async def _run(self, call: Call) -> Result:
        tool = self._registry.get(call.name)
        limit = self._timeouts.get(tool.name) or tool.timeout_seconds or TIMEOUT_SECONDS
        async with self._places:
            dog = watchdog()
            dog.enter(call.id, tool)
            try:
                return await self._within(limit, tool, call)
            finally:
                dog.leave(call.id)

    async def _within(self, limit: float, tool: CheckedTool, call: Call) -> Result:
        """Run the tool; its limit counts from its last sign of progress."""
        loop = asyncio.get_running_loop()
        timer = asyncio.timeout(limit)
        context = call_context.get()
        if context is not None:
            context.extend = lambda: timer.reschedule(loop.time() + limit)
        try:
            async with timer:
                result: Result = await tool.execute(dict(call.arguments))
                return result
        except TimeoutError:
            if not timer.expired():
                raise
            log.warning("tool_timed_out", extra={"tool": tool.name, "plugin": tool.plugin, "seconds": limit})
            message = f"Tool '{tool.name}' gave no sign of progress for {limit:g} seconds and was stopped."
            return _refusal(tool, "timeout", message, "TIMEOUT", 503, recoverable=True)
        finally:
            if context is not None:
                context.extend = lambda: None

    def _checked(self, result: Result, tool: CheckedTool, trail: Trail | None) -> Result:
        problem = _problem(result, tool)
        if problem is None:
            return {"isError": False, **result}
        link = trail.spoiler() if trail else None
        event = "middleware_returned_rubbish" if link else "tool_returned_rubbish"
        log.error(event, extra=_whose(tool, link) | {"problem": problem})
        told = f"Tool '{tool.name}' gave a result that cannot be sent."
        if link:
            told = f"A result that cannot be sent came from {link}."
        return _refusal(tool, "internal", f"{told} The server's log has the details.", "INVALID_RESULT", 500)

    def _failed(self, error: BaseException, tool: CheckedTool, trail: Trail | None) -> Result:
        link = trail.raiser(error) if trail else None
        place = link or f"tool '{tool.name}'"
        response = describe_failure(error, f"An internal error occurred in {place}. The server's log has the details.")
        if response.error_type not in ("refused", "validation", "not_found"):
            log.error("middleware_failed" if link else "tool_failed", exc_info=error, extra=_whose(tool, link))
        elif flaw := flaw_of(error):
            event = "middleware_raised_rubbish" if link else "tool_raised_rubbish"
            log.warning(event, extra=_whose(tool, link) | {"problem": flaw})
        elif isinstance(error, InvalidInputError):
            _log_problem(problem_of(error, tool.input_schema), tool, link)
        return _timed_result(response, tool)


def _problem(result: Result, tool: CheckedTool) -> str | None:
    return check_result(result, tool) or content_problem(result)


def _is_good(result: Result, tool: CheckedTool) -> bool:
    try:
        return _problem(result, tool) is None
    except Exception:  # noqa: BLE001 (what cannot be judged fails at the end of the way, and is told there)
        return False


def _whose(tool: CheckedTool, link: Link | None) -> dict[str, str]:
    if link is None:
        return {"tool": tool.name, "plugin": tool.plugin}
    return {"tool": tool.name, "plugin": link.plugin, "stage": link.stage}


def _log_problem(problem: ArgumentProblem, tool: CheckedTool, link: Link | None) -> None:
    log.warning("validation_error", extra=_whose(tool, link) | problem._asdict())


def _chain(join: Callable[[Link, CallNext], CallNext], links: list[Link], end: CallNext) -> CallNext:
    for link in reversed(links):
        end = join(link, end)
    return end


def _refusal(
    tool: CheckedTool, kind: ErrorType, message: str, code: str, status: int, *, recoverable: bool = False
) -> Result:
    response = ErrorResponse(
        message=writable(message), error_type=kind, error_code=code, status_code=status, recoverable=recoverable
    )
    return _timed_result(response, tool)


def _timed_result(response: ErrorResponse, tool: CheckedTool) -> Result:
    context = call_context.get()
    elapsed = round(context.seconds * 1000, 3) if context else 0.0
    return error_result(response.model_copy(update={"processing_time_ms": elapsed}), tool)


def _failure_of(result: Result) -> str | None:
    """The kind of failure a result tells of; None for a success."""
    if not result.get("isError"):
        return None
    record = result.get("structuredContent") or result.get("_meta", {}).get(ERROR_KEY)
    return str(record.get("error_type", "error")) if isinstance(record, dict) else "error"
