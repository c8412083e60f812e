"""Gaps: tools that agents missed. Each workspace has another one for them, where no search for its memories meets them."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pydantic import ValidationError

from zapomni_core.plugin import MemoryEngine, MemoryNotFoundError

if TYPE_CHECKING:
    from zapomni_core.plugin.sessions import Document, MemoryManager, ToolGapReport

LONGEST_WORKSPACE = 64
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
    found = await _kept(engine).temporal_query(_FIRST, _LAST, {"source": SOURCE}, limit=limit)
    return list(_gaps(found))


async def forget(engine: MemoryEngine, gap_ids: Sequence[str]) -> int:
    """Hide gaps; how many. MemoryNotFoundError where one of them is not there: then none is hidden."""
    kept = engine.in_workspace(workspace_of(engine.workspace))
    wanted = dict.fromkeys(gap_ids)
    if missing := [gap_id for gap_id in wanted if not await _is_there(kept, gap_id)]:
        raise MemoryNotFoundError(f"there is no gap {', '.join(missing)[:200]} here: nothing was forgotten")
    for gap_id in wanted:
        await kept.delete_memory(gap_id)
    return len(wanted)


async def _is_there(kept: MemoryEngine, gap_id: str) -> bool:
    try:
        return (await kept.get_memory(gap_id)).deleted_at is None
    except MemoryNotFoundError:
        return False


def workspace_of(workspace: str) -> str:
    """The name of the session that keeps the gaps of a workspace."""
    name = f"tool-gaps/{workspace}"
    if len(name) <= LONGEST_WORKSPACE:
        return name
    return f"tool-gaps/{hashlib.sha256(workspace.encode()).hexdigest()[:32]}"


def _gaps(documents: "list[Document]") -> Iterator[Gap]:
    """The recorded gaps; documents of other kinds are skipped."""
    from zapomni_core.plugin.sessions import ToolGapReport

    for one in documents:
        try:
            report = ToolGapReport.model_validate(one.metadata_.get("report"))
        except ValidationError:
            continue
        yield Gap(str(one.id), one.created_at, report)


def _kept(engine: MemoryEngine) -> "MemoryManager":
    from zapomni_core.plugin.sessions import MemoryManager

    return MemoryManager(engine.in_workspace(workspace_of(engine.workspace)))
