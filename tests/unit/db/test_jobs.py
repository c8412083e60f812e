"""Jobs in SQLite: cleanup of old jobs, clocks that are set back, and indexes."""

from contextlib import closing
from datetime import UTC, datetime, timedelta

import apsw
import pytest

from zapomni_core.testing.samples import WORKSPACE
from zapomni_db.errors import InvalidInputError
from zapomni_db.records import JobCounts, NewJob
from zapomni_db.sqlite import SQLiteStore


def execute(path, statement, *values):
    with closing(apsw.Connection(str(path))) as connection:
        return list(connection.execute(statement, values))


NOON = datetime(2026, 5, 8, 12, tzinfo=UTC)
FIVE_HOURS_AHEAD = NOON + timedelta(hours=5)


@pytest.fixture
def set_clock(monkeypatch):
    """Set the clock of the queue."""

    def to(moment):
        monkeypatch.setattr("zapomni_db.sqlite.jobs.now", lambda: int(moment.timestamp() * 1_000_000))

    return to


async def finish(store, count, lease=60):
    await store.jobs.enqueue("default", [NewJob(kind="read")] * count)
    for _ in range(count):
        job = await store.jobs.claim(WORKSPACE, ["read"], "me", lease)
        await store.jobs.finish(job.id, "me", {})


async def test_jobs_done_a_week_ago_are_removed_in_batches(store, path):
    await finish(store, 3)
    for number, age in ((1, timedelta(days=7)), (2, timedelta(days=7, minutes=-5))):
        microseconds = age // timedelta(microseconds=1)
        execute(path, "UPDATE job SET updated_at = updated_at - ? WHERE id = ?", microseconds, number)
    await finish(store, 1)
    assert [number for (number,) in execute(path, "SELECT id FROM job ORDER BY id")] == [2, 3, 4]


async def test_failed_jobs_are_never_removed_automatically(store, path):
    await store.jobs.enqueue("default", [NewJob(kind="read")])
    job = await store.jobs.claim(WORKSPACE, ["read"], "me", 60)
    await store.jobs.fail(job.id, "me", "no", None)
    execute(path, "UPDATE job SET updated_at = 0")
    await finish(store, 1)
    assert await store.jobs.counts("default") == JobCounts(done=1, failed=1)


async def test_polling_for_jobs_writes_nothing(store, path):
    await finish(store, 1)
    before = path.with_name("memory.db-wal").stat().st_mtime_ns
    for _ in range(3):
        assert await store.jobs.claim(WORKSPACE, ["read"], "me", 60) is None
        assert await store.jobs.next_due(WORKSPACE, ["read"]) is None
    assert path.with_name("memory.db-wal").stat().st_mtime_ns == before


async def test_a_clock_that_is_set_back_delays_no_job(store, set_clock):
    set_clock(FIVE_HOURS_AHEAD)
    kept = await store.jobs.enqueue("default", [NewJob(kind="read"), NewJob(kind="read")])
    set_clock(NOON)
    assert await store.jobs.next_due(WORKSPACE, ["read"]) == NOON
    claimed = [await store.jobs.claim(WORKSPACE, ["read"], "me", 60) for _ in kept]
    assert [job.id for job in claimed] == [job.id for job in kept]


async def test_a_delay_keeps_its_length_if_the_clock_is_set_back(store, set_clock):
    set_clock(FIVE_HOURS_AHEAD)
    later = NewJob(kind="read", not_before=FIVE_HOURS_AHEAD + timedelta(minutes=10))
    (job,) = await store.jobs.enqueue("default", [later])
    set_clock(NOON)
    assert await store.jobs.claim(WORKSPACE, ["read"], "me", 60) is None
    due = NOON + timedelta(minutes=10)
    assert await store.jobs.next_due(WORKSPACE, ["read"]) == due
    assert (await store.jobs.get("default", job.id)).not_before == due
    set_clock(due)
    assert (await store.jobs.claim(WORKSPACE, ["read"], "me", 60)).id == job.id


async def test_the_lease_of_a_worker_that_died_before_the_clock_was_set_back_ends(store, set_clock):
    set_clock(FIVE_HOURS_AHEAD)
    (job,) = await store.jobs.enqueue("default", [NewJob(kind="read")])
    await store.jobs.claim(WORKSPACE, ["read"], "dead", 60)
    set_clock(NOON)
    assert await store.jobs.claim(WORKSPACE, ["read"], "me", 60) is None
    set_clock(NOON + timedelta(seconds=60))
    assert (await store.jobs.claim(WORKSPACE, ["read"], "me", 60)).id == job.id


async def test_a_due_date_stays_when_the_clock_is_set_back(store, set_clock):
    set_clock(FIVE_HOURS_AHEAD)
    date = FIVE_HOURS_AHEAD + timedelta(hours=3)
    await store.jobs.enqueue("default", [NewJob(kind="read", not_before=date)])
    set_clock(NOON)
    assert await store.jobs.claim(WORKSPACE, ["read"], "me", 60) is None
    assert await store.jobs.next_due(WORKSPACE, ["read"]) == date


@pytest.mark.parametrize(
    ("statement", "index"),
    [
        (
            "SELECT due_at, id, updated_at FROM job WHERE workspace = 'a' AND kind = 'b' AND due_at IS NOT NULL ORDER BY due_at, id LIMIT 1",
            "job_due",
        ),
        (
            "SELECT uid FROM job WHERE workspace = 'a' AND kind = 'b' AND key = 'c' AND key != '' AND due_at IS NOT NULL",
            "job_key",
        ),
        ("SELECT state, count(*) FROM job WHERE workspace = 'a' GROUP BY state", "job_state"),
        ("SELECT id FROM job WHERE state = 'done' AND updated_at < 1 LIMIT 1", "job_done"),
    ],
    ids=["first", "key", "counts", "prune"],
)
async def test_frequent_queries_use_an_index(store, path, statement, index):
    await finish(store, 1)
    (plan,) = execute(path, f"EXPLAIN QUERY PLAN {statement}")
    assert f"INDEX {index}" in plan[-1]
    assert plan[-1].startswith("SEARCH")


async def test_a_backup_has_the_jobs_too(store, tmp_path):
    (job,) = await store.jobs.enqueue("default", [NewJob(kind="read")])
    await store.backup(tmp_path / "copy.db")
    copy = SQLiteStore(tmp_path / "copy.db")
    assert await copy.jobs.get("default", job.id) == job
    await copy.close()


async def test_a_workspace_must_be_a_string(store):
    nowhere = "\ud800"
    for attempt in (
        store.jobs.enqueue(nowhere, [NewJob(kind="read")]),
        store.jobs.schedule(nowhere, "any", NOON),
        store.jobs.list(nowhere),
        store.jobs.retry(nowhere),
        store.jobs.drop(nowhere, ["any"]),
        store.jobs.counts(nowhere),
    ):
        with pytest.raises(InvalidInputError, match="workspace"):
            await attempt
    assert await store.jobs.get(nowhere, "any") is None
