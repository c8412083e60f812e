"""Adding memories with a language model that answers, fails or is away, in each mode."""

import asyncio
import json
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest

from tests.complexity import is_linear_when_awaited
from zapomni_core.errors import ProcessingError
from zapomni_core.extraction.llm import LLMExtractor
from zapomni_core.http import Limits
from zapomni_core.http.client import LONGEST_REPLY
from zapomni_core.llm import LLM
from zapomni_core.memory.engine import MemoryEngine
from zapomni_core.plugin import Provider, hookimpl
from zapomni_core.plugin.extractors import Extraction, NewEntity
from zapomni_core.settings import LLMSettings, Settings
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


TOO_MUCH = {
    "words": say(json.dumps(READ) + "!" * LONGEST_REPLY),
    "entities": answer(READ | {"entities": READ["entities"] * 10_000}),
    "levels": say('{"relations": [], "entities": ' + "[" * 100_000 + "]" * 100_000 + "}"),
    "levels of the reply itself": reply(b'{"message": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
}


class Quick:
    """A plugin with the extractor `quick`, the real one with short limits, and a hashing embedder."""

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
    """Start an app that extracts with the server's model."""

    @asynccontextmanager
    async def start(mode, protocol="ollama", settings=None, **limits):
        base = server.url if protocol == "ollama" else f"{server.url}/v1"
        model = LLMSettings(provider=protocol, model="any", base_url=base, api_key=KEY)
        patience = {"retries": 0, "total_seconds": 1.0, "connect_seconds": 1.0} | limits
        together = {
            "store": f"sqlite://{tmp_path}/memory.db",
            "extractor": "quick",
            "embedder": "hashing",
            "on_llm_unavailable": mode,
            **(settings or {}),
        }
        async with running(tools, Quick(model, Limits(**patience)), settings=together) as app:
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
async def test_extracted_entities_are_stored_with_the_memory(zapomni, mode, protocol):
    async with zapomni(mode, protocol) as app:
        result, record = await add(app)
        assert (record["status"], record["entities_extracted"], record["relationships_extracted"]) == ("success", 2, 1)
        assert text_of(result).endswith("\nExtracted: 2 entities, 1 relation")
        assert await found(app) == [record["memory_id"]]
        assert await entities(app) == 2


@pytest.mark.parametrize("protocol", ["ollama", "openai"])
@pytest.mark.parametrize("fault", FAULTS)
async def test_fail_stores_nothing_and_reports_the_cause(zapomni, server, fault, protocol):
    fail(server, fault)
    _, code, recoverable = FAULTS[fault]
    async with zapomni("fail", protocol) as app:
        result, record = await add(app)
        assert result["isError"]
        assert (record["status"], record["error_type"], record["status_code"]) == ("error", "llm_unavailable", 503)
        assert (record["error_code"], record["recoverable"]) == (code, recoverable)
        assert record["suggestion"]
        assert "Nothing was stored." in text_of(result)
        assert KEY not in str(result)
        assert "Lovelace" not in str(result)
        assert await found(app) == []
        assert await entities(app) == 0
        assert (await app.call("get_stats"))["structuredContent"]["statistics"]["total_memories"] == 0


@pytest.mark.parametrize("protocol", ["ollama", "openai"])
@pytest.mark.parametrize("what", TOO_MUCH)
async def test_an_oversized_reply_is_invalid(zapomni, server, what, protocol):
    server.always(TOO_MUCH[what])
    async with zapomni("fail", protocol, total_seconds=60.0) as app:
        _, record = await add(app)
        assert (record["status"], record["error_type"]) == ("error", "llm_unavailable")
        assert (record["error_code"], record["recoverable"]) == ("MALFORMED_ANSWER", True)
        server.always(answer(READ))
        assert (await add(app))[1]["status"] == "success"


@pytest.mark.parametrize("unit", [" ", "\n", "<think>", "</think>", "```", "{", "[", '{"a":', "<thinking> ", "\\"])
async def test_the_work_for_a_reply_is_linear_in_its_length(zapomni, server, unit):
    async with zapomni("fail", total_seconds=60.0) as app:

        async def add_with(length):
            server.always(say("Sure!" + unit * (length // len(unit)) + json.dumps(READ)))
            asked = server.count
            result, record = await add(app, f"{TEXT} {asked}")
            assert server.count == asked + 1
            assert not result["isError"] or record["error_code"] == "MALFORMED_ANSWER"

        assert await is_linear_when_awaited(add_with, 25_000)


async def test_an_unavailable_model_is_logged_in_one_line_with_the_cause(zapomni, server, caplog):
    server.always(cut())
    async with zapomni("fail") as app:
        await add(app)
    [told] = [record for record in caplog.records if record.name == "zapomni.tools.add_memory"]
    assert (told.message, told.levelname, told.exc_info) == ("language_model_away", "WARNING", None)
    assert (told.code, told.cause.partition(":")[0]) == ("NETWORK", "RemoteProtocolError")


async def test_fail_keeps_a_memory_that_existed_before(zapomni, server):
    server.always(refuse(500))
    async with zapomni("store_raw") as app:
        _, before = await add(app)
    async with zapomni("fail") as app:
        result, record = await add(app)
        assert (record["status"], record["error_code"]) == ("error", "SERVER_ERROR")
        told = f"the same memory was stored before and stays as it is, not read. ID: {before['memory_id']}"
        assert told in text_of(result)
        assert "Nothing was stored" not in text_of(result)
        assert await found(app) == [before["memory_id"]]
        await app.call("delete_memory", {"memory_id": before["memory_id"]})
        assert "Nothing was stored." in text_of((await add(app))[0])


@pytest.mark.parametrize("protocol", ["ollama", "openai"])
@pytest.mark.parametrize("fault", FAULTS)
async def test_store_raw_stores_the_text_and_lists_it_for_reprocessing(zapomni, server, fault, protocol):
    fail(server, fault)
    async with zapomni("store_raw", protocol) as app:
        result, record = await add(app)
        assert not result["isError"]
        assert (record["status"], record["raw_stored"], record["reprocess_available"]) == ("degraded", True, True)
        assert record["entities_extracted"] == 0
        assert (record["error_code"], bool(record["suggestion"])) == (FAULTS[fault][1], True)
        assert "Entities not extracted" in text_of(result)
        assert record["suggestion"] in text_of(result)
        assert KEY not in str(result)
        assert await found(app) == [record["memory_id"]]
        assert await entities(app) == 0
        assert await app.app.engine.graph.unread("default", "llm", 10) == ([record["memory_id"]], 1)


@pytest.mark.parametrize("protocol", ["ollama", "openai"])
@pytest.mark.parametrize("fault", FAULTS)
async def test_queue_retry_stores_the_text_and_queues_a_job(zapomni, server, fault, protocol):
    fail(server, fault)
    async with zapomni("queue_retry", protocol) as app:
        result, record = await add(app)
        assert not result["isError"]
        assert (record["status"], record["raw_stored"]) == ("queued", True)
        assert (record["error_code"], bool(record["suggestion"])) == (FAULTS[fault][1], True)
        assert f"Job {record['job_id']} does it" in text_of(result)
        assert await found(app) == [record["memory_id"]]
        assert await entities(app) == 0
        job = (await app.call("get_job", {"job_id": record["job_id"]}))["structuredContent"]
        assert job["episode_id"] == record["memory_id"]
        assert job["state"] in ("queued", "running"), "not done, though a worker may be at it again"


@pytest.mark.parametrize("mode", ["fail", "store_raw"])
async def test_entities_that_are_not_in_the_text_are_counted(zapomni, server, mode):
    invented = [{"name": name, "type": "person", "quote": name} for name in ("Zaphod", "Trillian")]
    server.always(answer({"entities": invented, "relations": []}))
    async with zapomni(mode) as app:
        result, record = await add(app)
    assert (record["status"], record["entities_extracted"]) == ("success", 0)
    told = "Extracted: 0 entities, 0 relations (2 more that the model named were left out: the text does not show them)"
    assert told in text_of(result)
    assert told in record["message"]


async def test_a_rate_limit_is_reported_with_its_seconds(zapomni, server):
    server.always(refuse(429, retry_after="7"))
    async with zapomni("fail") as app:
        _, record = await add(app)
    assert record["message"] == "LLM rate limit exceeded. Retry in 7 seconds. Nothing was stored."
    assert record["retry_after_seconds"] == 7


async def test_memories_stored_raw_can_be_reprocessed(zapomni, server):
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


@pytest.mark.parametrize(
    ("metadata", "day"), [({}, datetime.now(UTC)), ({"timestamp": "2023-05-08"}, datetime(2023, 5, 8, tzinfo=UTC))]
)
async def test_the_prompt_has_the_date_of_the_memory(zapomni, server, metadata, day):
    server.then(refuse(500))
    async with zapomni("store_raw") as app:
        await add(app, metadata=metadata)
        await app.call("reprocess_memories")
        await asyncio.to_thread(server.wait_for, 2)
    days = [f"The note was written on {one:%Y-%m-%d}" for one in (day, day + timedelta(days=1))]  # midnight may be near
    assert [any(one in request.prompt for one in days) for request in server.requests] == [True, True]


async def test_without_waiting_a_job_extracts_the_memory(zapomni):
    async with zapomni("fail") as app:
        _, record = await add(app, wait_for_completion=False)
        assert (record["status"], record["raw_stored"]) == ("queued", True)
        assert await found(app) == [record["memory_id"]]

        async def is_read():
            return await entities(app) == 2

        await until(is_read)


async def test_a_memory_of_one_workspace_is_not_sent_to_the_model_of_another(zapomni, server):
    server.always(refuse(401))
    async with zapomni("queue_retry", settings={"workspace": "alpha"}) as app:
        _, record = await add(app, "Ada is private to alpha.")
    server.always(answer(READ))
    before = server.count
    async with zapomni("queue_retry", settings={"workspace": "beta"}) as app:
        jobs = app.app.engine.jobs
        assert await jobs.retry("alpha") == 1  # due, and before any job of beta
        await add(app, wait_for_completion=False)

        async def is_done():
            return (await jobs.counts("beta")).done

        await until(is_done)
        assert (await jobs.get("alpha", record["job_id"])).state == "queued"
    assert [TEXT in request.prompt for request in server.requests[before:]] == [True]


async def test_a_job_of_a_deleted_memory_extracts_nothing(zapomni, server):
    server.always(refuse(401))
    async with zapomni("queue_retry") as app:
        _, record = await add(app)
        await app.call("delete_memory", {"memory_id": record["memory_id"]})
        asked = server.count
        await app.app.engine.jobs.retry("default")
        app.app.engine.look_for_jobs()

        async def is_skipped():
            job = await app.call("get_job", {"job_id": record["job_id"]})
            told = (
                f"Job {record['job_id']} (extract:quick) is done; nothing was done: the memory is not there any more."
            )
            return text_of(job) == told

        await until(is_skipped)
        assert server.count == asked


@pytest.mark.parametrize("hidden", ["deleted", "replaced"])
async def test_deleted_and_replaced_memories_are_not_reprocessed(zapomni, server, hidden):
    server.always(refuse(500))
    async with zapomni("store_raw") as app:
        memory_id = (await add(app))[1]["memory_id"]
        if hidden == "deleted":
            await app.call("delete_memory", {"memory_id": memory_id})
        else:
            await add(app, "Ada Lovelace works nowhere.", replaces=memory_id)
        refused = await app.call("reprocess_memories", {"memory_ids": [memory_id]})
        assert refused["structuredContent"]["error_code"] == "MEMORY_NOT_FOUND"
        assert f"memory {memory_id} is {hidden}" in text_of(refused)
        assert await app.app.engine.jobs.list("default", kind="extract:quick") == []


async def test_only_the_given_memories_are_reprocessed(zapomni, server):
    server.always(refuse(500))
    async with zapomni("store_raw") as app:
        ids = [(await add(app, f"{TEXT} Number {number}."))[1]["memory_id"] for number in range(3)]
        listed = (await app.call("reprocess_memories", {"memory_ids": ids[1:2], "list_only": True}))[
            "structuredContent"
        ]
        assert [one["memory_id"] for one in listed["memories"]] == ids[1:2]
        assert listed["count"] == 1
        nobody = await app.call("reprocess_memories", {"memory_ids": []})
        assert text_of(nobody).splitlines()[0] == "Error: memory_ids must have at least 1 item"


async def test_memories_with_a_queued_job_are_not_queued_again(zapomni, server):
    async with zapomni("store_raw") as app:
        read = (await add(app))[1]["memory_id"]
        server.always(refuse(401))
        for number in range(5):
            await add(app, f"{TEXT} Number {number}.")
        await app.call("reprocess_memories", {"memory_ids": [read]})
        record = (await app.call("reprocess_memories", {"limit": 1}))["structuredContent"]
        assert (record["waiting"], record["left"]) == (1, 4)


async def test_a_job_stays_valid_when_its_memory_is_added_again(zapomni, server):
    server.always(refuse(429, retry_after="60"))
    async with zapomni("queue_retry") as app:
        _, receipt = await add(app)
        server.always(answer(READ))
    async with zapomni("queue_retry") as app:
        _, again = await add(app)
        assert (again["status"], again["entities_extracted"]) == ("success", 2)

        async def is_done():
            job = (await app.call("get_job", {"job_id": receipt["job_id"]}))["structuredContent"]
            return job["state"] == "done" and job["result"] == {"entities_extracted": 2, "relationships_extracted": 1}

        await until(is_done)


async def test_jobs_wait_without_attempts_while_the_model_is_away(zapomni, server):
    server.always(refuse(503))
    async with zapomni("store_raw") as app:
        await add(app)
        asked = (await app.call("reprocess_memories"))["structuredContent"]

        async def is_postponed():
            job = (await app.call("get_job", {"job_id": asked["job_id"]}))["structuredContent"]
            return (job["state"], job["attempts"], "last_error" in job) == ("queued", 0, True)

        await until(is_postponed)
    assert server.count >= 2


async def test_a_connection_that_breaks_during_the_reply_is_an_unavailable_model(zapomni, server):
    server.always(stall())
    async with zapomni("fail", total_seconds=60) as app:
        adding = asyncio.create_task(add(app))
        await asyncio.to_thread(server.wait_for, 1)
        server.down()
        result, record = await adding
        assert result["isError"]
        assert record["error_code"] == "NETWORK"
        assert await found(app) == []


async def cancelled(app, server):
    """Cancel a call while the model works on it."""
    server.always(stall())
    adding = asyncio.create_task(add(app))
    await asyncio.to_thread(server.wait_for, 1)
    adding.cancel()
    with pytest.raises(asyncio.CancelledError):
        await adding


async def test_fail_stores_nothing_of_a_cancelled_call(zapomni, server):
    async with zapomni("fail", total_seconds=60) as app:
        await cancelled(app, server)
        assert await found(app) == []
        assert (await app.app.engine.jobs.counts("default")).queued == 0


async def test_store_raw_keeps_the_memory_of_a_cancelled_call(zapomni, server):
    async with zapomni("store_raw", total_seconds=60) as app:
        await cancelled(app, server)
        [memory_id] = await found(app)
        assert await app.app.engine.graph.unread("default", "llm", 10) == ([memory_id], 1)


async def test_queue_retry_keeps_and_extracts_the_memory_of_a_cancelled_call(zapomni, server):
    async with zapomni("queue_retry", total_seconds=60) as app:
        await cancelled(app, server)
        assert len(await found(app)) == 1
        server.always(answer(READ))
        assert await app.app.engine.jobs.retry("default") == 1
        app.app.engine.look_for_jobs()

        async def is_read():
            return await entities(app) == 2

        await until(is_read)


@pytest.mark.parametrize("mode", ["store_raw", "queue_retry"])
async def test_the_memory_is_stored_before_the_model_is_called(zapomni, server, mode):
    server.always(stall(answer(READ)))
    async with zapomni(mode, total_seconds=60) as app:
        adding = asyncio.create_task(add(app))
        await asyncio.to_thread(server.wait_for, 1)
        [memory_id] = await found(app)
        server.release()
        _, record = await adding
        assert (record["status"], record["memory_id"], record["entities_extracted"]) == ("success", memory_id, 2)
        assert await app.app.engine.jobs.list("default", kind="extract:quick") == []
    assert server.count == 1


@pytest.mark.parametrize(("mode", "status"), [("store_raw", "degraded"), ("queue_retry", "queued")])
async def test_a_slow_model_is_waited_for_only_up_to_the_limit(zapomni, server, mode, status):
    server.always(stall())
    async with zapomni(mode, total_seconds=600, settings={"llm": {"wait_seconds": 0.2}}) as app:
        _, record = await add(app)
        assert record["status"] == status
        assert "LLM did not answer in time" in record["message"]
        assert len(await found(app)) == 1


@pytest.mark.parametrize("mode", ["store_raw", "queue_retry"])
async def test_a_long_retry_after_is_not_waited_for(zapomni, server, mode):
    server.always(refuse(429, retry_after="3000"))
    async with zapomni(mode, retries=2, total_seconds=6000) as app:
        _, record = await add(app)
        assert record["error_code"] == "RATE_LIMIT"
        jobs = await app.app.engine.jobs.list("default")
        in_time = [job.not_before - job.created_at > timedelta(seconds=2900) for job in jobs]
        assert in_time == ([] if mode == "store_raw" else [True])
    assert server.count == 1


@pytest.mark.parametrize("waits", [True, False])
@pytest.mark.parametrize("mode", ["fail", "store_raw", "queue_retry"])
async def test_an_extracted_memory_is_not_extracted_again_when_added_again(zapomni, server, mode, waits):
    async with zapomni(mode) as app:
        _, first = await add(app)
        server.down()
        result, again = await add(app, wait_for_completion=waits)
        assert not result["isError"]
        assert (again["status"], again["outcome"], again["memory_id"]) == ("success", "existing", first["memory_id"])
        assert (again["entities_extracted"], again["relationships_extracted"]) == (2, 1)
        await app.call("delete_memory", {"memory_id": first["memory_id"]})
        assert (await add(app))[1]["outcome"] == "restored"
    assert server.count == 1


async def test_a_raw_memory_is_extracted_when_added_again(zapomni, server):
    server.then(refuse(500))
    async with zapomni("store_raw") as app:
        assert (await add(app))[1]["status"] == "degraded"
        _, again = await add(app)
        assert (again["status"], again["outcome"], again["entities_extracted"]) == ("success", "existing", 2)


async def test_the_next_process_runs_waiting_jobs_at_once(zapomni, server):
    server.always(refuse(429, retry_after="3000"))
    async with zapomni("queue_retry") as app:
        _, record = await add(app)
    server.always(answer(READ))
    async with zapomni("queue_retry") as app:
        assert await found(app) == [record["memory_id"]]  # the worker begins with the first use

        async def is_read():
            return await entities(app) == 2

        await until(is_read)


async def test_a_server_without_a_model_leaves_extraction_jobs_alone(zapomni, server, tmp_path):
    server.always(refuse(500))
    async with zapomni("queue_retry") as app:
        _, record = await add(app)
    store = {"store": f"sqlite://{tmp_path}/memory.db", "embedder": "hashing", "extractor": "plain"}
    async with running(tools, Quick(None, None), Plain(), settings=store) as app:
        engine = app.app.engine
        await engine.jobs.retry("default")
        [own] = (await engine.reprocess()).jobs
        assert own.kind == "extract:plain"

        async def own_is_done():
            return (await engine.get_job(own.id)).state == "done"

        await until(own_is_done)
        left = await engine.get_job(record["job_id"])
        assert (left.kind, left.state, left.attempts) == ("extract:quick", "queued", 0)


@pytest.mark.parametrize(("mode", "status"), [("store_raw", "degraded"), ("queue_retry", "queued")])
async def test_a_broken_extractor_does_not_lose_the_memory(tmp_path, mode, status):
    class Broken:
        name = "broken"

        async def extract(self, text, *, timestamp=None):
            raise ProcessingError(f"cannot read {text} {timestamp}")

        async def close(self):
            pass

    settings = Settings(store=f"sqlite://{tmp_path}/memory.db", on_llm_unavailable=mode)
    engine = MemoryEngine(settings, embedder=HashingEmbedder(), extractor=Broken())
    try:
        result = await engine.add_memory(TEXT)
        assert (result.status, result.failure) == (status, None)
        assert (await engine.get_memory(result.memory_id)).text == TEXT
    finally:
        await engine.close()


async def test_the_breaker_opens_after_failed_calls_and_then_makes_none(zapomni, server):
    server.always(refuse(500))
    async with zapomni("fail", open_after_failures=3, open_seconds=600) as app:
        failed = [(await add(app))[1]["error_code"] for _ in range(3)]
        refused = [(await add(app))[1]["error_code"] for _ in range(3)]
        state = app.app.engine.llm_state
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
        assert app.app.engine.llm_state["state"] == "closed"


def advertised(app):
    """The arguments of add_memory in the list of tools."""
    return app.app.registry.get("add_memory").input_schema["properties"]


@pytest.mark.parametrize("waits", [True, False, None])
async def test_without_a_model_wait_for_completion_is_accepted_but_not_listed(tmp_path, waits):
    settings = {"store": f"sqlite://{tmp_path}/memory.db", "embedder": "hashing"}
    async with running(tools, Quick(None, None), settings=settings) as app:
        assert "reprocess_memories" not in app.tools
        assert "get_job" not in app.tools
        assert "wait_for_completion" not in advertised(app)
        _, record = await add(app, wait_for_completion=waits)
        assert (record["status"], record["message"]) == ("success", "Memory stored successfully.")
        wrong, told = await add(app, wait_for_completion="no")
        assert (wrong["isError"], told["error_code"]) == (True, "INVALID_ARGUMENTS")
        unknown, _ = await add(app, wait_for_complation=True)
        assert unknown["isError"]


async def test_with_a_model_wait_for_completion_is_listed(zapomni):
    async with zapomni("fail") as app:
        assert "wait_for_completion" in advertised(app)


@pytest.mark.parametrize("open_after", [1, 5], ids=["paused", "failing"])
async def test_fail_stores_nothing_without_waiting_while_the_breaker_is_open(zapomni, server, open_after):
    server.always(refuse(500))
    async with zapomni("fail", open_after_failures=open_after) as app:
        await add(app, "Another text.")
        result, record = await add(app, wait_for_completion=False)
        assert (result["isError"], record["status"], record["error_type"]) == (True, "error", "llm_unavailable")
        assert record["suggestion"]
        assert record["retry_after_seconds"]
        assert (await app.call("get_stats"))["structuredContent"]["statistics"]["total_memories"] == 0
        assert await app.app.engine.jobs.list("default") == []


async def test_fail_without_waiting_uses_a_model_that_is_back(zapomni, server):
    server.then(refuse(500))
    async with zapomni("fail") as app:
        assert (await add(app))[1]["status"] == "error"
        assert (await add(app, wait_for_completion=False))[1]["status"] == "success"
        assert (await add(app, "Another text.", wait_for_completion=False))[1]["status"] == "queued"


async def test_fail_stores_nothing_without_waiting_if_the_key_is_missing(tmp_path):
    settings = {
        "store": f"sqlite://{tmp_path}/memory.db",
        "extractor": "llm",
        "llm": {"provider": "openai", "model": "any"},
    }
    async with running(tools, settings=settings) as app:
        _, record = await add(app, wait_for_completion=False)
        assert (record["status"], record["error_code"]) == ("error", "INVALID_API_KEY")
        assert (await app.call("get_stats"))["structuredContent"]["statistics"]["total_memories"] == 0


class FirstWords:
    """An extractor that returns the first two words as entities."""

    name = "plain"

    async def extract(self, text, *, timestamp=None):
        first, second = text.split()[:2]
        place = text.index(second, len(first))
        spans = {first: (0, len(first)), second: (place, place + len(second))}
        entities = tuple(NewEntity(name=name, type="name", spans=(span,)) for name, span in spans.items())
        return Extraction(extractor=self.name, entities=entities)

    async def close(self):
        """There is nothing to close."""


class Plain:
    """A plugin whose extractor needs no language model."""

    @hookimpl
    def zapomni_providers(self):
        return [Provider(kind="extractor", name="plain", factory=lambda _: FirstWords(), asks_llm=False)]


async def test_an_extractor_that_needs_no_model_is_not_waited_for(tmp_path):
    settings = {"store": f"sqlite://{tmp_path}/memory.db", "extractor": "plain", "on_llm_unavailable": "queue_retry"}
    async with running(tools, Quick(None, None), Plain(), settings=settings | {"embedder": "hashing"}) as app:
        assert {"get_job", "reprocess_memories"}.isdisjoint(app.tools)
        assert app.app.engine.llm_available is None
        _, record = await add(app)
        assert (record["status"], record["entities_extracted"]) == ("success", 2)
        _, again = await add(app, wait_for_completion=False)
        assert (again["status"], again["outcome"]) == ("success", "existing")


async def test_statistics_say_whether_the_model_has_answered(zapomni, server):
    async with zapomni("store_raw", open_after_failures=1, open_seconds=600) as app:
        assert "any by ollama, not asked yet" in text_of(await app.call("get_stats"))
        await add(app)
        assert "any by ollama, answers" in text_of(await app.call("get_stats"))
        assert app.app.engine.llm_available
        server.always(refuse(500))
        await add(app, "Another text.")
        shown = await app.call("get_stats")
        assert "any by ollama, is not asked: LLM calls are paused for" in text_of(shown)
        assert not app.app.engine.llm_available
    assert shown["structuredContent"]["statistics"]["llm"] in text_of(shown)


async def test_statistics_work_without_a_configured_model(tmp_path):
    settings = {"store": f"sqlite://{tmp_path}/memory.db", "extractor": "llm"}
    async with running(tools, settings=settings) as app:
        shown = await app.call("get_stats")
        assert not shown["isError"]
        assert "Language model: cannot be asked: llm.provider is not set" in text_of(shown)


async def test_raw_memories_are_counted_and_listed(zapomni, server):
    server.always(refuse(401))
    async with zapomni("store_raw") as app:
        texts = [f"{TEXT} Number {number}." for number in range(3)]
        ids = [(await add(app, text))[1]["memory_id"] for text in texts]
        shown = await app.call("get_stats")
        assert shown["structuredContent"]["statistics"]["unread_memories"] == 3
        assert "Not read for entities: 3 memories" in text_of(shown)
        listed = await app.call("reprocess_memories", {"list_only": True, "limit": 2})
        record = listed["structuredContent"]
        assert (record["status"], record["count"]) == ("success", 3)
        assert [one["memory_id"] for one in record["memories"]] == ids[:2]
        assert texts[0] in text_of(listed)
        assert (await app.app.engine.jobs.counts("default")).queued == 0


async def test_each_call_queues_more_until_all_are_queued(zapomni, server):
    server.always(refuse(401))
    async with zapomni("store_raw") as app:
        for number in range(3):
            await add(app, f"{TEXT} Number {number}.")

        async def reprocess(**arguments):
            record = (await app.call("reprocess_memories", arguments))["structuredContent"]
            return len(record["job_ids"]), record["waiting"], record["left"], record["message"]

        assert await reprocess(limit=1) == (
            *(1, 0, 2),
            "Queued 1 memory for entity extraction; 2 more are left for another call.",
        )
        assert (await reprocess(limit=1))[:3] == (1, 1, 1)
        assert (await reprocess(limit=1, memory_ids=None))[:3] == (1, 2, 0)
        assert await reprocess(limit=1) == (0, 3, 0, "Nothing new to queue; already queued: 3 memories.")
        assert len(await app.app.engine.jobs.list("default", kind="extract:quick")) == 3
