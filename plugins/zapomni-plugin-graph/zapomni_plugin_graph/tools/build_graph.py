"""build_graph: read memories, and keep what they speak of."""

import asyncio
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, ClassVar

from pydantic import BaseModel, Field

from zapomni_core.plugin import ErrorResponse, GraphCounts, Job, MemoryEngine, current_call
from zapomni_plugin_graph.answering import GraphTool, Request, live_memory
from zapomni_plugin_graph.building import build_job
from zapomni_plugin_graph.responses import BuildGraphInPartResponse, BuildGraphQueuedResponse, BuildGraphResponse
from zapomni_plugin_graph.words import graph_words, kind_of_error, memories, unread_words

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
        "Read memories that are not in the graph yet: who and what they speak of, and how these are related. "
        "Call it before get_related or search_memory_nodes, if graph_status tells of unread memories."
    )
    input_schema: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "memory_ids": {
                "type": ["array", "null"],
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
            job = await self._hastened(job)
        job = await self._watched(job)
        if job.state == "done":
            return await self._told(job)
        return _failed(job) if job.state == "failed" else self._queued(job)

    async def _hastened(self, job: Job) -> Job:
        """A job that waits because of an earlier failure, to be tried now: its cause may be gone."""
        await self.engine.jobs.schedule(self.engine.workspace, job.id, datetime.now(UTC))
        self.engine.look_for_jobs()
        return await self.engine.get_job(job.id)

    async def _watched(self, job: Job) -> Job:
        """The job when it is done, has failed or must wait; or as it is when the time is up."""
        deadline = time.monotonic() + self._wait_seconds
        told = 0.0
        while job.state in ("queued", "running") and not job.error and time.monotonic() < deadline:
            await asyncio.sleep(POLL_SECONDS)
            job = await self.engine.get_job(job.id)
            if (job.progress or 0) > told:
                told = job.progress or 0
                await current_call().progress(told, 1, job.message or None)
        return job

    async def _told(self, job: Job) -> tuple[str, BaseModel]:
        result = job.result or {}
        counts = await self.engine.graph.counts(self.engine.workspace)
        extractor = self.engine.extractor_name
        unread = max(0, counts.memories - counts.read.get(extractor, 0))
        missing = list(_missing(result))
        text = " ".join([f"Read {memories(result['read'])}.", *missing, _size(counts, unread - result["skipped"])])
        kind = BuildGraphInPartResponse if missing else BuildGraphResponse
        response = kind(
            message=text,
            job_id=job.id,
            memories_read=result["read"],
            entities=counts.entities,
            relations=counts.relations,
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
        text = f"The graph is built in the background, and nothing has to be sent again. {how} graph_status shows how far it is."
        response = BuildGraphQueuedResponse(message=text, job_id=job.id, progress=job.progress, **more)
        return f"{text}\nJob: {job.id}", response


def _why(job: Job, llm: Mapping[str, Any]) -> dict[str, Any]:
    """What a program is told of a job that waits for a language model."""
    seconds = (job.not_before - datetime.now(UTC)).total_seconds()
    return {
        "error_code": llm.get("error_code"),
        "suggestion": llm.get("suggestion"),
        "retry_after_seconds": round(max(seconds, 0.0), 1),
    }


def _missing(result: Mapping[str, Any]) -> Iterator[str]:
    """What a job that is done could not do."""
    if result["skipped"]:
        yield f"{memories(result['skipped'])} could not be read; the server's log says why."
    if not result["vectors"]:
        yield "The embedder failed: new entities are found by words alone, until build_graph is called again."


def _size(counts: GraphCounts, left: int) -> str:
    size = f"{graph_words(counts.entities, counts.relations)}."
    return f"{size} {unread_words(left)}" if left > 0 else size


def _failed(job: Job) -> tuple[str, BaseModel]:
    message = f"The graph could not be built: job {job.id} failed {job.attempts} times, last with {kind_of_error(job)}."
    suggestion = "The server's log has the details. Call build_graph again when the cause is mended."
    response = ErrorResponse(
        message=message,
        error_type="processing",
        error_code="BUILD_FAILED",
        status_code=500,
        recoverable=True,
        suggestion=suggestion,
    )
    return f"{message} {suggestion}", response
