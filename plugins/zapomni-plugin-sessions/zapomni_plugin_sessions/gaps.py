"""Gaps: tools that agents missed, kept for the owner in a workspace of their own, where no search for memories meets them."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from zapomni_core.plugin import MemoryEngine

if TYPE_CHECKING:
    from zapomni_core.plugin import MemoryManager, ToolGapReport

WORKSPACE = "tool-gaps"
SOURCE = "report_tool_gap"
_FIRST, _LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Gap:
    """A gap as it was recorded; `id` is that of the document which keeps it."""

    id: str
    recorded_at: datetime
    report: "ToolGapReport"


async def record(engine: MemoryEngine, report: "ToolGapReport") -> str:
    """Keep a gap; its id."""
    text = f"{report.attempted_task}\nMissing: {', '.join(report.missing_tools)}"
    metadata = {"source": SOURCE, "report": report.model_dump(mode="json")}
    return str(await _kept(engine).store_document(text, metadata))


async def recorded(engine: MemoryEngine, limit: int) -> list[Gap]:
    """The gaps, newest first."""
    from zapomni_core.plugin import ToolGapReport

    found = await _kept(engine).temporal_query(_FIRST, _LAST, {"source": SOURCE}, limit=limit)
    return [Gap(str(one.id), one.created_at, ToolGapReport.model_validate(one.metadata_["report"])) for one in found]


def _kept(engine: MemoryEngine) -> "MemoryManager":
    from zapomni_core.plugin import MemoryManager

    return MemoryManager(engine.in_workspace(WORKSPACE))
