"""Jobs in the file: old ones are forgotten, and finding the next one does not get slower with their number."""

from contextlib import closing

import apsw
import pytest

from zapomni_core.testing.samples import EMBEDDER, sample_memory
from zapomni_db.records import JobCounts, NewJob
from zapomni_db.sqlite import SQLiteStore, schema
from zapomni_db.sqlite.queue import KEPT_MICROSECONDS


def execute(path, statement, *values):
    with closing(apsw.Connection(str(path))) as connection:
        return list(connection.execute(statement, values))


async def finish(store, count, lease=60):
    await store.jobs.enqueue("default", [NewJob(kind="read")] * count)
    for _ in range(count):
        job = await store.jobs.claim(["read"], "me", lease)
        await store.jobs.finish(job.id, "me", {})


async def test_jobs_that_were_done_a_week_ago_are_forgotten_bit_by_bit(store, path):
    await finish(store, 2)
    execute(path, "UPDATE job SET updated_at = updated_at - ? WHERE id = 1", KEPT_MICROSECONDS)
    await finish(store, 1)
    assert [number for (number,) in execute(path, "SELECT id FROM job ORDER BY id")] == [2, 3]


async def test_jobs_that_failed_are_never_forgotten_by_themselves(store, path):
    await store.jobs.enqueue("default", [NewJob(kind="read")])
    job = await store.jobs.claim(["read"], "me", 60)
    await store.jobs.fail(job.id, "me", "no", None)
    execute(path, "UPDATE job SET updated_at = 0")
    await finish(store, 1)
    assert await store.jobs.counts("default") == JobCounts(done=1, failed=1)


async def test_looking_for_jobs_writes_nothing(store, path):
    await finish(store, 1)
    before = path.with_name("memory.db-wal").stat().st_mtime_ns
    for _ in range(3):
        assert await store.jobs.claim(["read"], "me", 60) is None
        assert await store.jobs.next_due(["read"]) is None
    assert path.with_name("memory.db-wal").stat().st_mtime_ns == before


@pytest.mark.parametrize(
    ("statement", "index"),
    [
        ("SELECT due_at, id FROM job WHERE kind = 'a' AND due_at <= 1 ORDER BY due_at, id LIMIT 1", "job_due"),
        ("SELECT min(due_at) FROM job WHERE kind = 'a' AND due_at IS NOT NULL", "job_due"),
        (
            "SELECT uid FROM job WHERE workspace = 'a' AND kind = 'b' AND key = 'c' AND key != '' AND due_at IS NOT NULL",
            "job_key",
        ),
        ("SELECT state, count(*) FROM job WHERE workspace = 'a' GROUP BY state", "job_state"),
        ("SELECT id FROM job WHERE state = 'done' AND updated_at < 1 LIMIT 1", "job_done"),
    ],
    ids=["claim", "next_due", "key", "counts", "prune"],
)
async def test_what_is_asked_often_is_answered_by_an_index(store, path, statement, index):
    await finish(store, 1)
    (plan,) = execute(path, f"EXPLAIN QUERY PLAN {statement}")
    assert f"INDEX {index}" in plan[-1]
    assert plan[-1].startswith("SEARCH")


async def test_a_store_of_the_first_version_gets_room_for_jobs(path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(schema, "MIGRATIONS", schema.MIGRATIONS[:1])
        first = SQLiteStore(path)
        await first.stats("default")
        await first.close()
    store = SQLiteStore(path)
    added = await store.add("default", sample_memory("text", jobs=(NewJob(kind="read"),)), EMBEDDER)
    assert (await store.jobs.get("default", added.job_ids[0])).state == "queued"
    await store.close()


async def test_a_backup_has_the_jobs_too(store, tmp_path):
    (job,) = await store.jobs.enqueue("default", [NewJob(kind="read")])
    await store.backup(tmp_path / "copy.db")
    copy = SQLiteStore(tmp_path / "copy.db")
    assert await copy.jobs.get("default", job.id) == job
    await copy.close()
