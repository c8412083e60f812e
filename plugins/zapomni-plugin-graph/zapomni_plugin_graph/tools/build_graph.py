"""build_graph: extract entities and relations from memories."""

import asyncio
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, ClassVar

from pydantic import BaseModel, Field

from zapomni_core.plugin import ErrorResponse, MemoryEngine, counted, current_call
from zapomni_core.plugin.jobs import Job
from zapomni_plugin_graph.formatting import kind_of_error, memories, not_extracted, size_of
from zapomni_plugin_graph.job import build_job
from zapomni_plugin_graph.responses import BuildGraphInPartResponse, BuildGraphQueuedResponse, BuildGraphResponse
from zapomni_plugin_graph.tool import GraphTool, Request, live_memory

POLL_SECONDS = 0.1


class BuildGraphRequest(Request):
    """Arguments of build_graph."""

    memory_ids: list[str] = Field(default_factory=list, max_length=100)
    rebuild: bool = False


class BuildGraphTool(GraphTool[BuildGraphRequest]):
    """Queues a job, and waits for it a little: most graphs are built in a moment."""

    name = "build_graph"
    title = "Build the graph"
    description = (
        "Extract names, and with a language model relations too, from memories that were not read yet. "
        "Stated facts need no build."
    )
    input_schema: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "memory_ids": {
                "type": "array",
                "items": {"type": "string"},
                "minItems": 1,
                "maxItems": 100,
                "description": "Read only these, again.",
            },
            "rebuild": {"type": "boolean", "description": "Read all again."},
        },
        "additionalProperties": False,
    }
    annotations: ClassVar[dict[str, bool]] = {
        "readOnlyHint": False,
        "destructiveHint": False,
        "idempotentHint": True,
        "openWorldHint": False,
    }
    request = BuildGraphRequest
    responses = (BuildGraphResponse, BuildGraphInPartResponse, BuildGraphQueuedResponse)

    def __init__(self, engine: MemoryEngine, wait_seconds: float) -> None:
        super().__init__(engine)
        self._wait_seconds = wait_seconds

    async def _answer(self, request: BuildGraphRequest) -> tuple[str, BaseModel]:
        for memory_id in request.memory_ids:
            await live_memory(self.engine, memory_id)
        [job] = await self.engine.submit([build_job(self.engine, request.memory_ids, rebuild=request.rebuild)])
        if job.state == "queued" and job.error and self.engine.llm_available is not False:
            job = await self._tried_now(job)
        job = await self._waited_for(job)
        if job.state == "done":
            return await self._done(job)
        return _failed(job) if job.state == "failed" else self._queued(job)

    async def _tried_now(self, job: Job) -> Job:
        """A job that waits because of an earlier failure, to be tried now: its cause may be gone."""
        await self.engine.jobs.schedule(self.engine.workspace, job.id, datetime.now(UTC))
        self.engine.look_for_jobs()
        return await self.engine.get_job(job.id)

    async def _waited_for(self, job: Job) -> Job:
        """The job when it is done, has failed or must wait; or as it is when the time is up."""
        deadline = time.monotonic() + self._wait_seconds
        reported = 0.0
        while job.state in ("queued", "running") and not job.error and time.monotonic() < deadline:
            await asyncio.sleep(POLL_SECONDS)
            job = await self.engine.get_job(job.id)
            if (job.progress or 0) > reported:
                reported = job.progress or 0
                await current_call().progress(reported, 1, job.message or None)
        return job

    async def _done(self, job: Job) -> tuple[str, BaseModel]:
        result = job.result or {}
        counts = await self.engine.graph.counts(self.engine.workspace)
        extractor = self.engine.extractor_name
        unread = max(0, counts.memories - counts.read.get(extractor, 0))
        skipped = result["skipped"]
        parts = [
            f"Read {memories(result['read'])}.",
            f"{memories(skipped)} could not be read; the server's log says why." if skipped else "",
            f"{size_of(counts)}.",
            not_extracted(unread - skipped) if unread > skipped else "",
        ]
        text = " ".join(filter(None, parts))
        kind = BuildGraphInPartResponse if skipped else BuildGraphResponse
        response = kind(
            message=text,
            job_id=job.id,
            memories_read=result["read"],
            entities=counts.entities,
            facts=counts.facts,
            ended=counts.ended,
            extractor=extractor,
            memories_unread=unread,
        )
        return text, response

    def _queued(self, job: Job) -> tuple[str, BaseModel]:
        more = {}
        if job.postponed_since and job.error:
            how = f"It waits: {job.error}"
            more = _why(job, self.engine.llm_state or {})
        elif job.error:
            how = "It failed, and is tried again."
        else:
            how = job.message[:1].upper() + job.message[1:] + "." if job.message else "It has not begun."
        text = (
            f"The graph is built in the background; do not send anything again. {how} graph_status shows how far it is."
        )
        response = BuildGraphQueuedResponse(message=text, job_id=job.id, progress=job.progress, **more)
        return f"{text}\nJob: {job.id}", response


def _why(job: Job, llm: Mapping[str, Any]) -> dict[str, Any]:
    """Why a job waits for a language model, as data."""
    seconds = (job.not_before - datetime.now(UTC)).total_seconds()
    return {
        "error_code": llm.get("error_code"),
        "suggestion": llm.get("suggestion"),
        "retry_after_seconds": round(max(seconds, 0.0), 1),
    }


def _failed(job: Job) -> tuple[str, BaseModel]:
    message = f"The graph could not be built: job {job.id} failed {counted(job.attempts, 'time')}, last with {kind_of_error(job)}."
    suggestion = "The server's log has the details. Call build_graph again when the cause is removed."
    response = ErrorResponse(
        message=message,
        error_type="processing",
        error_code="BUILD_FAILED",
        status_code=500,
        recoverable=True,
        suggestion=suggestion,
    )
    return f"{message} {suggestion}", response
