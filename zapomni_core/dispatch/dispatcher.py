"""Runs a call: observe, look up, settle the arguments, transform, validate, guard, limit concurrency and time, execute, check the result.

Independent of MCP. Whatever a tool does, a call ends with a result, with one of the exceptions in `pass_through`, or with
cancellation.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from zapomni_core.dispatch.arguments import ArgumentProblem, check_arguments, joined, problem_of, settle_arguments
from zapomni_core.dispatch.call import (
    Call,
    CallContext,
    ReportProgress,
    call_context,
    ignore_progress,
    new_call_id,
)
from zapomni_core.dispatch.middleware import (
    STAGES,
    CallNext,
    Link,
    Result,
    around,
    is_cancellation,
    note_origin,
    observed,
    origin_of,
)
from zapomni_core.dispatch.watchdog import watched
from zapomni_core.errors import describe_failure, flaw_of, writable
from zapomni_core.host.registry import CheckedTool, ToolRegistry
from zapomni_core.responses import ERROR_KEY, ErrorResponse, ErrorType, check_result, error_result
from zapomni_core.tool import content_problem
from zapomni_db.errors import InvalidInputError

log = logging.getLogger("zapomni.dispatch")

TIMEOUT_SECONDS = 30.0
CONCURRENT_CALLS = 32

WaitReady = Callable[[CheckedTool], Awaitable[str | None]]
"""Waits until the plugins that a tool needs are ready; returns why the tool cannot run, or None."""

OnCall = Callable[[str, float, str | None], None]
"""Called after every call with the tool's name, the seconds, and the kind of failure or None."""


async def _is_ready(_tool: CheckedTool) -> str | None:
    return None


def _ignore_call(_name: str, _seconds: float, _failure: str | None) -> None:
    return None


