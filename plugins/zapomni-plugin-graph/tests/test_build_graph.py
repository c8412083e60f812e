import pytest
from zapomni_plugin_graph.job import build_job

from zapomni_core import Settings
from zapomni_core.plugin import MemoryEngine
from zapomni_core.testing import text_of

TEXTS = ("Ada Lovelace works at Acme.", "Grace Hopper lives in London.", "Initech uses PostgreSQL.")


async def status(app):
    return (await app.call("graph_status"))["structuredContent"]


async def build(app, **arguments):
    return (await app.call("build_graph", arguments))["structuredContent"]


async def test_names_are_extracted_offline(graph_app, remember):
    async with graph_app() as app:
        await remember(
            "We met Ada Lovelace at Acme.", "Today Grace Hopper is in London.", "See src/loading.py and ABC-123."
        )
        answer = await app.call("build_graph")
    record = answer["structuredContent"]
    assert (record["status"], record["memories_read"], record["memories_unread"]) == ("success", 3, 0)
    assert (record["extractor"], record["entities"], record["facts"]) == ("names", 6, 0)
    assert text_of(answer) == ("Read 3 memories. The graph has 6 entities, 0 current facts and 3 co-mentions.")


async def test_stated_facts_survive_a_rebuild(graph_app, remember):
    async with graph_app() as app:
        [memory_id, *_] = await remember(*TEXTS)
        fact = {"subject": "Ada Lovelace", "relation": "works_at", "object": "Acme"}
        await app.call("add_facts", {"memory_id": memory_id, "facts": [fact]})
        await build(app)
        assert (await build(app, rebuild=True))["facts"] == 1
        assert (await build(app, memory_ids=[memory_id]))["facts"] == 1


async def test_only_new_memories_are_extracted(graph_app, remember, parts):
    async with graph_app(extractor="paced") as app:
        await remember("Ada", "Grace")
        assert (await build(app))["memories_read"] == 2
        await remember("Alan")
        assert (await build(app))["memories_read"] == 1
        assert (await build(app))["memories_read"] == 0
    assert sorted(parts.extractor.read) == ["Ada", "Alan", "Grace"]


async def test_a_rebuild_extracts_all_memories_again_with_the_same_result(graph_app, remember):
    async with graph_app() as app:
        await remember(*TEXTS)
        first, again = await build(app), await build(app, rebuild=True)
    assert again["memories_read"] == 3
    assert [again[key] for key in ("entities", "facts")] == [first[key] for key in ("entities", "facts")]


async def test_only_selected_memories_are_extracted_again(graph_app, remember, parts):
    async with graph_app(extractor="paced") as app:
        _, grace, _ = await remember("Ada", "Grace", "Alan")
        record = await build(app, memory_ids=[grace, grace])
        assert (record["memories_read"], record["memories_unread"]) == (1, 2)
        assert "2 memories; call build_graph" in record["message"]
        assert (await build(app, memory_ids=[grace]))["memories_read"] == 1
    assert parts.extractor.read == ["Grace", "Grace"]


async def test_a_memory_without_a_timestamp_is_extracted_with_its_creation_time(graph_app, remember, parts):
    async with graph_app(extractor="paced") as app:
        [ada] = await remember("Ada")
        await build(app)
        memory = await app.app.engine.get_memory(ada)
    assert memory.timestamp is None
    assert parts.extractor.moments == [memory.created_at]


async def test_null_memory_ids_select_all_memories(graph_app, remember):
    async with graph_app() as app:
        await remember(*TEXTS)
        assert (await build(app, memory_ids=None))["memories_read"] == 3


async def test_an_unknown_memory_is_named(graph_app):
    async with graph_app() as app:
        record = await build(app, memory_ids=["nowhere"])
    assert (record["status"], record["error_type"], record["error_code"]) == ("error", "not_found", "MEMORY_NOT_FOUND")
    assert "nowhere" in record["message"]


async def test_a_deleted_memory_is_not_extracted(graph_app, remember):
    async with graph_app() as app:
        kept, deleted = await remember("Ada Lovelace works at Acme.", "Grace Hopper lives in London.")
        await app.app.engine.delete_memory(deleted)
        refused = await build(app, memory_ids=[kept, deleted])
        assert refused["error_type"] == "not_found"
        assert deleted in refused["message"]
        assert "deleted" in refused["message"]
        assert (await build(app))["memories_read"] == 1


async def test_a_replaced_memory_is_not_extracted(graph_app, remember):
    async with graph_app() as app:
        [old] = await remember("Ada Lovelace works at Acme.")
        new = await app.app.engine.add_memory("Ada Lovelace works at Initech.", replaces=old)
        refused = await build(app, memory_ids=[old])
        assert refused["error_type"] == "not_found"
        assert new.memory_id in refused["message"]
        assert (await build(app))["memories_read"] == 1


