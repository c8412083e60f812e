"""The graph by a language model, which may be away or talk nonsense."""

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
    """An app whose memories are read by the language model."""
    llm = {"provider": "ollama", "model": "any", "base_url": server.url}
    return lambda: graph_app(extractor="llm", llm=llm)


async def test_memories_are_read_by_the_model(asking, remember):
    await remember("Ada has a cat.", "I met Ada.")
    async with asking() as app:
        told = (await app.call("build_graph"))["structuredContent"]
    assert (told["status"], told["extractor"], told["memories_read"], told["entities"]) == ("success", "llm", 2, 1)


async def test_memories_extracted_offline_are_still_extracted_by_the_model(graph_app, asking, remember):
    await remember("Ada has a cat.")
    async with graph_app() as app:
        await app.call("build_graph")
    async with asking() as app:
        assert (await app.call("graph_status"))["structuredContent"]["memories_unread"] == 1


async def test_while_the_model_is_away_the_job_waits_and_says_why(asking, remember, server):
    await remember("Ada has a cat.")
    server.always(refuse(401))
    async with asking() as app:
        answer = await app.call("build_graph")
        told = answer["structuredContent"]
        status = await app.call("graph_status")
        job = await app.app.engine.get_job(told["job_id"])
    assert told["status"] == "queued"
    assert "It waits: LLM API key is invalid" in text_of(answer)
    assert (job.state, job.attempts) == ("queued", 0)
    assert "LLM API key is invalid" in text_of(status)
    assert "Next: remove what the job waits for" in text_of(status)


async def test_the_answer_tells_a_program_what_the_job_waits_for(asking, remember, server):
    await remember("Ada has a cat.")
    server.always(refuse(401))
    async with asking() as app:
        for _ in range(2):  # the second time the model is not asked
            told = (await app.call("build_graph"))["structuredContent"]
            assert (told["status"], told["error_code"]) == ("queued", "INVALID_API_KEY")
            assert told["suggestion"]
            assert told["retry_after_seconds"] > 0
    assert server.count == 1


async def test_a_key_that_was_corrected_is_used_by_the_next_call(asking, remember, server):
    await remember("Ada has a cat.")
    server.always(refuse(401))
    async with asking() as app:
        assert (await app.call("build_graph"))["structuredContent"]["error_code"] == "INVALID_API_KEY"
    server.always(answer(ADA))
    async with asking() as app:
        told = (await app.call("build_graph"))["structuredContent"]
    assert (told["status"], told["memories_unread"]) == ("success", 0)


async def test_a_model_that_is_back_is_asked_by_the_next_call(asking, remember, server):
    await remember("Ada has a cat.")
    server.always(refuse(500))
    async with asking() as app:
        assert (await app.call("build_graph"))["structuredContent"]["error_code"] == "SERVER_ERROR"
        server.always(answer(ADA))
        told = (await app.call("build_graph"))["structuredContent"]
    assert (told["status"], told["memories_unread"], told["entities"]) == ("success", 0, 1)


async def test_a_memory_that_the_model_answers_with_nonsense_is_left_out(asking, remember, server):
    await remember("Ada has a cat.")
    server.always(say("I would rather talk about cats."))
    async with asking() as app:
        told = (await app.call("build_graph"))["structuredContent"]
    assert (told["status"], told["memories_read"], told["memories_unread"]) == ("degraded", 0, 1)


async def test_memories_extracted_by_the_model_are_not_extracted_offline(graph_app, asking, remember, server):
    await remember("Ada has a cat.")
    server.always(refuse(401))
    async with asking() as app:
        job_id = (await app.call("build_graph"))["structuredContent"]["job_id"]
    async with graph_app() as app:
        await app.app.engine.jobs.retry("default")
        told = (await app.call("build_graph"))["structuredContent"]
        job = await app.app.engine.get_job(job_id)
    assert told["extractor"] == "names"
    assert (job.kind, job.state) == ("build_graph:llm", "queued")
