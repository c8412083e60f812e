"""The worker runs each job once, retries failed ones and respects the leases of other workers."""

import asyncio
import logging
import re
from datetime import UTC, datetime, timedelta

import pytest

from tests.unit.core.jobs.conftest import in_state, offered, queue, until
from zapomni_core.dispatch.call import Call, CallContext, call_context
from zapomni_core.errors import ProcessingError
from zapomni_core.jobs import Kinds, Postpone
from zapomni_core.jobs.worker import POSTPONED_AT_MOST, SHORTEST_PAUSE, Worker
from zapomni_core.settings import Settings
from zapomni_db.errors import StoreUnavailableError
from zapomni_db.records import NewJob


async def nothing(_engine, _job, _progress):
    return None


async def forever(_engine, _job, _progress):
    await asyncio.Event().wait()


def failing(error, times=1000):
    """A job kind that raises a number of times."""
    raised = []

    async def fail(_engine, _job, _progress):
        if len(raised) < times:
            raised.append(error)
            raise error
        return {"tried": len(raised) + 1}

    return fail


async def test_a_job_runs_in_its_workspace_and_its_result_is_stored(working):
    async def note(engine, job, _progress):
        added = await engine.add_memory(job.payload["text"])
        return {"memory_id": added.memory_id, "workspace": engine.workspace}

    async with working(note) as (engine, worker):
        elsewhere = engine.in_workspace("elsewhere")
        worker.serve(elsewhere)
        job_id = await queue(elsewhere, NewJob(kind="test", payload={"text": "bees"}))
        worker.wake()
        done = await in_state(elsewhere, job_id, "done")
        assert done.result["workspace"] == "elsewhere"
        assert (await elsewhere.get_memory(done.result["memory_id"])).text == "bees"
        assert done.attempts == 1


async def test_a_job_that_returns_nothing_has_an_empty_result(working):
    async with working(nothing) as (engine, worker):
        job_id = await queue(engine)
        worker.wake()
        assert (await in_state(engine, job_id, "done")).result == {}


async def test_jobs_of_another_process_are_found_by_polling(working):
    async with working(nothing) as (engine, _):
        assert await in_state(engine, await queue(engine), "done")


async def test_a_job_runs_when_it_is_due(working):
    async with working(nothing, poll_seconds=1000) as (engine, worker):
        soon = datetime.now(UTC) + timedelta(seconds=0.2)
        job_id = await queue(engine, NewJob(kind="test", not_before=soon))
        worker.wake()
        done = await in_state(engine, job_id, "done")
        assert done.updated_at >= soon


async def test_a_job_of_an_unknown_kind_waits(working):
    async with working(nothing) as (engine, worker):
        strange = await queue(engine, NewJob(kind="strange"))
        known = await queue(engine)
        worker.wake()
        await in_state(engine, known, "done")
        assert (await engine.get_job(strange)).state == "queued"


async def test_a_failed_job_is_retried(working):
    async with working(failing(ProcessingError("no luck"), times=2)) as (engine, worker):
        job_id = await queue(engine)
        worker.wake()
        done = await in_state(engine, job_id, "done")
        assert (done.attempts, done.result) == (3, {"tried": 3})


async def test_a_job_that_fails_too_often_stays_with_its_last_error(working):
    async with working(failing(ProcessingError("no\nluck")), attempts=3) as (engine, worker):
        job_id = await queue(engine)
        worker.wake()
        failed = await in_state(engine, job_id, "failed")
        assert (failed.attempts, failed.error) == (3, "ProcessingError: no luck")


async def test_the_retry_delay_depends_on_the_number_of_attempts(working):
    async with working(failing(ProcessingError("no")), delay=lambda attempts: 1000.0 * attempts) as (engine, worker):
        job_id = await queue(engine)
        before = datetime.now(UTC)
        worker.wake()
        job = await until(lambda: failed_once(engine, job_id))
        assert job.state == "queued"
        assert job.not_before - before >= timedelta(seconds=1000)


async def failed_once(engine, job_id):
    job = await engine.get_job(job_id)
    return job if job.error and job.state == "queued" else None