async def test_an_empty_store_makes_an_empty_graph(graph_app):
    async with graph_app() as app:
        record = await build(app)
    assert (record["status"], record["memories_read"], record["entities"]) == ("success", 0, 0)


async def test_a_long_build_continues_in_the_background(graph_app, remember, parts, until):
    parts.extractor.may_go_on.clear()
    async with graph_app(wait_seconds=0, extractor="paced") as app:
        await remember("Ada", "Grace")
        answer = await app.call("build_graph")
        record = answer["structuredContent"]
        assert record["status"] == "queued"
        assert f"Job: {record['job_id']}" in text_of(answer)

        async def runs():
            return (await status(app))["job"]["state"] == "running"

        await until(runs)
        parts.extractor.may_go_on.set()

        async def is_done():
            return (await status(app))["memories_unread"] == 0

        await until(is_done)
        assert (await app.app.engine.get_job(record["job_id"])).kind == "build_graph:paced"


async def test_an_identical_request_during_a_build_returns_the_same_job(graph_app, remember, parts):
    parts.extractor.may_go_on.clear()
    async with graph_app(wait_seconds=0, extractor="paced") as app:
        [ada] = await remember("Ada")
        first, second = await build(app), await build(app)
        rebuild, selected = await build(app, rebuild=True), await build(app, memory_ids=[ada])
    assert first["job_id"] == second["job_id"]
    assert len({first["job_id"], rebuild["job_id"], selected["job_id"]}) == 3


async def test_a_build_covers_its_own_workspace_only(graph_app, remember):
    async with graph_app() as app:
        await remember("Ada Lovelace works at Acme.")
        await app.app.engine.in_workspace("other").add_memory("Grace Hopper lives in London.")
        record = await build(app)
    assert (record["memories_read"], record["entities"]) == (1, 2)


async def test_progress_is_sent_to_the_client(graph_app, remember, parts):
    received = []

    async def receive(done, total, message):
        received.append((done, total, message))
        parts.extractor.may_go_on.set()

    parts.extractor.may_go_on.clear()
    parts.extractor.free = 5
    async with graph_app(extractor="paced") as app:
        await remember(*(f"Name{number}" for number in range(10)))
        answer = await app.app.dispatcher.call("build_graph", {}, on_progress=receive)
    assert answer["structuredContent"]["memories_read"] == 10
    assert [message for _, _, message in received if (message or "").endswith("of 10 memories")]
    assert all(0 < done <= total == 1 for done, total, _ in received)


async def test_a_memory_that_cannot_be_extracted_does_not_block_the_others(graph_app, remember):
    async with graph_app(extractor="paced") as app:
        await remember("Ada", "poison", "Grace")
        record = await build(app)
    assert (record["status"], record["memories_read"], record["memories_unread"]) == ("degraded", 2, 1)
    assert record["message"].startswith("Read 2 memories. 1 memory could not be read")


async def test_a_job_that_failed_permanently_is_reported_as_an_error(graph_app, store):
    engine = MemoryEngine(Settings(store=store))
    [job] = await engine.jobs.enqueue("default", [build_job(engine)])
    for number in range(8):  # as if its process had been killed each time
        assert await engine.jobs.claim(engine.workspace, ["build_graph:names"], f"worker {number}", lease_seconds=0)
    await engine.close()
    async with graph_app() as app:
        record = await build(app)
    assert (record["status"], record["error_code"], record["recoverable"]) == ("error", "BUILD_FAILED", True)
    assert job.id in record["message"]
    assert "ProcessingError" in record["message"]


@pytest.mark.parametrize("selected", [False, True], ids=["all", "selected"])
async def test_a_postponed_rebuild_continues_where_it_stopped(graph_app, remember, parts, until, selected):
    names = [f"Name{number}" for number in range(8)]
    async with graph_app(extractor="paced") as app:
        memory_ids = await remember(*names)
        await build(app)
        parts.extractor.read.clear()
        parts.extractor.most = 5
        record = await build(app, **({"memory_ids": memory_ids} if selected else {"rebuild": True}))
        assert record["status"] == "queued"
        parts.extractor.most = None

        async def result():
            return (await app.app.engine.get_job(record["job_id"])).result

        assert (await until(result))["read"] == 8
    assert sorted(parts.extractor.read) == names


async def test_a_restarted_server_continues_the_job_where_it_stopped(graph_app, remember, parts, until):
    parts.extractor.may_go_on.clear()
    parts.extractor.free = 5
    async with graph_app(wait_seconds=0, extractor="paced") as app:
        await remember(*(f"Name{number}" for number in range(8)))
        await build(app)

        async def half_is_read():
            return (await status(app))["memories_read"] == 5

        await until(half_is_read)
    before = list(parts.extractor.read)
    parts.extractor.may_go_on.set()
    async with graph_app(extractor="paced") as app:

        async def is_done():
            return (await status(app))["memories_unread"] == 0

        await until(is_done)
    assert sorted(parts.extractor.read) == [f"Name{number}" for number in range(8)]
    assert len(before) == 5
