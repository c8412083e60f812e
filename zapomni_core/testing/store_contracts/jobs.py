"""The contract of a queue as a test class, for stores that have one: `store.jobs`."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

import pytest

from zapomni_core.testing.samples import WORKSPACE, delete, problems, put, sample_memory
from zapomni_core.testing.store_contracts.store import StoreContract
from zapomni_db.errors import InvalidInputError, MemoryNotFoundError
from zapomni_db.records import Job, JobCounts, NewJob
from zapomni_db.store import JobStore, MemoryStore

KINDS = ["read"]
HOUR = timedelta(hours=1)
LONG = 3600.0
LONE_SURROGATE = "\ud800"


class QueueingStore(MemoryStore, Protocol):
    """A store with a queue."""

    @property
    def jobs(self) -> JobStore: ...


class JobStoreContract(StoreContract):
    """The contract of a store with a job queue.

    ```python
    class TestMyQueue(JobStoreContract):
        async def make_store(self, tmp_path):
            return MyStore(tmp_path / "store")
    ```
    """

    async def test_a_job_comes_back_as_it_was_kept(self, store: QueueingStore) -> None:
        payload = {"text": "Ünïcödé \0 数", "deep": [1, 2.5, None, {"a": True}]}
        (made,) = await store.jobs.enqueue(WORKSPACE, [NewJob(kind="read", payload=payload, key="k")])
        found = await kept(store, made.id)
        assert found == made
        assert (found.workspace, found.kind, found.key, found.payload) == (WORKSPACE, "read", "k", payload)
        assert (found.state, found.attempts, found.progress, found.error) == ("queued", 0, None, "")
        assert (found.message, found.result, found.postponed_since) == ("", None, None)
        assert datetime.now(UTC) - found.created_at < timedelta(minutes=10)

    async def test_what_was_kept_is_there_after_closing(self, store: QueueingStore, tmp_path: Path) -> None:
        made = await enqueue(store)
        await claimed(store)
        await store.close()
        again = await self.make_store(tmp_path)
        try:
            assert (await kept(again, made.id)).state == "running"
        finally:
            await again.close()

    @pytest.mark.parametrize(
        ("field", "job"),
        [
            ("payload", NewJob(kind="read", payload={"a": float("nan")})),
            ("payload", NewJob(kind="read", payload={"a": LONE_SURROGATE})),
            ("kind", NewJob(kind=LONE_SURROGATE)),
            ("key", NewJob(kind="read", key=LONE_SURROGATE)),
        ],
        ids=["number", "text", "kind", "key"],
    )
    async def test_what_cannot_be_kept_is_refused_and_none_of_the_jobs_is_kept(
        self, store: QueueingStore, field: str, job: NewJob
    ) -> None:
        with pytest.raises(InvalidInputError, match=field):
            await store.jobs.enqueue(WORKSPACE, [NewJob(kind="read"), job])
        assert await store.jobs.counts(WORKSPACE) == JobCounts()

    async def test_a_job_that_waits_can_be_put_off_and_says_what_for(self, store: QueueingStore) -> None:
        made = await enqueue(store)
        later = datetime.now(UTC) + HOUR
        assert await store.jobs.schedule(WORKSPACE, made.id, later, "the model is away")
        put_off = await kept(store, made.id)
        assert (put_off.state, put_off.attempts, put_off.error) == ("queued", 0, "the model is away")
        assert put_off.not_before == later
        assert put_off.postponed_since is not None
        assert await store.jobs.claim(WORKSPACE, KINDS, "me", LONG) is None
        assert await store.jobs.schedule(WORKSPACE, made.id, datetime.now(UTC) - HOUR)
        assert (await claimed(store)).id == made.id

    async def test_a_job_that_does_not_wait_cannot_be_put_off(self, store: QueueingStore) -> None:
        made = await enqueue(store)
        later = datetime.now(UTC) + HOUR
        assert not await store.jobs.schedule("elsewhere", made.id, later)
        assert not await store.jobs.schedule(WORKSPACE, LONE_SURROGATE, later)
        await claimed(store)
        assert not await store.jobs.schedule(WORKSPACE, made.id, later)
        assert await store.jobs.finish(made.id, "me", {})
        assert not await store.jobs.schedule(WORKSPACE, made.id, later)

    async def test_jobs_are_claimed_in_the_order_they_came_once_each(
        self, store: QueueingStore, other: QueueingStore
    ) -> None:
        made = await store.jobs.enqueue(WORKSPACE, [NewJob(kind="read", payload={"n": n}) for n in range(4)])
        claims = [await one.jobs.claim(WORKSPACE, KINDS, "me", LONG) for one in (store, other, store, other, store)]
        assert [job.id if job else None for job in claims] == [*(job.id for job in made), None]

    async def test_a_claimed_job_runs_and_counts_as_begun(self, store: QueueingStore, other: QueueingStore) -> None:
        made = await enqueue(store)
        job = await claimed(store)
        assert (job.id, job.state, job.attempts) == (made.id, "running", 1)
        assert await kept(other, made.id) == job

    async def test_many_who_claim_at_once_get_each_job_once(self, store: QueueingStore, other: QueueingStore) -> None:
        await store.jobs.enqueue(WORKSPACE, [NewJob(kind="read")] * 12)
        claiming = [one.jobs.claim(WORKSPACE, KINDS, f"worker {n}", LONG) for n in range(10) for one in (store, other)]
        got = [job.id for job in await asyncio.gather(*claiming) if job]
        assert len(got) == len(set(got)) == 12

    async def test_only_jobs_of_the_workspace_and_of_kinds_that_are_known_are_claimed(
        self, store: QueueingStore
    ) -> None:
        await store.jobs.enqueue("one", [NewJob(kind="strange")])
        made = [(await store.jobs.enqueue(where, [NewJob(kind="write")]))[0] for where in ("two", "one", "two")]
        claims = [await store.jobs.claim("two", ["read", "write"], "me", LONG) for _ in range(3)]
        assert [job.id if job else None for job in claims] == [made[0].id, made[2].id, None]
        assert await store.jobs.claim("one", [], "me", LONG) is None
        claimed = await store.jobs.claim("one", ["read", "write"], "me", LONG)
        assert claimed is not None
        assert (claimed.id, claimed.workspace) == (made[1].id, "one")

    async def test_a_worker_waits_for_jobs_of_its_workspace_only(self, store: QueueingStore) -> None:
        (made,) = await store.jobs.enqueue("one", [NewJob(kind="read")])
        assert await store.jobs.next_due("two", KINDS) is None
        assert await store.jobs.next_due("one", KINDS) == made.not_before

    async def test_a_lease_that_ended_is_taken_over_in_its_workspace_only(self, store: QueueingStore) -> None:
        (made,) = await store.jobs.enqueue("one", [NewJob(kind="read")])
        assert await store.jobs.claim("one", KINDS, "gone", 0)
        assert await store.jobs.claim("two", KINDS, "me", LONG) is None
        taken = await store.jobs.claim("one", KINDS, "me", LONG)
        assert taken is not None
        assert taken.id == made.id

    async def test_a_job_is_not_begun_before_its_time(self, store: QueueingStore) -> None:
        later = datetime.now(UTC) + HOUR
        await store.jobs.enqueue(WORKSPACE, [NewJob(kind="read", not_before=later)])
        assert await store.jobs.claim(WORKSPACE, KINDS, "me", LONG) is None
        await store.jobs.enqueue(WORKSPACE, [NewJob(kind="unknown")])
        assert await store.jobs.next_due(WORKSPACE, KINDS) == later
        assert await store.jobs.next_due(WORKSPACE, []) is None

    async def test_a_job_whose_lease_has_ended_is_anyones(self, store: QueueingStore, other: QueueingStore) -> None:
        made = await enqueue(store)
        await claimed(store, "slow", 0)
        again = await claimed(other, "quick")
        assert (again.id, again.attempts) == (made.id, 2)
        assert not await store.jobs.renew(made.id, "slow", LONG)
        assert not await store.jobs.finish(made.id, "slow", {})
        assert not await store.jobs.fail(made.id, "slow", "too late", None)
        assert not await store.jobs.release(made.id, "slow")
        assert await kept(store, made.id) == again

    async def test_a_lease_that_ended_can_be_renewed_while_nobody_took_the_job(self, store: QueueingStore) -> None:
        made = await enqueue(store)
        await claimed(store, "slow", 0)
        assert await store.jobs.renew(made.id, "slow", LONG)
        assert await store.jobs.claim(WORKSPACE, KINDS, "quick", LONG) is None
        assert await store.jobs.finish(made.id, "slow", {})

    async def test_progress_is_seen_until_the_next_attempt(self, store: QueueingStore, other: QueueingStore) -> None:
        made = await enqueue(store)
        await claimed(store)
        assert await store.jobs.renew(made.id, "me", LONG, 0.5, "half")
        assert await store.jobs.renew(made.id, "me", 0)
        seen = await kept(other, made.id)
        assert (seen.progress, seen.message) == (0.5, "half")
        again = await claimed(other)
        assert (again.progress, again.message) == (None, "")
        assert await other.jobs.renew(made.id, "me", LONG, 0.9, "nearly")
        assert await other.jobs.finish(made.id, "me", {})
        done = await kept(store, made.id)
        assert (done.progress, done.message) == (1.0, "")

    async def test_a_job_that_is_done_has_its_result_and_is_claimed_no_more(self, store: QueueingStore) -> None:
        made = await enqueue(store)
        await claimed(store, lease=0)
        assert await store.jobs.finish(made.id, "me", {"found": ["ё"]})
        done = await kept(store, made.id)
        assert (done.state, done.result, done.progress) == ("done", {"found": ["ё"]}, 1)
        assert await store.jobs.claim(WORKSPACE, KINDS, "me", LONG) is None
        assert await store.jobs.next_due(WORKSPACE, KINDS) is None
        assert not await store.jobs.finish(made.id, "me", {})

    async def test_a_result_that_cannot_be_kept_is_refused(self, store: QueueingStore) -> None:
        made = await enqueue(store)
        await claimed(store)
        with pytest.raises(InvalidInputError, match="result"):
            await store.jobs.finish(made.id, "me", {"a": object()})
        assert (await kept(store, made.id)).state == "running"

    async def test_a_failed_job_waits_for_its_next_try(self, store: QueueingStore) -> None:
        made = await enqueue(store)
        await claimed(store)
        later = datetime.now(UTC) + HOUR
        assert await store.jobs.fail(made.id, "me", "it rained", later)
        job = await kept(store, made.id)
        assert (job.state, job.attempts, job.error, job.not_before) == ("queued", 1, "it rained", later)
        assert await store.jobs.next_due(WORKSPACE, KINDS) == later
        assert await store.jobs.claim(WORKSPACE, KINDS, "me", LONG) is None

    async def test_a_job_that_is_tried_again_keeps_its_last_error_until_it_is_done(self, store: QueueingStore) -> None:
        made = await enqueue(store)
        await claimed(store)
        await store.jobs.fail(made.id, "me", "it rained", datetime.now(UTC))
        again = await claimed(store)
        assert (again.id, again.attempts, again.error) == (made.id, 2, "it rained")
        await store.jobs.finish(made.id, "me", {})
        assert (await kept(store, made.id)).error == ""

    async def test_a_job_that_is_not_to_be_tried_again_stays_with_its_error(self, store: QueueingStore) -> None:
        made = await enqueue(store)
        await claimed(store)
        assert await store.jobs.fail(made.id, "me", "hopeless", None)
        job = await kept(store, made.id)
        assert (job.state, job.attempts, job.error) == ("failed", 1, "hopeless")
        assert await store.jobs.claim(WORKSPACE, KINDS, "me", LONG) is None
        assert await store.jobs.next_due(WORKSPACE, KINDS) is None

    async def test_a_job_that_is_given_back_was_not_begun(self, store: QueueingStore, other: QueueingStore) -> None:
        made = await enqueue(store)
        await claimed(store)
        assert await store.jobs.release(made.id, "me")
        job = await kept(store, made.id)
        assert (job.state, job.attempts, job.postponed_since) == ("queued", 0, None)
        assert (await claimed(other)).attempts == 1

    async def test_a_job_that_is_given_back_for_later_says_since_when_and_why(self, store: QueueingStore) -> None:
        made = await enqueue(store)
        await claimed(store)
        before = datetime.now(UTC) - HOUR
        assert await store.jobs.release(made.id, "me", before, "the model is away")
        first = await kept(store, made.id)
        assert (first.attempts, first.error, first.not_before) == (0, "the model is away", before)
        assert first.postponed_since is not None
        await claimed(store)
        await store.jobs.release(made.id, "me", before)
        second = await kept(store, made.id)
        assert (second.postponed_since, second.error) == (first.postponed_since, "the model is away")
        await claimed(store)
        await store.jobs.fail(made.id, "me", "another reason", None)
        assert (await kept(store, made.id)).postponed_since is None

    async def test_a_key_is_one_job_while_it_waits_or_runs(self, store: QueueingStore, other: QueueingStore) -> None:
        made = await enqueue(store, "k")
        assert await enqueue(other, "k") == made
        running = await claimed(store)
        assert await enqueue(other, "k") == running
        await store.jobs.finish(made.id, "me", {})
        assert (await enqueue(other, "k")).id != made.id

    async def test_jobs_that_differ_in_workspace_kind_or_key_or_have_none_are_each_kept(
        self, store: QueueingStore
    ) -> None:
        new = [NewJob(kind="read", key="a"), NewJob(kind="read", key="b"), NewJob(kind="write", key="a")]
        made = await store.jobs.enqueue(WORKSPACE, [*new, NewJob(kind="read"), NewJob(kind="read")])
        made += await store.jobs.enqueue("other", new[:1])
        assert len({job.id for job in made}) == 6

    async def test_jobs_are_listed_newest_first_by_state_and_kind(self, store: QueueingStore) -> None:
        made = await store.jobs.enqueue(WORKSPACE, [NewJob(kind="read"), NewJob(kind="write"), NewJob(kind="read")])
        ids = [job.id for job in made]
        await store.jobs.enqueue("other", [NewJob(kind="read")])
        await claimed(store)
        assert await listed(store) == ids[::-1]
        assert await listed(store, limit=2) == [ids[2], ids[1]]
        assert await listed(store, state="running") == [ids[0]]
        assert await listed(store, kind="read") == [ids[2], ids[0]]
        assert await listed(store, state="queued", kind="write") == [ids[1]]
        assert await listed(store, state="done") == []

    async def test_jobs_are_counted_by_state(self, store: QueueingStore) -> None:
        assert await store.jobs.counts(WORKSPACE) == JobCounts()
        await store.jobs.enqueue(WORKSPACE, [NewJob(kind="read")] * 5)
        await store.jobs.finish((await claimed(store)).id, "me", {})
        await store.jobs.fail((await claimed(store)).id, "me", "no", None)
        await claimed(store)
        assert await store.jobs.counts(WORKSPACE) == JobCounts(queued=2, running=1, done=1, failed=1)
        assert await store.jobs.counts("other") == JobCounts()

    async def test_another_store_answers_every_question_from_now(
        self, store: QueueingStore, other: QueueingStore
    ) -> None:
        """Earlier calls and their answers have no effect."""

        async def answers() -> tuple[Any, ...]:
            return await other.jobs.counts(WORKSPACE), await listed(other, state="queued")

        assert await answers() == (JobCounts(), [])
        assert await other.jobs.next_due(WORKSPACE, KINDS) is None
        job = await enqueue(store)
        assert await answers() == (JobCounts(queued=1), [job.id])
        assert await other.jobs.next_due(WORKSPACE, KINDS) == job.not_before
        assert (await kept(other, job.id)).state == "queued"
        await claimed(store)
        assert await answers() == (JobCounts(running=1), [])
        assert (await kept(other, job.id)).state == "running"
        await store.jobs.finish(job.id, "me", {})
        assert await answers() == (JobCounts(done=1), [])
        assert await other.jobs.next_due(WORKSPACE, KINDS) is None
        assert (await kept(other, job.id)).state == "done"
        await store.jobs.drop(WORKSPACE, [job.id])
        assert await other.jobs.get(WORKSPACE, job.id) is None

    async def test_a_worker_waits_for_jobs_of_its_own_kinds_only(self, store: QueueingStore) -> None:
        made = await store.jobs.enqueue(WORKSPACE, [NewJob(kind="write"), NewJob(kind="read")])
        assert await store.jobs.next_due(WORKSPACE, ["none"]) is None
        assert await store.jobs.next_due(WORKSPACE, []) is None
        assert await store.jobs.next_due(WORKSPACE, ["read"]) == made[1].not_before

    async def test_failed_jobs_are_queued_anew_by_name_or_all(self, store: QueueingStore) -> None:
        failed = [await fail(store, key) for key in ("a", "b", "c")]
        assert await store.jobs.retry("other") == 0
        assert await store.jobs.retry(WORKSPACE, []) == 0
        assert await store.jobs.retry(WORKSPACE, [failed[1].id, failed[1].id, "x", LONE_SURROGATE]) == 1
        job = await kept(store, failed[1].id)
        assert (job.state, job.attempts, job.error) == ("queued", 0, "no")
        assert await store.jobs.retry(WORKSPACE, [failed[1].id]) == 0
        assert await store.jobs.retry(WORKSPACE) == 2
        assert (await claimed(store)).attempts == 1

    async def test_what_waits_for_later_can_be_tried_now(self, store: QueueingStore) -> None:
        later = datetime.now(UTC) + timedelta(hours=1)
        [job] = await store.jobs.enqueue(WORKSPACE, [NewJob(kind="read", not_before=later)])
        assert await store.jobs.claim(WORKSPACE, ["read"], "me", 60) is None
        assert await store.jobs.retry(WORKSPACE) == 1
        assert (await claimed(store)).id == job.id

    async def test_a_failed_job_is_not_queued_anew_beside_another_of_its_key(self, store: QueueingStore) -> None:
        old = await fail(store, "k")
        new = await enqueue(store, "k")
        assert await store.jobs.retry(WORKSPACE) == 0
        assert await store.jobs.retry(WORKSPACE, [old.id]) == 0
        assert [(await kept(store, job.id)).state for job in (old, new)] == ["failed", "queued"]

    async def test_jobs_are_dropped_unless_they_run(self, store: QueueingStore) -> None:
        failed = await fail(store, "a")
        running = await enqueue(store, "b")
        await claimed(store)
        queued = await enqueue(store, "c")
        ids = [failed.id, running.id, queued.id, queued.id, "x", LONE_SURROGATE]
        assert await store.jobs.drop("other", ids) == 0
        assert await store.jobs.drop(WORKSPACE, ids) == 2
        assert await listed(store) == [running.id]

    async def test_a_job_whose_worker_is_gone_can_be_dropped(self, store: QueueingStore) -> None:
        job = await enqueue(store)
        await claimed(store, "gone", 0)
        assert await store.jobs.drop(WORKSPACE, [job.id]) == 1
        assert not await store.jobs.finish(job.id, "gone", {})

    async def test_a_job_is_seen_in_its_workspace_only(self, store: QueueingStore) -> None:
        made = await enqueue(store)
        for workspace, job_id in (("other", made.id), (WORKSPACE, "x"), (WORKSPACE, LONE_SURROGATE), (WORKSPACE, "")):
            assert await store.jobs.get(workspace, job_id) is None
        assert await listed(store, "other") == []

    async def test_the_jobs_of_a_memory_are_kept_with_it_and_name_it(self, store: QueueingStore) -> None:
        jobs = (NewJob(kind="read", payload={"a": 1}), NewJob(kind="write", key="w"))
        added = await put(store, sample_memory("text", jobs=jobs))
        made = [await kept(store, job_id) for job_id in added.job_ids]
        assert [job.kind for job in made] == ["read", "write"]
        assert made[0].payload == {"a": 1, "memory_id": added.memory_id}
        assert made[1].payload == {"memory_id": added.memory_id}
        assert [job.key for job in made] == [added.memory_id, "w"]

    async def test_a_memory_that_is_there_already_gets_its_jobs_too_but_not_twice(self, store: QueueingStore) -> None:
        new = sample_memory("text", jobs=(NewJob(kind="read"),))
        first = await put(store, new)
        assert (await put(store, new)).job_ids == first.job_ids
        await store.jobs.finish((await claimed(store)).id, "me", {})
        await delete(store, first.memory_id)
        again = await put(store, new)
        assert again.outcome == "restored"
        assert len(again.job_ids) == 1
        assert again.job_ids != first.job_ids

    async def test_a_memory_that_is_refused_leaves_no_jobs(self, store: QueueingStore) -> None:
        new = sample_memory("text", jobs=(NewJob(kind="read"),), replaces="nobody")
        with pytest.raises(MemoryNotFoundError):
            await put(store, new)
        assert await store.jobs.counts(WORKSPACE) == JobCounts()

    async def test_a_memory_whose_jobs_are_refused_is_not_kept(self, store: QueueingStore) -> None:
        new = sample_memory("text", jobs=(NewJob(kind="read", payload={"a": object()}),))
        with pytest.raises(InvalidInputError, match="payload"):
            await put(store, new)
        assert (await store.stats(WORKSPACE)).memories == 0

    async def test_a_store_with_jobs_is_sound(self, store: QueueingStore) -> None:
        await fail(store, "a")
        await enqueue(store, "b")
        assert await problems(store) == []


async def enqueue(store: QueueingStore, key: str = "") -> Job:
    """A job that was queued."""
    return (await store.jobs.enqueue(WORKSPACE, [NewJob(kind="read", key=key)]))[0]


async def claimed(store: QueueingStore, worker: str = "me", lease: float = LONG) -> Job:
    """A job that must be due."""
    job = await store.jobs.claim(WORKSPACE, KINDS, worker, lease)
    assert job is not None
    return job


async def fail(store: QueueingStore, key: str) -> Job:
    """A job that has failed for good."""
    job = await enqueue(store, key)
    assert (await claimed(store)).id == job.id
    await store.jobs.fail(job.id, "me", "no", None)
    return job


async def kept(store: QueueingStore, job_id: str) -> Job:
    """A job that must be there."""
    job = await store.jobs.get(WORKSPACE, job_id)
    assert job is not None
    return job


async def listed(store: QueueingStore, workspace: str = WORKSPACE, **wanted: Any) -> list[str]:
    """The ids of jobs."""
    return [job.id for job in await store.jobs.list(workspace, **wanted)]
