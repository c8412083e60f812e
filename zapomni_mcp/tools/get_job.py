"""get_job: what became of work that was queued."""

from typing import Any, ClassVar

from pydantic import BaseModel

from zapomni_core.errors import without_paths
from zapomni_core.responses import answer
from zapomni_db.records import Job
from zapomni_mcp.schemas import GetJobRequest, GetJobResponse
from zapomni_mcp.tools.memory_tool import MemoryTool


class GetJobTool(MemoryTool[GetJobRequest]):
    """Returns the progress of a job. Offered only where jobs can be queued."""

    name = "get_job"
    title = "Status of queued work"
    description = "Status of queued work by its job ID, as an earlier answer gave it."
    input_schema: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {"job_id": {"type": "string", "description": "ID of the job.", "minLength": 1}},
        "required": ["job_id"],
        "additionalProperties": False,
    }
    annotations: ClassVar[dict[str, bool]] = {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False}
    request = GetJobRequest
    responses: ClassVar[tuple[type[BaseModel], ...]] = (GetJobResponse,)

    async def _answer(self, request: GetJobRequest) -> dict[str, Any]:
        job = await self.core_engine.get_job(request.job_id)
        response = _structured(job, is_done_here=self.core_engine.does_jobs(job.kind))
        return answer(response.message, response)


def _structured(job: Job, *, is_done_here: bool) -> GetJobResponse:
    return GetJobResponse(
        message=_readable(job, is_done_here=is_done_here),
        episode_id=job.payload.get("memory_id"),
        job_id=job.id,
        kind=job.kind,
        state=job.state,
        attempts=job.attempts,
        progress=job.progress,
        last_error=without_paths(job.error) or None,
        next_at=job.not_before if job.state == "queued" else None,
        result=None if job.result is None else dict(job.result),
    )


def _readable(job: Job, *, is_done_here: bool) -> str:
    parts = [f"Job {job.id} ({job.kind}) is {job.state}"]
    if job.state == "running" and job.progress is not None:
        parts.append(f"{job.progress:.0%} done")
    if job.state == "running" and job.message:
        parts.append(without_paths(job.message))
    if job.result and "skipped" in job.result:
        parts.append(f"nothing was done: {job.result['skipped']}")
    if job.attempts > 1 or job.state == "failed":
        parts.append(f"attempt {job.attempts}")
    if job.error and job.state != "done":
        parts.append(f"last error: {without_paths(job.error)}")
    if job.error and job.state == "queued":
        parts.append(f"next try {job.not_before:%Y-%m-%d %H:%M:%S} UTC")
    if job.state == "queued" and not is_done_here:
        parts.append(f"it waits for a server that does such jobs{_with_extractor(job)}")
    return "; ".join(parts) + "."


def _with_extractor(job: Job) -> str:
    extractor = job.kind.partition(":")[2]
    return f": one with extractor '{extractor}'" if extractor else ""
