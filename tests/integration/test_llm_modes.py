"""Adding a memory while the language model fails: what is answered, what is kept, and that it is found."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from zapomni_core import providers
from zapomni_core.extraction.llm import LLMExtractor
from zapomni_core.llm import LLM, Limits
from zapomni_core.plugin import Provider, hookimpl
from zapomni_core.settings import LLMSettings
from zapomni_core.testing import running, text_of
from zapomni_core.testing.embedder import HashingEmbedder
from zapomni_core.testing.llm_server import LLMServer, answer, cut, model_missing, refuse, reply, say, stall
from zapomni_mcp import tools

TEXT = "Ada Lovelace works at Babbage Engines."
KEY = "sk-private"
READ = {
    "entities": [
        {"name": "Ada Lovelace", "type": "person", "quote": "Ada Lovelace"},
        {"name": "Babbage Engines", "type": "company", "quote": "Babbage Engines"},
    ],
    "relations": [
        {
            "subject": "Ada Lovelace",
            "type": "works_at",
            "object": "Babbage Engines",
            "quote": "Ada Lovelace works at Babbage Engines",
            "exclusive": True,
            "valid_from": None,
            "valid_until": None,
        }
    ],
}
FAULTS = {
    "401": (refuse(401), "INVALID_API_KEY", False),
    "402": (refuse(402), "QUOTA_EXCEEDED", False),
    "429": (refuse(429, retry_after="7"), "RATE_LIMIT", True),
    "500": (refuse(500), "SERVER_ERROR", True),
    "503": (refuse(503), "SERVER_ERROR", True),
    "missing": (model_missing(), "MODEL_MISSING", False),
    "stalled": (stall(), "TIMEOUT", True),
    "cut": (cut(), "NETWORK", True),
    "cut inside": (cut(inside=True), "NETWORK", True),
    "no json": (say("I would rather talk."), "MALFORMED_ANSWER", True),
    "another shape": (answer({"entities": "many"}), "MALFORMED_ANSWER", True),
    "no protocol": (reply(b"<html>hello</html>"), "MALFORMED_ANSWER", True),
    "down": (None, "NETWORK", True),
}


class Quick:
    """The extractor `quick`: the real one with less patience, and an embedder that needs no model."""

    def __init__(self, settings, limits):
        self._settings = settings
        self._limits = limits

    @hookimpl
    def zapomni_providers(self):
        def extractor(_context):
            return LLMExtractor(LLM(self._settings, limits=self._limits))

        return [
            Provider(kind="extractor", name="quick", factory=extractor),
            Provider(kind="embedder", name="hashing", factory=lambda _: HashingEmbedder()),
        ]


@pytest.fixture
def server():
    with LLMServer(answer(READ)) as running_server:
        yield running_server


@pytest.fixture
def zapomni(tmp_path, server):
    """An app that reads with the server's model."""

    @asynccontextmanager
    async def start(mode, protocol="ollama", **limits):
        base = server.url if protocol == "ollama" else f"{server.url}/v1"
        settings = LLMSettings(provider=protocol, model="any", base_url=base, api_key=KEY)
        patience = {"retries": 0, "total_seconds": 1.0, "connect_seconds": 1.0} | limits
        together = {
            "store": f"sqlite://{tmp_path}/memory.db",
            "extractor": "quick",
            "embedder": "hashing",
            "on_llm_unavailable": mode,
        }
        async with running(tools, providers, Quick(settings, Limits(**patience)), settings=together) as app:
            yield app

    return start


def fail(server, fault):
    behaviour = FAULTS[fault][0]
    server.always(behaviour) if behaviour else server.down()


async def add(app, text=TEXT, **arguments):
    result = await app.call("add_memory", {"text": text, **arguments})
    return result, result["structuredContent"]


async def found(app, query="Lovelace"):
    return [
        hit["memory_id"] for hit in (await app.call("search_memory", {"query": query}))["structuredContent"]["results"]
    ]


async def entities(app):
    return (await app.app.engine.graph.counts("default")).entities


