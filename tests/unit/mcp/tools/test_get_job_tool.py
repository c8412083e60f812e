"""GetJobTool reports the state of a job; a server that cannot queue jobs does not offer it."""

from datetime import UTC, datetime

import pytest

from tests.unit.mcp.tools.answers import checked, headline_of, refused, text_of
from zapomni_core.host.registry import check_tool, lint, tokens
from zapomni_db.errors import JobNotFoundError
from zapomni_db.records import Job
from zapomni_mcp.tools import GetJobTool, zapomni_tools

MOMENT = datetime(2026, 5, 8, 12, 30, tzinfo=UTC)


def job(**differences):
    sample = {
        "id": "550e8400",
        "workspace": "default",
        "kind": "extract",
        "key": "",
        "payload": {},
        "state": "queued",
        "attempts": 0,
        "progress": None,
        "message": "",
        "error": "",
        "result": None,
        "created_at": MOMENT,
        "updated_at": MOMENT,
        "not_before": MOMENT,
    }
    return Job(**(sample | differences))


@pytest.fixture
def tool(mock_core_engine):
    return GetJobTool(core_engine=mock_core_engine)


@pytest.mark.parametrize(
    ("differences", "expected"),
    [
        ({}, "Job 550e8400 (extract) is queued."),
        ({"state": "running", "attempts": 1}, "Job 550e8400 (extract) is running."),
        (
            {
                "state": "running",
                "attempts": 2,
                "progress": 0.25,
                "message": "reading /home/ada/memory.db",
                "error": "E",
            },
            "Job 550e8400 (extract) is running; 25% done; reading …; attempt 2; last error: E.",
        ),
        (
            {"attempts": 2, "error": "Full: no room in /home/ada/memory.db"},
            "Job 550e8400 (extract) is queued; attempt 2; last error: Full: no room in …; next try 2026-05-08 12:30:00 UTC.",
        ),
        ({"state": "done", "attempts": 1, "progress": 1.0}, "Job 550e8400 (extract) is done."),
        (
            {"state": "failed", "attempts": 8, "error": "ValueError"},
            "Job 550e8400 (extract) is failed; attempt 8; last error: ValueError.",
        ),
    ],
    ids=["queued", "running", "progress", "waiting", "done", "failed"],
)
async def test_the_state_of_a_job_is_reported(tool, differences, expected):
    tool.core_engine.get_job.return_value = job(**differences)
    result = await tool.execute({"job_id": "550e8400"})
    assert text_of(result) == expected
    assert checked(tool, result)["message"] == expected


async def test_the_structured_answer_has_the_fields_of_the_job(tool):
    tool.core_engine.get_job.return_value = job(
        state="done", attempts=2, progress=1.0, result={"entities": 3}, payload={"memory_id": "m1"}
    )
    record = checked(tool, await tool.execute({"job_id": "550e8400"}))
    assert (record["job_id"], record["kind"], record["state"]) == ("550e8400", "extract", "done")
    assert (record["attempts"], record["progress"], record["result"]) == (2, 1.0, {"entities": 3})
    assert record["episode_id"] == "m1"
    assert not {"last_error", "next_at"} & set(record)
    tool.core_engine.get_job.assert_awaited_once_with("550e8400")


async def test_a_waiting_job_has_the_time_of_its_next_attempt(tool):
    tool.core_engine.get_job.return_value = job(error="E")
    record = checked(tool, await tool.execute({"job_id": "550e8400"}))
    assert (record["next_at"], record["last_error"]) == ("2026-05-08T12:30:00Z", "E")


async def test_a_job_for_another_server_names_the_extractor_it_needs(tool):
    tool.core_engine.does_jobs.return_value = False
    tool.core_engine.get_job.return_value = job(kind="extract:llm")
    assert text_of(await tool.execute({"job_id": "550e8400"})).endswith(
        "it waits for a server that does such jobs: one with extractor 'llm'."
    )
    tool.core_engine.get_job.return_value = job(kind="tally")
    assert text_of(await tool.execute({"job_id": "550e8400"})).endswith("it waits for a server that does such jobs.")


async def test_an_unknown_job_is_not_found(tool):
    tool.core_engine.get_job.side_effect = JobNotFoundError("there is no job x in workspace 'default'")
    result = await tool.execute({"job_id": "x"})
    record = checked(tool, result)
    assert (record["error_type"], record["error_code"], record["status_code"]) == ("not_found", "JOB_NOT_FOUND", 404)
    assert headline_of(result) == "Error: there is no job x in workspace 'default'"


async def test_invalid_arguments_are_refused(tool):
    assert await refused(tool, {}) == "field required: job_id"
    assert await refused(tool, {"job_id": ""})


def test_it_is_offered_only_where_jobs_can_be_queued(mock_core_engine):
    assert "get_job" not in [tool.name for tool in zapomni_tools(mock_core_engine)]
    mock_core_engine.can_queue = True
    assert "get_job" in [tool.name for tool in zapomni_tools(mock_core_engine)]


def test_it_costs_few_tokens_and_passes_lint(tool):
    checked_tool = check_tool(tool, taken=lambda _name: False)
    assert tokens(checked_tool) <= 100
    assert lint(checked_tool) == []
