"""`zapomni jobs` lists, shows, retries and drops jobs."""

import asyncio
import json

import pytest

from zapomni_core.providers import default_store_file
from zapomni_db.records import NewJob
from zapomni_db.sqlite import SQLiteStore


@pytest.fixture
def on_queue():
    """Run a function with the queue of the user's store."""

    def run(work):
        async def working():
            store = SQLiteStore(default_store_file())
            try:
                return await work(store.jobs)
            finally:
                await store.close()

        return asyncio.run(working())

    return run


@pytest.fixture
def queue(on_queue):
    """Queue jobs, of kind `read` by default; returns their ids."""

    def put(*kinds, workspace="default", **fields):
        new = [NewJob(kind=kind, **fields) for kind in kinds or ("read",)]
        return [job.id for job in on_queue(lambda jobs: jobs.enqueue(workspace, new))]

    return put


@pytest.fixture
def fail(on_queue, queue):
    """Queue a job and let it fail; returns its id."""

    def failed(error="it rained"):
        (job_id,) = queue("fails")

        async def work(jobs):
            await jobs.claim("default", ["fails"], "me", 60)
            await jobs.fail(job_id, "me", error, None)

        on_queue(work)
        return job_id

    return failed


@pytest.fixture
def finish(on_queue, queue):
    """Queue a job and finish it; returns its id."""

    def finished():
        (job_id,) = queue("finishes")

        async def work(jobs):
            await jobs.claim("default", ["finishes"], "me", 60)
            await jobs.finish(job_id, "me", {})

        on_queue(work)
        return job_id

    return finished


@pytest.fixture
def document(run):
    """Run a command with --json; returns the document."""
    return lambda *args: json.loads(run(*args, "--json").stdout)


def test_an_empty_queue_is_reported(run):
    result = run("jobs")
    assert (result.exit_code, result.stdout) == (0, "No jobs.\n")


def test_jobs_are_listed_newest_first_with_their_errors(run, queue, fail):
    job_ids = [*queue(), fail("it rained\non /tmp")]
    heading, first, second = run("jobs").stdout.splitlines()
    assert heading.split() == ["JOB", "KIND", "STATE", "QUEUED", "ABOUT"]
    assert first.startswith(job_ids[1])
    assert first.endswith("it rained on /tmp")
    assert second.split()[:3] == [job_ids[0], "read", "queued"]


@pytest.mark.parametrize("columns", ["40", "80"])
def test_a_job_is_shown_in_full_on_a_narrow_terminal(run, fail, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    error = "ConnectionError: the language model at http://127.0.0.1:11434 does not answer"
    job_id = fail(error)
    _heading, listed = run("jobs").stdout.splitlines()
    assert listed.startswith(f"{job_id} ")
    assert listed.endswith(f" {error}")


def test_a_running_job_is_listed_with_its_progress(run, queue, on_queue):
    (job_id,) = queue()

    async def work(jobs):
        await jobs.claim("default", ["read"], "me", 60)
        await jobs.renew(job_id, "me", 60, 0.5, "half of it")

    on_queue(work)
    assert run("jobs").stdout.rstrip().endswith("50% half of it")


def test_the_list_is_narrowed_by_state_kind_workspace_and_number(document, queue, fail):
    read, write = queue("read", "write")
    failed = fail()
    (other,) = queue(workspace="other")

    def listed(*args):
        return [job["id"] for job in document("jobs", *args)["jobs"]]

    assert listed() == [failed, write, read]
    assert listed("--state", "failed") == [failed]
    assert listed("--kind", "read") == [read]
    assert listed("--limit", "1") == [failed]
    assert listed("--workspace", "other") == [other]


def test_jobs_that_are_done_are_counted_and_listed_only_on_request(run, document, queue, finish):
    done, waiting = finish(), *queue()
    first, second = run("jobs").stdout.splitlines()[1:]
    assert (first.split()[0], second) == (waiting, "1 job done; --all lists them.")
    assert [job["id"] for job in document("jobs")["jobs"]] == [waiting]
    assert document("jobs")["done_not_listed"] == 1
    assert [job["id"] for job in document("jobs", "--all")["jobs"]] == [waiting, done]
    assert [job["id"] for job in document("jobs", "--state", "done")["jobs"]] == [done]
    assert run("jobs", "--kind", "finishes").stdout == "1 job done; --all lists them.\n"
    assert run("jobs", "--kind", "other").stdout == "No jobs.\n"


def test_a_kind_includes_the_jobs_of_the_configured_extractor(document, queue):
    plain, here, _elsewhere = queue("read", "read:names", "read:llm")
    listed = document("jobs", "--kind", "read")["jobs"]
    assert {job["id"] for job in listed} == {here, plain}


@pytest.mark.parametrize(
    ("given", "named"),
    [(("--workspace", "other"), "--workspace"), (("--kind", "read", "--json"), "--kind, --json")],
    ids=["workspace", "kind and json"],
)
def test_an_option_of_the_list_before_another_command_is_refused(run, document, fail, given, named):
    failed = fail()
    result = run("jobs", *given, "retry", "--all")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"Error: {named} ")
    assert result.stderr.endswith("zapomni jobs retry --help\n")
    assert [job["id"] for job in document("jobs", "--state", "failed")["jobs"]] == [failed]


