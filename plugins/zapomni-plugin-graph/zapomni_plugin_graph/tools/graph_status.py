"""graph_status: how much graph there is, and what to do next."""

from typing import Any, ClassVar

from pydantic import BaseModel

from zapomni_core.plugin.graph import GraphCounts
from zapomni_core.plugin.jobs import Job
from zapomni_plugin_graph.formatting import job_text, memories, size_of
from zapomni_plugin_graph.job import KIND
from zapomni_plugin_graph.responses import GraphStatusResponse, JobAnswer
from zapomni_plugin_graph.tool import READS, GraphTool, Request

LAST_JOBS = 20


class GraphStatusTool(GraphTool[Request]):
    """Counts, and the job that builds the graph."""

    name = "graph_status"
    title = "Status of the graph"
    description = "Size of the graph, how many memories are not in it yet, and how far build_graph is."
    input_schema: ClassVar[dict[str, Any]] = {"type": "object", "properties": {}, "additionalProperties": False}
    annotations: ClassVar[dict[str, bool]] = READS
    request = Request
    responses = (GraphStatusResponse,)

    async def _answer(self, request: Request) -> tuple[str, BaseModel]:  # noqa: ARG002 (it has no arguments)
        workspace = self.engine.workspace
        counts = await self.engine.graph.counts(workspace)
        kind = self.engine.extractor_kind(KIND)
        job = _to_show(await self.engine.jobs.list(workspace, kind=kind, limit=LAST_JOBS))
        response = self._response(counts, job)
        lines = [response.message, job_text(job) if job else "", f"Next: {response.next_step}"]
        return "\n".join(line for line in lines if line), response

    def _response(self, counts: GraphCounts, job: Job | None) -> GraphStatusResponse:
        extractor = self.engine.extractor_name
        read = counts.read.get(extractor, 0)
        unread = max(0, counts.memories - read)
        return GraphStatusResponse(
            message=f"{size_of(counts)}; extractor '{extractor}' has read {read:,} of {memories(counts.memories)}.",
            entities=counts.entities,
            facts=counts.facts,
            ended=counts.ended,
            together=counts.together,
            extractor=extractor,
            memories_read=read,
            memories_unread=unread,
            job=JobAnswer.of(job) if job else None,
            next_step=_next_step(counts, unread, job),
        )


def _to_show(jobs: list[Job]) -> Job | None:
    """The job that runs, else one that waits, else the last one if it failed."""
    for state in ("running", "queued"):
        if found := [job for job in jobs if job.state == state]:
            return found[-1]
    return jobs[0] if jobs and jobs[0].state == "failed" else None


def _next_step(counts: GraphCounts, unread: int, job: Job | None) -> str:
    if job is not None and job.state == "queued" and job.error:
        return "remove what the job waits for, unless that is only time; it is then tried again by itself."
    if job is not None and job.state != "failed":
        return "wait: the graph is built in the background."
    if not counts.memories:
        return "add memories: there are none yet."
    if unread:
        return f"build_graph, which reads {memories(unread)} more."
    return "nothing to do: all memories are read. get_related and search_memory_nodes query the graph."
