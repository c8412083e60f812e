"""Extraction by a language model that may be unavailable or give invalid answers."""

import pytest

from zapomni_core.testing import text_of
from zapomni_core.testing.llm_server import answer, refuse, say

ADA = {"entities": [{"name": "Ada", "type": "person", "quote": "Ada"}], "relations": []}


@pytest.fixture
def server(llm_server):
    llm_server.always(answer(ADA))
    return llm_server


@pytest.fixture
def asking(graph_app, server):
    """Opens an app that extracts with the language model."""
    llm = {"provider": "ollama", "model": "any", "base_url": server.url}
    return lambda: graph_app(extractor="llm", llm=llm)


async def test_memories_are_extracted_by_the_model(asking, remember):
    await remember("Ada has a cat.", "I met Ada.")
    async with asking() as app:
        record = (await app.call("build_graph"))["structuredContent"]
    assert (record["status"], record["extractor"]) == ("success", "llm")
    assert (record["memories_read"], record["entities"]) == (2, 1)


async def test_memories_extracted_offline_are_still_extracted_by_the_model(graph_app, asking, remember):
    await remember("Ada has a cat.")
    async with graph_app() as app:
        await app.call("build_graph")
    async with asking() as app:
        assert (await app.call("graph_status"))["structuredContent"]["memories_unread"] == 1


async def test_while_the_model_is_unavailable_the_job_waits_and_reports_the_reason(asking, remember, server):
    await remember("Ada has a cat.")
    server.always(refuse(401))
    async with asking() as app:
        answer = await app.call("build_graph")
        record = answer["structuredContent"]
        status = await app.call("graph_status")
        job = await app.app.engine.get_job(record["job_id"])
    assert record["status"] == "queued"
    assert "It waits: LLM API key is invalid" in text_of(answer)
    assert (job.state, job.attempts) == ("queued", 0)
    assert "LLM API key is invalid" in text_of(status)
    assert "Next: remove what the job waits for" in text_of(status)


async def test_the_structured_answer_has_the_reason_why_the_job_waits(asking, remember, server):
    await remember("Ada has a cat.")
    server.always(refuse(401))
    async with asking() as app:
        for _ in range(2):  # the second call does not reach the model
            record = (await app.call("build_graph"))["structuredContent"]
            assert (record["status"], record["error_code"]) == ("queued", "INVALID_API_KEY")
            assert record["suggestion"]
            assert record["retry_after_seconds"] > 0
    assert server.count == 1


async def test_the_next_call_uses_a_corrected_key(asking, remember, server):
    await remember("Ada has a cat.")
    server.always(refuse(401))
    async with asking() as app:
        assert (await app.call("build_graph"))["structuredContent"]["error_code"] == "INVALID_API_KEY"
    server.always(answer(ADA))
    async with asking() as app:
        record = (await app.call("build_graph"))["structuredContent"]
    assert (record["status"], record["memories_unread"]) == ("success", 0)


async def test_the_next_call_uses_a_model_that_is_available_again(asking, remember, server):
    await remember("Ada has a cat.")
    server.always(refuse(500))
    async with asking() as app:
        assert (await app.call("build_graph"))["structuredContent"]["error_code"] == "SERVER_ERROR"
        server.always(answer(ADA))
        record = (await app.call("build_graph"))["structuredContent"]
    assert (record["status"], record["memories_unread"], record["entities"]) == ("success", 0, 1)


async def test_a_memory_with_an_invalid_model_answer_is_skipped(asking, remember, server):
    await remember("Ada has a cat.")
    server.always(say("I would rather talk about cats."))
    async with asking() as app:
        record = (await app.call("build_graph"))["structuredContent"]
    assert (record["status"], record["memories_read"], record["memories_unread"]) == ("degraded", 0, 1)


async def test_memories_extracted_by_the_model_are_not_extracted_offline(graph_app, asking, remember, server):
    await remember("Ada has a cat.")
    server.always(refuse(401))
    async with asking() as app:
        job_id = (await app.call("build_graph"))["structuredContent"]["job_id"]
    async with graph_app() as app:
        await app.app.engine.jobs.retry("default")
        record = (await app.call("build_graph"))["structuredContent"]
        job = await app.app.engine.get_job(job_id)
    assert record["extractor"] == "names"
    assert (job.kind, job.state) == ("build_graph:llm", "queued")