@pytest.mark.parametrize(
    ("error", "part"),
    [
        (ValueError("Ada's secret"), "ValueError"),
        (StoreUnavailableError("The disk is away."), "StoreUnavailableError: The disk is away."),
        (SystemExit("Ada's secret"), "SystemExit"),
        (asyncio.CancelledError("Ada's secret"), "cancelled"),
    ],
    ids=["foreign", "ours", "exit", "cancelled"],
)
async def test_the_message_of_a_foreign_error_is_not_stored(working, error, part):
    async with working(failing(error), attempts=1) as (engine, worker):
        job_id = await queue(engine)
        worker.wake()
        error_text = (await in_state(engine, job_id, "failed")).error
        assert part in error_text
        assert "secret" not in error_text


async def test_a_result_that_is_not_json_is_a_failure(working):
    async def strange(_engine, _job, _progress):
        return {"a": object()}

    async with working(strange, attempts=1) as (engine, worker):
        job_id = await queue(engine)
        worker.wake()
        assert "result must be plain JSON" in (await in_state(engine, job_id, "failed")).error


@pytest.mark.parametrize("result", [["a"], "done", 7])
async def test_a_result_that_is_not_a_dictionary_is_reported_with_its_plugin(working, result):
    async def strange(_engine, _job, _progress):
        return result

    async with working(strange, attempts=1) as (engine, worker):
        job_id = await queue(engine)
        worker.wake()
        error = (await in_state(engine, job_id, "failed")).error
        assert re.search(rf"'test' of plugin 'sample'.*'run'.*\b{type(result).__name__}\b", error)


async def test_a_job_that_keeps_killing_its_process_is_not_started_again(working):
    begun = []

    async def begin(_engine, job, _progress):
        begun.append(job.id)

    async with working(begin, attempts=2) as (engine, worker):
        (made,) = await engine.jobs.enqueue(engine.workspace, [NewJob(kind="strange")])
        for _ in range(2):
            assert await engine.jobs.claim(engine.workspace, ["strange"], "killed", 0)
        job = await engine.jobs.claim(engine.workspace, ["strange"], worker.name, 60)
        await worker._do(engine, job)
        failed = await in_state(engine, made.id, "failed")
        assert failed.error == "ProcessingError: its process ended 2 times while it ran"
        assert begun == []


async def test_a_postponed_job_waits_and_does_not_count_as_an_attempt(working):
    async with working(failing(Postpone(1000, "the model is away"))) as (engine, worker):
        job_id = await queue(engine)
        before = datetime.now(UTC)
        worker.wake()
        job = await until(lambda: failed_once(engine, job_id))
        assert (job.state, job.attempts, job.error) == ("queued", 0, "the model is away")
        assert job.not_before - before >= timedelta(seconds=1000)
        assert job.postponed_since >= before


async def test_a_postponed_job_runs_when_its_dependency_is_back(working):
    async with working(failing(Postpone(0, "away"), times=20), attempts=1) as (engine, worker):
        job_id = await queue(engine)
        worker.wake()
        done = await in_state(engine, job_id, "done")
        assert (done.attempts, done.result) == (1, {"tried": 21})


async def test_a_job_fails_after_being_postponed_for_a_week(working):
    passed = [timedelta()]

    async with working(failing(Postpone(0, "away")), clock=lambda: datetime.now(UTC) + passed[0]) as (engine, worker):
        job_id = await queue(engine)
        worker.wake()
        await until(lambda: failed_once(engine, job_id))
        passed[0] = POSTPONED_AT_MOST + timedelta(days=1)
        await engine.jobs.schedule(engine.workspace, job_id, datetime.now(UTC), "away")
        worker.wake()
        failed = await in_state(engine, job_id, "failed")
        assert failed.error == "postponed for more than 7 days: away"


@pytest.mark.parametrize("seconds", [float("inf"), float("nan"), None, "soon"])
async def test_a_job_postponed_for_zero_seconds_fails_and_the_worker_continues(working, seconds):
    async def strange(_engine, job, _progress):
        if job.key == "strange":
            raise Postpone(seconds, "away")
        return {}

    async with working(strange, attempts=1) as (engine, worker):
        job_id = await queue(engine, NewJob(kind="test", key="strange"))
        worker.wake()
        failed = await in_state(engine, job_id, "failed")
        assert failed.error == "ContractError: Postpone(seconds, reason): seconds must be a finite number"
        assert await in_state(engine, await queue(engine), "done")


