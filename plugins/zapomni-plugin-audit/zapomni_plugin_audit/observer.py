"""Sees every call, refused ones too, and notes when, which tool, how long, and what came of it."""

import time
from datetime import UTC, datetime
from typing import Any, Literal

from zapomni_core.plugin import Call, CallNext
from zapomni_plugin_audit.journal import Journal


class AuditObserver:
    """Writes one line a call: `ok`, `error`, `unknown_tool`, or the class of what ended it. No arguments, no results."""

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
            self._journal.write(
                {"time": began, "tool": tool, "plugin": call.plugin, "ms": milliseconds, "outcome": outcome}
            )
        return result