async def until(condition):
    async with asyncio.timeout(60):
        while not await condition():  # noqa: ASYNC110 - the state is in the store
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("protocol", ["ollama", "openai"])
@pytest.mark.parametrize("mode", ["fail", "store_raw", "queue_retry"])
async def test_a_model_that_answers_is_read_into_memory_and_graph(zapomni, mode, protocol):
    async with zapomni(mode, protocol) as app:
        result, record = await add(app)
        assert (record["status"], record["entities_extracted"], record["relationships_extracted"]) == ("success", 2, 1)
        assert text_of(result).endswith("\nExtracted: 2 entities, 1 relations")
        assert await found(app) == [record["memory_id"]]
        assert await entities(app) == 2


@pytest.mark.parametrize("protocol", ["ollama", "openai"])
@pytest.mark.parametrize("fault", FAULTS)
async def test_fail_keeps_nothing_and_says_why(zapomni, server, fault, protocol):
    fail(server, fault)
    _, code, recoverable = FAULTS[fault]
    async with zapomni("fail", protocol) as app:
        result, record = await add(app)
        assert result["isError"]
        assert (record["status"], record["error_type"], record["status_code"]) == ("error", "llm_unavailable", 503)
        assert (record["error_code"], record["recoverable"]) == (code, recoverable)
        assert record["suggestion"]
        assert KEY not in str(result)
        assert "Lovelace" not in str(result)
        assert await found(app) == []
        assert await entities(app) == 0
        assert (await app.call("get_stats"))["structuredContent"]["statistics"]["total_memories"] == 0


@pytest.mark.parametrize("protocol", ["ollama", "openai"])
@pytest.mark.parametrize("fault", FAULTS)
async def test_store_raw_keeps_the_text_and_lists_it_for_later(zapomni, server, fault, protocol):
    fail(server, fault)
    async with zapomni("store_raw", protocol) as app:
        result, record = await add(app)
        assert not result["isError"]
        assert (record["status"], record["raw_stored"], record["reprocess_available"]) == ("degraded", True, True)
        assert record["entities_extracted"] == 0
        assert "Entities not extracted" in text_of(result)
        assert KEY not in str(result)
        assert await found(app) == [record["memory_id"]]
        assert await entities(app) == 0
        assert await app.app.engine.graph.unread("default", "llm", 10) == ([record["memory_id"]], 1)


@pytest.mark.parametrize("protocol", ["ollama", "openai"])
@pytest.mark.parametrize("fault", FAULTS)
async def test_queue_retry_keeps_the_text_and_a_receipt(zapomni, server, fault, protocol):
    fail(server, fault)
    async with zapomni("queue_retry", protocol) as app:
        result, record = await add(app)
        assert not result["isError"]
        assert (record["status"], record["raw_stored"]) == ("queued", True)
        assert f"Job {record['job_id']} does it" in text_of(result)
        assert await found(app) == [record["memory_id"]]
        assert await entities(app) == 0
        job = (await app.call("get_job", {"job_id": record["job_id"]}))["structuredContent"]
        assert (job["state"], job["episode_id"]) == ("queued", record["memory_id"])


async def test_a_rate_limit_is_told_with_its_seconds(zapomni, server):
    server.always(refuse(429, retry_after="7"))
    async with zapomni("fail") as app:
        _, record = await add(app)
    assert record["message"] == "LLM rate limit exceeded. Retry in 7 seconds."
    assert record["retry_after_seconds"] == 7


async def test_what_was_stored_raw_is_read_later_when_it_is_asked_for(zapomni, server):
    server.then(refuse(500))
    async with zapomni("store_raw") as app:
        _, record = await add(app)
        asked = (await app.call("reprocess_memories"))["structuredContent"]
        assert (asked["status"], len(asked["job_ids"]), asked["left"]) == ("queued", 1, 0)

        async def is_done():
            job = (await app.call("get_job", {"job_id": asked["job_id"]}))["structuredContent"]
            return job["state"] == "done" and job["result"] == {"entities_extracted": 2, "relationships_extracted": 1}

        await until(is_done)
        assert await entities(app) == 2
        again = (await app.call("reprocess_memories"))["structuredContent"]
        assert (again["status"], again["message"]) == (
            "success",
            "Nothing to do: every memory has been read for entities.",
        )
        named = (await app.call("reprocess_memories", {"memory_ids": [record["memory_id"]]}))["structuredContent"]
        assert named["status"] == "queued"
        unknown = await app.call("reprocess_memories", {"memory_ids": ["nobody"]})
        assert unknown["structuredContent"]["error_code"] == "MEMORY_NOT_FOUND"


