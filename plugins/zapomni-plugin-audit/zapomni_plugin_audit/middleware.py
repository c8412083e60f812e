"""An observer that notes every call, and a guard that lets no call run that could not be noted."""

import logging
import time
from datetime import UTC, datetime
from typing import Any, Literal

from zapomni_core.plugin import Call, CallNext, ToolError
from zapomni_plugin_audit.journal import Journal

log = logging.getLogger("zapomni.plugin.audit")


class AuditObserver:
    """Writes one line a call: when, which tool, how long, what came of it. No arguments, no results."""

    stage: Literal["observe"] = "observe"

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    async def __call__(self, call: Call, call_next: CallNext) -> dict[str, Any]:
        """Let the call through and note what became of it, even where it was cancelled."""
        began = datetime.now(UTC).isoformat(timespec="milliseconds")
        started = time.perf_counter()
        outcome = "cancelled"
        try:
            result = await call_next(call)
            outcome = "error" if result.get("isError") else "ok"
        except Exception as error:
            outcome = type(error).__name__
            raise
        finally:
            milliseconds = round((time.perf_counter() - started) * 1000, 3)
            tool = call.name if call.plugin or outcome != "UnknownToolError" else "(unknown)"
            self._write({"time": began, "tool": tool, "plugin": call.plugin, "ms": milliseconds, "outcome": outcome})
        return result

    def _write(self, record: dict[str, object]) -> None:
        try:
            self._journal.write(record)
        except OSError as error:
            log.warning("audit_line_not_written", extra={"cause": str(error), "tool": record["tool"]})


class AuditGuard:
    """Refuses a call while the file cannot be appended to."""

    stage: Literal["guard"] = "guard"

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    async def __call__(self, call: Call, call_next: CallNext) -> dict[str, Any]:
        """Let the call through if it can be noted."""
        try:
            self._journal.check()
        except OSError as error:
            raise ToolError(
                f"No call is allowed while the audit log cannot be written ({error.strerror}).",
                suggestion="Ask the user to make the file of plugins.audit.file writable, "
                'or to set plugins.audit.on_failure to "allow".',
            ) from None
        return await call_next(call)