async def test_a_job_is_postponed_for_at_most_a_week(working):
    async with working(failing(Postpone(1e15, "away"))) as (engine, worker):
        job_id = await queue(engine)
        worker.wake()
        job = await until(lambda: failed_once(engine, job_id))
        assert job.not_before - datetime.now(UTC) <= POSTPONED_AT_MOST


@pytest.mark.parametrize(
    ("error", "stored"),
    [(Postpone(1000, "no \ud800"), "no \ufffd"), (ProcessingError("no \ud800"), "ProcessingError: no \ufffd")],
    ids=["postponed", "failed"],
)
async def test_characters_that_cannot_be_stored_are_replaced_in_a_failure(working, caplog, error, stored):
    caplog.set_level(logging.CRITICAL, "zapomni")  # pytest could not report the characters in the log either
    async with working(failing(error), delay=lambda _attempts: 1000.0) as (engine, worker):
        job_id = await queue(engine)
        worker.wake()
        assert (await until(lambda: failed_once(engine, job_id))).error == stored


async def test_unstorable_characters_in_a_progress_message_are_replaced(working):
    async def tell(engine, job, progress):
        await progress(0.5, "half \ud800")
        await until(lambda: message_of(engine, job.id))
        return {"message": (await engine.get_job(job.id)).message}

    async def message_of(engine, job_id):
        return (await engine.get_job(job_id)).message

    async with working(tell, attempts=1) as (engine, worker):
        job_id = await queue(engine)
        worker.wake()
        assert (await in_state(engine, job_id, "done")).result == {"message": "half \ufffd"}


async def test_progress_is_stored_while_a_job_runs(working):
    seen = asyncio.Event()

    async def slow(_engine, _job, progress):
        await progress(0.25, "a quarter")
        await seen.wait()
        await progress(7, "too much")

    async with working(slow) as (engine, worker):
        job_id = await queue(engine)
        worker.wake()

        async def look():
            job = await engine.get_job(job_id)
            return (job.progress, job.message) == (0.25, "a quarter")

        await until(look)
        seen.set()
        assert (await in_state(engine, job_id, "done")).progress == 1


async def test_a_lease_is_renewed_while_the_job_runs(working, monkeypatch):
    monkeypatch.setattr("zapomni_core.jobs.worker.PROGRESS_SECONDS", 0.01)
    renewed = asyncio.Event()

    async with working(forever, lease_seconds=0.9) as (engine, worker):
        renew = engine.jobs.renew
        seen = []

        async def counted(*args, **options):
            seen.append(await renew(*args, **options))
            if len(seen) == 3:
                renewed.set()
            return seen[-1]

        monkeypatch.setattr(engine.jobs, "renew", counted)
        await queue(engine)
        worker.wake()
        await asyncio.wait_for(renewed.wait(), 60)
    assert len(seen) >= 3


async def test_a_job_that_another_worker_took_over_is_cancelled_here(working):
    begun, cancelled = asyncio.Event(), asyncio.Event()

    async def stuck(_engine, _job, progress):
        begun.set()
        try:
            await forever(None, None, None)
        finally:
            cancelled.set()

    async with working(stuck, lease_seconds=1) as (engine, worker):
        job_id = await queue(engine)
        worker.wake()
        await asyncio.wait_for(begun.wait(), 60)
        await engine.jobs.release(job_id, worker.name)
        assert await engine.jobs.claim(engine.workspace, ["test"], "another", 1000)
        await asyncio.wait_for(cancelled.wait(), 60)
        assert await engine.jobs.finish(job_id, "another", {"by": "another"})
        assert (await engine.get_job(job_id)).result == {"by": "another"}


async def test_a_lease_that_cannot_be_renewed_expires(working, monkeypatch):
    cancelled = asyncio.Event()

    async def stuck(_engine, _job, progress):
        try:
            await forever(None, None, None)
        finally:
            cancelled.set()

    async def away(*_args, **_options):
        raise StoreUnavailableError("away")

    async with working(stuck, lease_seconds=0.3) as (engine, worker):
        monkeypatch.setattr(engine.jobs, "renew", away)
        await queue(engine)
        worker.wake()
        await asyncio.wait_for(cancelled.wait(), 60)


