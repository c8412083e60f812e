"""report_tool_gap: tells the owner of a tool that is missing."""

from typing import Any

from pydantic import BaseModel

from zapomni_core.plugin import InvalidInputError
from zapomni_plugin_sessions.gaps import record
from zapomni_plugin_sessions.responses import GapRecorded
from zapomni_plugin_sessions.tool import WRITES, SessionsTool

_NAMES = {"type": "array", "items": {"type": "string"}}


class ReportToolGapTool(SessionsTool):
    """Records what an agent could not do for want of a tool; `zapomni gaps` lists it."""

    name = "report_tool_gap"
    title = "Report a missing tool"
    description = "Tell the owner that a task needs tools that do not exist."
    annotations = WRITES
    required = ("missing_tools", "attempted_task", "existing_tools_checked")
    responses = (GapRecorded,)

    def properties(self) -> dict[str, Any]:
        return {
            "missing_tools": {**_NAMES, "description": "Their names.", "minItems": 1},
            "attempted_task": {"type": "string", "description": "What failed.", "minLength": 1},
            "existing_tools_checked": {**_NAMES, "description": "Tools that do not do it."},
            "proposed_mcp_server": {"type": "string", "description": "A server that would."},
            "nearest_tools": {**_NAMES, "description": "From the error, if any."},
        }

    async def answer(self, **report: Any) -> tuple[str, BaseModel]:
        from zapomni_core.plugin.sessions import ToolGapReport

        for field in ("missing_tools", "attempted_task"):
            if not all(map(str.strip, _texts(report[field]))):
                raise InvalidInputError(f"{field} cannot be empty or whitespace-only")
        report.pop("nearest_tools", None)  # of those that were checked; an unknown tool's report comes with them
        gap_id = await record(self.engine, ToolGapReport(**report))
        message = f"Gap {gap_id} recorded; the command 'zapomni gaps' shows it."
        return message, GapRecorded(message=message, gap_id=gap_id)


def _texts(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value