def test_all_fields_of_a_job_are_shown(run, queue, on_queue):
    (job_id,) = queue(payload={"memory_id": "m1"})
    shown = run("jobs", "show", job_id).stdout
    assert shown.startswith(f"id: {job_id}\nkind: read\nstate: queued\nattempts: 0\nqueued: ")
    assert 'payload: {"memory_id": "m1"}\n' in shown
    assert "not before: " in shown

    async def work(jobs):
        job = await jobs.claim("default", ["read"], "me", 60)
        await jobs.release(job_id, "me", job.not_before, "away")

    on_queue(work)
    shown = run("jobs", "show", job_id).stdout
    assert "postponed since: " in shown
    assert "last error: away\n" in shown

    async def finish(jobs):
        await jobs.claim("default", ["read"], "me", 60)
        await jobs.finish(job_id, "me", {"found": 3})

    on_queue(finish)
    assert run("jobs", "show", job_id).stdout.endswith('result: {"found": 3}\n')


def test_a_job_is_shown_as_json(document, queue):
    (job_id,) = queue(payload={"a": 1})
    shown = document("jobs", "show", job_id)
    assert (shown["id"], shown["payload"], shown["state"]) == (job_id, {"a": 1}, "queued")


def test_an_unknown_job_cannot_be_shown(run):
    result = run("jobs", "show", "unknown-id")
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: ")
    assert "unknown-id" in result.stderr


def test_failed_jobs_are_retried_by_id_or_all(run, document, fail):
    first, _, _ = fail(), fail(), fail()
    assert run("jobs", "retry", first, first).stdout == "Queued 1 job.\n"
    assert document("jobs", "retry", "--all") == {"queued": 2}
    assert {job["state"] for job in document("jobs")["jobs"]} == {"queued"}


def test_a_job_that_has_not_failed_is_not_retried(run, queue):
    result = run("jobs", "retry", *queue())
    assert (result.exit_code, result.stdout) == (1, "Queued 0 jobs.\n")
    assert "Error: 1 job not queued: " in result.stderr


@pytest.mark.parametrize("args", [[], ["x", "--all"]], ids=["none", "both"])
def test_retry_needs_ids_or_all(run, args):
    result = run("jobs", "retry", *args)
    assert result.exit_code == 2
    assert "--all" in result.stderr


def test_jobs_are_dropped_unless_they_are_running(run, document, queue, fail, on_queue):
    (running,) = queue()
    on_queue(lambda jobs: jobs.claim("default", ["read"], "me", 3600))
    result = run("jobs", "drop", fail(), running)
    assert (result.exit_code, result.stdout) == (1, "Dropped 1 job.\n")
    assert result.stderr.startswith("Error: 1 job not dropped: ")
    assert [job["id"] for job in document("jobs")["jobs"]] == [running]


def test_statistics_show_jobs_once_there_was_one(run, document, queue, fail):
    assert "\njobs " not in run("stats").stdout
    queue(), fail()
    assert "jobs       1 queued, 0 running, 1 failed\n" in run("stats").stdout
    assert document("stats")["jobs"] == {"queued": 1, "running": 0, "done": 0, "failed": 1}
