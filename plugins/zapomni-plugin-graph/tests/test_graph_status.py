from datetime import UTC, datetime, timedelta

from zapomni_plugin_graph.job import build_job

from zapomni_core import Settings
from zapomni_core.plugin import MemoryEngine
from zapomni_core.testing import text_of


async def ask(app):
    answer = await app.call("graph_status")
    return text_of(answer), answer["structuredContent"]


async def test_the_status_of_an_empty_store_suggests_adding_memories(graph_app):
    async with graph_app() as app:
        text, record = await ask(app)
    assert (record["entities"], record["facts"], record["memories_unread"]) == (0, 0, 0)
    assert "job" not in record
    assert "Next: add memories" in text


async def test_memories_that_are_not_extracted_yet_are_counted(graph_app, remember):
    async with graph_app() as app:
        await remember("Ada Lovelace works at Acme.", "Grace Hopper lives in London.")
        text, record = await ask(app)
    assert (record["memories_read"], record["memories_unread"], record["extractor"]) == (0, 2, "names")
    assert "Next: build_graph" in text


async def test_the_status_of_a_complete_graph_suggests_nothing_to_do(graph_app, remember):
    async with graph_app(extractor="pairs") as app:
        _, newer = await remember("Ada works at Acme.", "Since 2021 Ada works at Initech.")
        await app.call("build_graph")
        facts = [
            {"subject": "Ada", "relation": "works_at", "object": "Acme", "until": "2021"},
            {"subject": "Ada", "relation": "works_at", "object": "Initech", "since": "2021"},
        ]
        await app.call("add_facts", {"memory_id": newer, "facts": facts})
        text, record = await ask(app)
    assert (record["entities"], record["facts"], record["ended"], record["together"]) == (4, 1, 1, 4)
    assert (record["memories_read"], record["memories_unread"]) == (2, 0)
    assert text.splitlines()[0] == (
        "The graph has 4 entities, 1 current fact (1 ended) and 4 co-mentions; "
        "extractor 'pairs' has read 2 of 2 memories."
    )
    assert text.splitlines()[1].startswith("Next: nothing to do")


async def test_a_running_job_is_shown_with_its_progress(graph_app, remember, parts, until):
    parts.extractor.may_go_on.clear()
    parts.extractor.free = 1
    async with graph_app(wait_seconds=0, extractor="paced") as app:
        await remember("Ada", "Grace")
        job_id = (await app.call("build_graph"))["structuredContent"]["job_id"]

        async def half():
            text, record = await ask(app)
            return (text, record) if record["job"].get("progress") else None

        text, record = await until(half)
    assert (record["job"]["job_id"], record["job"]["state"], record["job"]["progress"]) == (job_id, "running", 0.5)
    assert f"Job {job_id} is running; 50% done; read 1 of 2 memories." in text
    assert "Next: wait" in text


async def test_a_failed_job_is_shown_until_another_one_succeeds(graph_app, store, remember):
    engine = MemoryEngine(Settings(store=store))
    [job] = await engine.jobs.enqueue("default", [build_job(engine)])
    claimed = await engine.jobs.claim(engine.workspace, ["build_graph:names"], "test", 60)
    await engine.jobs.fail(claimed.id, "test", "StoreFullError: no room in /home/ada", None)
    await engine.close()
    async with graph_app() as app:
        await remember("Ada Lovelace works at Acme.")
        text, record = await ask(app)
        assert record["job"]["state"] == "failed"
        assert f"Job {job.id} is failed; last error: StoreFullError; get_job tells more." in text
        assert "/home" not in text
        assert "Next: build_graph" in text
        await app.call("build_graph")
        assert "job" not in (await ask(app))[1]


async def test_a_retried_job_is_shown_with_its_last_error(graph_app, store, remember):
    async with graph_app(wait_seconds=25, extractor="nobody") as app:
        await remember("Ada Lovelace works at Acme.")
        answer = await app.call("build_graph")
        text, record = await ask(app)
    assert answer["structuredContent"]["status"] == "queued"
    assert "tried again" in text_of(answer)
    assert record["job"]["state"] in ("queued", "running")
    assert "ConfigurationError" in text or record["job"]["state"] == "running"


async def test_a_waiting_job_is_shown_with_the_reason(graph_app, store, remember):
    engine = MemoryEngine(Settings(store=store))
    [job] = await engine.jobs.enqueue("default", [build_job(engine)])
    await engine.jobs.claim(engine.workspace, ["build_graph:names"], "test", 60)
    later = datetime.now(UTC) + timedelta(hours=1)
    await engine.jobs.release(job.id, "test", later, "LLM API key is invalid. Check your OPENAI_API_KEY.")
    await engine.close()
    async with graph_app() as app:
        await remember("Ada Lovelace works at Acme.")
        text, _ = await ask(app)
    assert f"Job {job.id} is queued; LLM API key is invalid. Check your OPENAI_API_KEY." in text
    assert "Next: remove what the job waits for" in text
