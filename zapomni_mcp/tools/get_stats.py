"""get_stats: how much there is, and how Zapomni is doing."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, ClassVar

from pydantic import BaseModel

from zapomni_core.models import EngineStats
from zapomni_mcp.formatting import format_embedder
from zapomni_mcp.schemas import GetStatsRequest, GetStatsResponse, Statistics
from zapomni_mcp.tools.memory_tool import MemoryTool, answer


class GetStatsTool(MemoryTool[GetStatsRequest]):
    """Counts, sizes, the parts in use, plugins and calls."""

    name = "get_stats"
    title = "Memory statistics"
    description = "Count memories and show store, embedder, plugins (failed ones too) and calls."
    input_schema: ClassVar[dict[str, Any]] = {"type": "object", "properties": {}, "additionalProperties": False}
    annotations: ClassVar[dict[str, bool]] = {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False}
    request = GetStatsRequest
    responses: ClassVar[tuple[type[BaseModel], ...]] = (GetStatsResponse,)

    async def _answer(self, request: GetStatsRequest) -> dict[str, Any]:  # noqa: ARG002 (it has no arguments)
        stats = await self.core_engine.get_stats()
        readable = "\n".join(_lines(stats))
        return answer(readable, GetStatsResponse(message=_headline(stats), statistics=_statistics(stats)))


def _headline(stats: EngineStats) -> str:
    size = f"{stats.database_size_mb:.1f} MB"
    return f"Stats: {stats.total_memories:,} memories, {stats.total_chunks:,} chunks, {size} in workspace '{stats.graph_name}'"


def _lines(stats: EngineStats) -> list[str]:
    lines = [_headline(stats)]
    if stats.deleted_memories or stats.superseded_memories:
        lines.append(f"Hidden: {stats.deleted_memories:,} deleted, {stats.superseded_memories:,} replaced")
    lines.append(f"Store: {stats.store} at {stats.location}; embedder: {format_embedder(stats.embedder)}")
    if stats.avg_query_latency_ms is not None:
        lines.append(f"Average search: {stats.avg_query_latency_ms:.0f} ms")
    if stats.jobs:
        lines.append(
            f"Jobs: {stats.jobs.queued:,} queued, {stats.jobs.running:,} running, {stats.jobs.failed:,} failed"
        )
    if stats.llm:
        lines.append(_llm(stats.llm))
    if stats.unread_memories:
        lines.append(
            f"Not read for entities: {stats.unread_memories:,} memories; reprocess_memories lists and queues them"
        )
    failed = [one for one in stats.plugins if one["state"] == "failed"]
    return lines + [
        f"Plugin {one['name']} failed at {one['stage']}: {one['cause']} (fix: {one['fix']})" for one in failed
    ]


def _llm(state: Mapping[str, Any]) -> str:
    if not state.get("model") or not state.get("provider"):
        return f"Language model: cannot be asked: {state['problem']}"
    return f"Language model: {state['model']} by {state['provider']}, {_doing(state)}"


def _doing(state: Mapping[str, Any]) -> str:
    if problem := state.get("problem"):
        return f"is not asked: {problem}"
    if not state.get("asked"):
        return "not asked yet"
    return "fails" if state.get("failures") else "answers"


def _statistics(stats: EngineStats) -> Statistics:
    return Statistics(
        total_memories=stats.total_memories,
        total_chunks=stats.total_chunks,
        database_size_mb=round(stats.database_size_mb, 3),
        graph_name=stats.graph_name,
        avg_query_latency_ms=stats.avg_query_latency_ms,
        deleted_memories=stats.deleted_memories,
        superseded_memories=stats.superseded_memories,
        workspaces=list(stats.workspaces),
        store=stats.store,
        embedder=format_embedder(stats.embedder) if stats.embedder else None,
        jobs=asdict(stats.jobs) if stats.jobs else None,
        llm=dict(stats.llm) if stats.llm else None,
        unread_memories=stats.unread_memories,
        plugins=[dict(plugin) for plugin in stats.plugins],
        calls={name: dict(counts) for name, counts in stats.calls.items()},
    )