async def test_without_waiting_the_answer_is_a_receipt_and_the_job_reads_it(zapomni):
    async with zapomni("fail") as app:
        _, record = await add(app, wait_for_completion=False)
        assert (record["status"], record["raw_stored"]) == ("queued", True)
        assert await found(app) == [record["memory_id"]]

        async def is_read():
            return await entities(app) == 2

        await until(is_read)


async def test_a_job_of_a_memory_that_was_deleted_meanwhile_reads_nothing(zapomni, server):
    server.then(refuse(500))
    async with zapomni("store_raw") as app:
        _, record = await add(app)
        await app.call("delete_memory", {"memory_id": record["memory_id"]})
        named = (await app.call("reprocess_memories", {"memory_ids": [record["memory_id"]]}))["structuredContent"]

        async def is_skipped():
            job = (await app.call("get_job", {"job_id": named["job_id"]}))["structuredContent"]
            return job["result"] == {"skipped": "the memory is not there any more"}

        await until(is_skipped)
    assert server.count == 1


async def test_while_the_model_is_away_its_jobs_wait_and_have_not_been_tried(zapomni, server):
    server.always(refuse(503))
    async with zapomni("store_raw") as app:
        await add(app)
        asked = (await app.call("reprocess_memories"))["structuredContent"]

        async def is_postponed():
            job = (await app.call("get_job", {"job_id": asked["job_id"]}))["structuredContent"]
            return (job["state"], job["attempts"], bool(job["last_error"])) == ("queued", 0, True)

        await until(is_postponed)
    assert server.count >= 2


async def test_the_plug_is_pulled_in_the_middle_of_reading(zapomni, server):
    server.always(stall())
    async with zapomni("fail", total_seconds=60) as app:
        adding = asyncio.create_task(add(app))
        await asyncio.to_thread(server.wait_for, 1)
        server.down()
        result, record = await adding
        assert result["isError"]
        assert record["error_code"] == "NETWORK"
        assert await found(app) == []


async def test_a_call_that_is_cancelled_while_the_model_reads_leaves_nothing(zapomni, server):
    server.always(stall())
    async with zapomni("queue_retry", total_seconds=60) as app:
        adding = asyncio.create_task(add(app))
        await asyncio.to_thread(server.wait_for, 1)
        adding.cancel()
        with pytest.raises(asyncio.CancelledError):
            await adding
        assert await found(app) == []
        assert (await app.app.engine.jobs.counts("default")).queued == 0


async def test_the_breaker_opens_after_failures_of_real_calls_and_then_makes_none(zapomni, server):
    server.always(refuse(500))
    async with zapomni("fail", open_after_failures=3, open_seconds=600) as app:
        failed = [(await add(app))[1]["error_code"] for _ in range(3)]
        refused = [(await add(app))[1]["error_code"] for _ in range(3)]
        state = (await app.call("get_stats"))["structuredContent"]["statistics"]["llm"]
    assert (failed, refused) == (["SERVER_ERROR"] * 3, ["CIRCUIT_OPEN"] * 3)
    assert server.count == 3
    assert (state["provider"], state["model"], state["state"]) == ("ollama", "any", "open")


async def test_the_breaker_closes_when_its_probe_is_answered(zapomni, server):
    server.always(refuse(500))
    async with zapomni("fail", open_after_failures=1, open_seconds=0.05) as app:
        assert (await add(app))[1]["error_code"] == "SERVER_ERROR"
        server.always(answer(READ))

        async def is_back():
            return (await add(app))[1]["status"] == "success"

        await until(is_back)
        assert (await app.call("get_stats"))["structuredContent"]["statistics"]["llm"]["state"] == "closed"


async def test_waiting_can_be_chosen_only_where_a_model_reads(tmp_path):
    settings = {"store": f"sqlite://{tmp_path}/memory.db"}
    async with running(tools, providers, settings=settings) as app:
        assert "reprocess_memories" not in app.tools
        assert "get_job" not in app.tools
        result = await app.call("add_memory", {"text": TEXT, "wait_for_completion": False})
    assert result["structuredContent"]["error_type"] == "validation"
