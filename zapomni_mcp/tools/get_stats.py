"""get_stats: how much there is, and how Zapomni is doing."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, ClassVar

from pydantic import BaseModel

from zapomni_core.models import EngineStats
from zapomni_core.responses import answer
from zapomni_core.text.plural import counted
from zapomni_mcp.formatting import format_embedder
from zapomni_mcp.schemas import GetStatsRequest, GetStatsResponse, Statistics
from zapomni_mcp.tools.memory_tool import MemoryTool


class GetStatsTool(MemoryTool[GetStatsRequest]):
    """Counts, sizes, the parts in use, and which of them fail."""

    name = "get_stats"
    title = "Memory statistics"
    description = "Count memories, and show store, embedder and what does not work."
    input_schema: ClassVar[dict[str, Any]] = {"type": "object", "properties": {}, "additionalProperties": False}
    annotations: ClassVar[dict[str, bool]] = {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False}
    request = GetStatsRequest
    responses: ClassVar[tuple[type[BaseModel], ...]] = (GetStatsResponse,)

    async def _answer(self, request: GetStatsRequest) -> dict[str, Any]:  # noqa: ARG002 (it has no arguments)
        stats = await self.core_engine.get_stats()
        statistics = _statistics(stats)
        return answer(
            "\n".join(_lines(stats, statistics)), GetStatsResponse(message=_headline(stats), statistics=statistics)
        )


def _headline(stats: EngineStats) -> str:
    memories = counted(stats.total_memories, "memory", "memories")
    size = f"{counted(stats.total_chunks, 'chunk')}, {stats.database_size_mb:.1f} MB"
    return f"Stats: {memories}, {size} in workspace '{stats.graph_name}'"


def _lines(stats: EngineStats, statistics: Statistics) -> list[str]:
    lines = [_headline(stats)]
    if stats.deleted_memories or stats.superseded_memories:
        lines.append(f"Hidden: {stats.deleted_memories:,} deleted, {stats.superseded_memories:,} replaced")
    lines.append(f"Store: {statistics.store}; embedder: {format_embedder(stats.embedder)}")
    if stats.avg_query_latency_ms is not None:
        lines.append(f"Average search: {stats.avg_query_latency_ms:.0f} ms")
    if stats.jobs:
        lines.append(
            f"Jobs: {stats.jobs.queued:,} queued, {stats.jobs.running:,} running, {stats.jobs.failed:,} failed"
        )
    if statistics.llm:
        lines.append(f"Language model: {statistics.llm}")
    if stats.unread_memories:
        unread = counted(stats.unread_memories, "memory", "memories")
        lines.append(f"Not read for entities: {unread}; reprocess_memories lists and queues them")
    return lines + statistics.degraded


def _llm(state: Mapping[str, Any]) -> str:
    if not state.get("model") or not state.get("provider"):
        return f"cannot be asked: {state['problem']}"
    return f"{state['model']} by {state['provider']}, {_doing(state)}"


def _doing(state: Mapping[str, Any]) -> str:
    if problem := state.get("problem"):
        return f"is not asked: {problem}"
    if not state.get("asked"):
        return "not asked yet"
    return "fails" if state.get("failures") else "answers"


def _degraded(stats: EngineStats) -> list[str]:
    """The parts that do not work, a sentence each."""
    failed = [one for one in stats.plugins if one["state"] == "failed"]
    plugins = [f"Plugin {one['name']} failed at {one['stage']}: {one['cause']} (fix: {one['fix']})" for one in failed]
    return [*stats.store_warnings, *plugins]


def _statistics(stats: EngineStats) -> Statistics:
    latency = stats.avg_query_latency_ms
    return Statistics(
        total_memories=stats.total_memories,
        total_chunks=stats.total_chunks,
        database_size_mb=round(stats.database_size_mb, 1),
        graph_name=stats.graph_name,
        avg_query_latency_ms=None if latency is None else round(latency),
        deleted_memories=stats.deleted_memories,
        superseded_memories=stats.superseded_memories,
        store=f"{stats.store} at {stats.location}",
        embedder=format_embedder(stats.embedder) if stats.embedder else "",
        jobs=asdict(stats.jobs) if stats.jobs else {},
        llm=_llm(stats.llm) if stats.llm else "",
        unread_memories=stats.unread_memories or 0,
        degraded=_degraded(stats),
    )