async def test_a_running_job_is_released_when_the_worker_ends(working):
    begun = asyncio.Event()

    async def stuck(_engine, _job, progress):
        begun.set()
        await forever(None, None, None)

    async with working(stuck) as (engine, worker):
        job_id = await queue(engine)
        worker.wake()
        await asyncio.wait_for(begun.wait(), 60)
    job = await engine.get_job(job_id)
    assert (job.state, job.attempts) == ("queued", 0)


async def test_the_worker_survives_a_store_outage_and_logs_one_traceback(working, monkeypatch, caplog):
    async with working(nothing) as (engine, worker):
        claim, failures = engine.jobs.claim, []

        async def flaky(*args):
            if len(failures) < 3:
                failures.append(args)
                raise StoreUnavailableError("away")
            return await claim(*args)

        monkeypatch.setattr(engine.jobs, "claim", flaky)
        job_id = await queue(engine)
        worker.wake()
        assert await in_state(engine, job_id, "done")
    assert len(failures) == 3
    outages = [record for record in caplog.records if record.message == "jobs_out_of_reach"]
    assert [(one.error, bool(one.exc_info)) for one in outages] == [
        ("StoreUnavailableError", True),
        *[("StoreUnavailableError", False)] * 2,
    ]


async def test_a_woken_worker_does_not_poll_an_unavailable_store_in_a_loop(make_engine, monkeypatch):
    engine, looks = make_engine(), []

    async def away(*args, **_more):
        looks.append(args)
        raise StoreUnavailableError("away")

    for question in ("list", "claim"):
        monkeypatch.setattr(engine.jobs, question, away)
    worker = Worker(engine, Kinds(offered(), Settings()), poll_seconds=60)
    worker.wake()
    running = asyncio.create_task(worker.run())
    for _ in range(100):
        await asyncio.sleep(0)
    worker.end()
    await running
    assert len(looks) == 1


async def test_an_idle_worker_polls_less_and_less_often_until_it_is_woken(make_engine):
    now = datetime.now(UTC)
    worker = Worker(make_engine(), Kinds(offered(), Settings()), poll_seconds=7, clock=lambda: now)
    assert [worker._next_pause(None) for _ in range(5)] == [7, 14, 28, 30, 30]
    worker.wake()
    assert [worker._next_pause(now + timedelta(seconds=10)) for _ in range(3)] == [7, 10, 10]
    assert worker._next_pause(now - timedelta(days=1)) == SHORTEST_PAUSE


async def test_a_job_does_not_run_in_the_context_of_the_call_that_queued_it(make_engine):
    reports = []

    async def tell(*progress):
        reports.append(progress)

    async def note(engine, _job, _progress):
        await engine.add_memory("said later")

    engine = make_engine(test=note)
    token = call_context.set(CallContext(call=Call(id="1", name="x", arguments={}), on_progress=tell))
    (job,) = await engine.submit([NewJob(kind="test")])
    await in_state(engine, job.id, "done")
    call_context.reset(token)
    assert reports == []


@pytest.mark.parametrize(("begun", "state"), [(1, "done"), (3, "failed")], ids=["could not", "ended its processes"])
async def test_the_next_worker_retries_failed_embedding_jobs_unless_they_kill_processes(make_engine, begun, state):
    engine = make_engine()
    failed = await queue(engine, NewJob(kind="embed", key="embed"))
    for _ in range(begun):
        await engine.jobs.claim(engine.workspace, ["embed"], "before", 0)
    await engine.jobs.fail(failed, "before", "postponed for more than 7 days: the embedder fails", None)
    worker = Worker(engine, Kinds(offered(embed=nothing, test=nothing), Settings()), attempts=2)
    working = asyncio.create_task(worker.run())
    await in_state(engine, await queue(engine), "done")
    assert (await in_state(engine, failed, state)).state == state
    worker.end()
    await asyncio.wait_for(working, 60)