@dataclass(slots=True)
class CallCounts:
    """Counts and durations of the calls of one tool."""

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
    """Calls the tools of a registry, through middleware, checks and limits."""

    def __init__(
        self,
        registry: ToolRegistry,
        *,
        timeouts: Mapping[str, float] | None = None,
        wait_ready: WaitReady = _is_ready,
        on_call: OnCall = _ignore_call,
        pass_through: tuple[type[Exception], ...] = (),
        concurrent_calls: int = CONCURRENT_CALLS,
    ) -> None:
        self.counts: dict[str, CallCounts] = {}
        self.pass_through = pass_through
        self._registry = registry
        self._timeouts = timeouts or {}
        self._wait_ready = wait_ready
        self._on_call = on_call
        self._slots = asyncio.Semaphore(concurrent_calls)
        self._running: list[str] = []
        self._links: list[Link] = []
        self._compose()

    def use(self, links: Iterable[Link]) -> None:
        """Put middleware around every call."""
        self._links += links
        self._compose()

    def withdraw_observers(self, plugin: str) -> None:
        """Remove a plugin's observers. Its transforms and guards stay: calls must not bypass them."""
        self._links = [link for link in self._links if link.plugin != plugin or link.stage != "observe"]
        self._compose()

    @property
    def links(self) -> tuple[Link, ...]:
        """The middleware around every call."""
        return tuple(self._links)

    @property
    def running(self) -> list[str]:
        """The names of the tools that are running now."""
        return sorted(set(self._running))

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any],
        *,
        call_id: str = "",
        client: str = "",
        workspace: str = "",
        on_progress: ReportProgress = ignore_progress,
    ) -> Result:
        """Run one call; in a workspace of its own where one is given. Raises UnknownToolError if no tool has that name."""
        owner = self._registry.owner(name)
        call = Call(id=call_id or new_call_id(), name=name, arguments=arguments, plugin=owner or "", client=client)
        context = CallContext(call=call, workspace=workspace, on_progress=on_progress)
        token = call_context.set(context)
        failure: str | None = "cancelled"
        try:
            with context.heartbeat(), watched(f"tool '{name}' of plugin '{call.plugin}', call {call.id}"):
                result = await self._in_own_task(call)
            failure = _failure_of(result)
        except Exception as error:
            failure = type(error).__name__
            raise
        finally:
            context.raised = None  # it refers to frames that refer to the context
            if owner is not None:
                seconds = context.seconds
                self.counts.setdefault(name, CallCounts()).add(seconds, failure)
                self._on_call(name, seconds, failure)
            call_context.reset(token)
        return result

    async def _in_own_task(self, call: Call) -> Result:
        """Run a call in a task of its own, so that a tool that cancels its task ends this call only."""
        task = asyncio.ensure_future(self._observed(call))
        try:
            return await task
        except asyncio.CancelledError as error:
            if is_cancellation(error):
                raise
            return self._failed(error, self._registry.get(call.name))

    def _compose(self) -> None:
        """Build the chains of middleware, once for all calls."""
        stages: dict[str, list[Link]] = {stage: [] for stage in STAGES}
        for link in self._links:
            stages[link.stage].append(link)
        self._guarded = _chain(around, stages["guard"], self._run)
        self._transformed = _chain(around, stages["transform"], self._validate)
        self._observed = _chain(observed, stages["observe"], self._look_up)

    async def _look_up(self, call: Call) -> Result:
        tool = self._registry.get(call.name)
        if reason := await self._wait_ready(tool):
            return _refusal(tool, "plugin", reason, "PLUGIN_UNAVAILABLE", 503)
        try:
            call = replace(call, arguments=settle_arguments(tool, call.arguments))
            return self._checked(await self._transformed(call), tool)
        except BaseException as error:
            if is_cancellation(error) or isinstance(error, self.pass_through):
                raise
            return self._failed(error, tool)

    async def _validate(self, call: Call) -> Result:
        tool = self._registry.get(call.name)
        context = call_context.get()
        if context is not None and call.name != context.call.name:  # a transform called another tool
            call = replace(call, plugin=tool.plugin, arguments=settle_arguments(tool, call.arguments))
            if reason := await self._wait_ready(tool):
                return _refusal(tool, "plugin", reason, "PLUGIN_UNAVAILABLE", 503)
        if problems := check_arguments(tool, call.arguments):
            for problem in problems:
                _log_problem(problem, tool, None)
            return _refusal(tool, "validation", joined(problems), "INVALID_ARGUMENTS", 400, recoverable=True)
        return await self._guarded(call)

    async def _run(self, call: Call) -> Result:
        tool = self._registry.get(call.name)
        limit = self._timeouts.get(tool.name) or tool.timeout_seconds or TIMEOUT_SECONDS
        async with self._slots:
            self._running.append(tool.name)
            try:
                return await self._within(limit, tool, call)
            except BaseException as error:
                note_origin(error, None)
                raise
            finally:
                self._running.remove(tool.name)

    async def _within(self, limit: float, tool: CheckedTool, call: Call) -> Result:
        """Run the tool; its time limit restarts when it reports progress."""
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
            message = f"Tool '{tool.name}' reported no progress for {limit:g} s and was stopped."
            return _refusal(tool, "timeout", message, "TIMEOUT", 503, recoverable=True)
        finally:
            if context is not None:
                context.extend = lambda: None

    def _checked(self, result: Result, tool: CheckedTool) -> Result:
        problem = check_result(result, tool) or content_problem(result)
        if problem is None:
            return {"isError": False, **result}
        around_it = sorted({link.plugin for link in self._links if link.stage != "observe"})
        extra = {"tool": tool.name, "plugin": tool.plugin, "middleware": around_it, "problem": problem}
        log.error("invalid_result", extra=extra)
        message = f"The result of tool '{tool.name}' is invalid. The server's log has the details."
        return _refusal(tool, "internal", message, "INVALID_RESULT", 500)

    def _failed(self, error: BaseException, tool: CheckedTool) -> Result:
        link = origin_of(error)
        place = link or f"tool '{tool.name}'"
        response = describe_failure(error, f"An internal error occurred in {place}. The server's log has the details.")
        if response.error_type not in ("refused", "validation", "not_found"):
            log.error("middleware_failed" if link else "tool_failed", exc_info=error, extra=_about(tool, link))
        elif flaw := flaw_of(error):
            log.warning("invalid_tool_error", extra=_about(tool, link) | {"problem": flaw})
        elif isinstance(error, InvalidInputError):
            _log_problem(problem_of(error, tool.input_schema), tool, link)
        return _timed_result(response, tool)


def _about(tool: CheckedTool, link: Link | None) -> dict[str, str]:
    if link is None:
        return {"tool": tool.name, "plugin": tool.plugin}
    return {"tool": tool.name, "plugin": link.plugin, "stage": link.stage}


def _log_problem(problem: ArgumentProblem, tool: CheckedTool, link: Link | None) -> None:
    log.warning("validation_error", extra=_about(tool, link) | problem._asdict())


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
    elapsed = round(context.seconds * 1000, 1) if context else 0.0
    return error_result(response.model_copy(update={"processing_time_ms": elapsed}), tool)


def _failure_of(result: Result) -> str | None:
    """The error type of a result; None for a success."""
    if not result.get("isError"):
        return None
    record = result.get("structuredContent") or result.get("_meta", {}).get(ERROR_KEY)
    return str(record.get("error_type", "error")) if isinstance(record, dict) else "error"
